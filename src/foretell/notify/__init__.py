"""Notification rows (LANGUAGE section 7) and the sinks they go to."""

from foretell.notify.files import write, write_lines
from foretell.notify.row_encoder import to_json, to_table

__all__ = ["to_json", "to_table", "write", "write_lines"]

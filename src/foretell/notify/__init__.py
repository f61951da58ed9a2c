"""Notifications: encoders to rows, JSON and Arrow, the outbox, and sinks."""

from foretell.notify.files import write, write_lines
from foretell.notify.row_encoder import to_json, to_table

__all__ = ["to_json", "to_table", "write", "write_lines"]

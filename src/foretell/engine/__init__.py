"""The engine in process: `Engine` with push, advance, snapshot, restore, subscribe."""

from foretell.engine.engine import ColumnarResult, Engine
from foretell.engine.snapshot import LAYOUT

__all__ = ["LAYOUT", "ColumnarResult", "Engine"]

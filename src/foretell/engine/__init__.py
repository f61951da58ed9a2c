"""The engine in process: `Engine` with push, advance, snapshot, restore, subscribe."""

from foretell.engine.checkpoint import LAYOUT
from foretell.engine.engine import ColumnarResult, Engine

__all__ = ["LAYOUT", "ColumnarResult", "Engine"]

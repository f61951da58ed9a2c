"""Subscriptions at work in process."""

from foretell.engine.checkpoint import LAYOUT
from foretell.engine.engine import ColumnarResult, Engine

__all__ = ["LAYOUT", "ColumnarResult", "Engine"]

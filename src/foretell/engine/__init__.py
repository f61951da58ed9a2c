"""Subscriptions at work in process."""

from foretell.engine.engine import Engine, ToldTogether
from foretell.engine.snapshots import LAYOUT

__all__ = ["LAYOUT", "Engine", "ToldTogether"]

"""Subscriptions at work in process."""

from foretell.engine.checkpoint import LAYOUT
from foretell.engine.engine import Engine, ToldTogether

__all__ = ["LAYOUT", "Engine", "ToldTogether"]

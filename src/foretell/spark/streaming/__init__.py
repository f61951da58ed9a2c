"""Streaming queries: map side, stateful reduce side, chunked state and control stream.

Names are imported on first use: Spark's own processes for a query need little of it (see `deferred_processor`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foretell.extras import require_extra

require_extra("spark", "Foretell on Spark")

if TYPE_CHECKING:
    from foretell.spark.streaming.query import bad, follow, late, matches, refused

__all__ = ["bad", "follow", "late", "matches", "refused"]

if not TYPE_CHECKING:  # a type checker would take every name for one that this function finds

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'foretell.spark.streaming' has no attribute '{name}'")
        return getattr(import_module("foretell.spark.streaming.query"), name)

"""Streaming queries: map side, stateful reduce side, chunked state and control stream."""

from foretell.spark.streaming.query import bad, follow, late, matches, refused

__all__ = ["bad", "follow", "late", "matches", "refused"]

"""`foretell bench filter`: many subscriptions, by the public calls (A-MEDIAS 7.2, Cayuga 4).

Single events beside Polars and DuckDB, rows that come and go, Cayuga's technical benchmark and its feeds, single-step
detection; then by themselves the profile tree, by the distributions of values, and the profile index.
"""

from __future__ import annotations

from collections.abc import Iterator

from foretell.bench.filter import (
    feeds,
    profile_index,
    profile_tree,
    row_changes,
    single_events,
    single_step,
    technical_benchmark,
)
from foretell.bench.result import BenchResult

_PARTS = (single_events, row_changes, technical_benchmark, feeds, single_step, profile_tree, profile_index)


def measure(quick: bool) -> Iterator[BenchResult]:
    """All of them. With `quick` they are short: they show that the program works, not how fast it is."""
    for part in _PARTS:
        yield from part.measure(quick)

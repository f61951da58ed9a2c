"""`foretell bench filter`: many subscriptions, by the public calls (A-MEDIAS 7.2, Cayuga 4).

Single events beside Polars and DuckDB, Cayuga's technical benchmark and its feeds, then the profile index by itself,
and the profile tree by the distributions of values.
"""

from __future__ import annotations

from collections.abc import Iterator

from foretell.bench.filter import feeds, profile_index, profile_tree, single_events, technical_benchmark
from foretell.bench.result import BenchResult


def measure(quick: bool) -> Iterator[BenchResult]:
    """All of them. With `quick` they are short: they show that the program works, not how fast it is."""
    for part in (single_events, technical_benchmark, feeds, profile_index, profile_tree):
        yield from part.measure(quick)

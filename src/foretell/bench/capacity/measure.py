"""All comparisons of the performance model with pipelines of this machine."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.bench.capacity import in_process
from foretell.bench.capacity.comparison import Comparison


def measure(quick: bool) -> Iterator[Comparison]:
    yield from in_process.measure(quick)

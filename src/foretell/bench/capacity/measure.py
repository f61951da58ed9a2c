"""All comparisons of the performance model with pipelines of this machine."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.bench.capacity import in_process, spark_stream
from foretell.bench.capacity.comparison import PredictionRow


def measure(quick: bool) -> Iterator[PredictionRow]:
    yield from in_process.measure(quick)
    yield from spark_stream.measure(quick)

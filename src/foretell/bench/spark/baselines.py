"""The same way without any matching, to measure by: the events only read, and read, packed, shuffled and unpacked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import count, lit

from foretell.spark.batch.job import BatchJob
from foretell.spark.batch.map_side import COUNTED, EVENTS


def events_read(batch: BatchJob) -> int:
    """How many events stand in the files."""
    return _total(batch.counted(batch.plan.sent()))


def events_shuffled(batch: BatchJob) -> int:
    """How many came to the tasks that would match."""
    return _total(batch.packed(batch.plan.sent()).mapInArrow(_unpacked, COUNTED))


def notified(batch: BatchJob) -> int:
    """How many notifications there are, each made and put in order, and then thrown away."""
    seen = Observation()
    batch.frame().observe(seen, count(lit(1)).alias("count")).write.format("noop").mode("overwrite").save()
    return int(seen.get["count"])


def _total(counts: DataFrame) -> int:
    return sum(row["count"] for row in counts.collect())


def _unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    for batch in batches:
        for kind, data in zip(batch.column("kind").to_pylist(), batch.column("data")):
            if kind == EVENTS:
                yield _row(pa.ipc.open_stream(data.as_buffer()).read_all().num_rows)


def _row(events: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"count": pa.array([events], pa.int64())})

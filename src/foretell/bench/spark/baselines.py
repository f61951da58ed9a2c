"""Baselines of the batch benchmark, without any matching: events only read; and read, encoded, shuffled and decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import count, lit

from foretell.spark.batch.job import BatchJob
from foretell.spark.batch.map_side import EVENT_COUNT
from foretell.spark.partitioning.shuffle_rows import EVENTS, ShuffleRow, read_table


def events_read(job: BatchJob) -> int:
    """Return the number of events in the files."""
    return _total(job.event_counts(job.plan.handle()))


def events_shuffled(job: BatchJob) -> int:
    """Return the number of events that come to the shards."""
    return _total(job.shuffled(job.plan.handle()).mapInArrow(_decoded_counts, EVENT_COUNT))


def notifications_sorted(job: BatchJob) -> int:
    """Return the number of notifications, each encoded, sorted and discarded."""
    observation = Observation()
    frame = job.frame().observe(observation, count(lit(1)).alias("count"))
    frame.write.format("noop").mode("overwrite").save()
    return int(observation.get["count"])


def _total(counts: DataFrame) -> int:
    return sum(row["count"] for row in counts.collect())


def _decoded_counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in ShuffleRow.of_arrow(batch):
            if row.kind == EVENTS:
                rows = read_table(row.data).num_rows
                yield pa.RecordBatch.from_pydict({"count": pa.array([rows], pa.int64())})

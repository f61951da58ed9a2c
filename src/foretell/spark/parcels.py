"""What goes through Spark's shuffle: the events of a task as blocks of Arrow, one for each shard.

Rows one by one are what costs in Spark (DESIGN, section 3), so each task packs all its events of a shard into one row.
It sends a row to every shard, also to those it has no events for: with the time of its latest event. So each shard
learns in the same micro-batch how far time has come in all of them, without an aggregate, which streams do not allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from foretell.events.arrow import arrow_of, numpy_of, table_bytes
from foretell.events.read import Declaration, read
from foretell.events.waiting import Time, times_of

#: The number of a shard; a stream; the task, by which blocks are put in order; its latest time as text, for it is an
#: INT or a FLOAT and neither holds all of the other; and the events.
PACKED = "shard INT, stream STRING, part INT, latest STRING, events BINARY"
_PACKED: dict[str, Any] = {
    "shard": pa.int32(),
    "stream": pa.string(),
    "part": pa.int32(),
    "latest": pa.string(),
    "events": pa.binary(),
}


@dataclass(frozen=True)
class Packer:
    """Packs the rows of one stream, whose last column is their shard; what `mapInArrow` is given."""

    declaration: Declaration
    shards: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = [batch for batch in batches if batch.num_rows]
        if some:
            yield self._packed(pa.Table.from_batches(some))

    def _packed(self, rows: pa.Table) -> pa.RecordBatch:
        # By its place, for an attribute may have any name.
        last = rows.num_columns - 1
        table = rows.remove_column(last)
        blocks = _split(table, numpy_of(rows.column(last)), self.shards)
        task = TaskContext.get()
        count, part = self.shards, 0 if task is None else task.partitionId()
        columns: dict[str, list[Any]] = {
            "shard": list(range(count)),
            "stream": [self.declaration.stream] * count,
            "part": [part] * count,
            "latest": [self._latest(table)] * count,
            "events": blocks,
        }
        return pa.RecordBatch.from_pydict(columns, schema=pa.schema(_PACKED))

    def _latest(self, table: pa.Table) -> str | None:
        """As the engine will read it; None where no event has a time."""
        time = self.declaration.time
        only = Declaration(self.declaration.stream, {time: self.declaration.attributes[time]}, time)
        times = times_of(read(table.select([time]), only))
        return repr(times.max().item()) if len(times) else None


def latest_of(text: str) -> Time:
    """A time as it was packed.

    >>> latest_of("9007199254740993"), latest_of("0.5")
    (9007199254740993, 0.5)
    """
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _split(table: pa.Table, shard: np.ndarray, shards: int) -> list[bytes | None]:
    """The rows of each shard as they came; None for none."""
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    if shards > 1:
        table = table.take(arrow_of(np.argsort(shard, kind="stable")))
    starts = [0, *ends[:-1].tolist()]
    return [
        table_bytes(table.slice(start, end - start)) if end > start else None
        for start, end in zip(starts, ends.tolist(), strict=True)
    ]

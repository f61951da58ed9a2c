"""Shuffle rows: the format in which map tasks send events to shards, in batches and in streams alike.

Rows that pass through Spark's JVM one by one cost more than the matching, so a row holds many events, as the bytes of
an Arrow stream. A map task sends

- events (`EVENTS`) to the shards of the groups that read their stream;
- the progress of a stream (`PROGRESS`), as JSON, to every shard: time passes for all lanes together, and each shard
  learns in the same shuffle how far it has come, without an aggregate, which streams do not allow;
- malformed events (`QUARANTINED`), as JSON, to the one shard that reports them, and so the values that were set to NULL
  and the notes on reading (`READING`);
- in a stream, changes of the statements (`CHANGES`), as JSON, to every shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row

from foretell.events.ingest.nulled_values import NulledValues
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch
from foretell.events.reorder_buffer import event_times
from foretell.spark.partitioning.statement_groups import StatementGroup, quarantine_shards

EVENTS, PROGRESS, QUARANTINED, READING = "events", "progress", "quarantined", "reading"
CHANGES = "changes"

#: `stream` is NULL for changes. `sequence` orders the rows of a stream that come from different map tasks.
SHUFFLE_COLUMNS = "shard BIGINT, stream STRING, kind STRING, sequence BIGINT, data BINARY"


class StreamProgress(msgspec.Struct, frozen=True):
    """The number of events read, including malformed ones, and the times of the first and latest well-formed one."""

    total: int = 0
    first: int | float | None = None
    latest: int | float | None = None

    @staticmethod
    def of(batch: EventBatch) -> StreamProgress:
        if not batch.table.num_rows:
            return StreamProgress(batch.total)
        times = event_times(batch)
        return StreamProgress(batch.total, times.min().item(), times.max().item())

    def __add__(self, other: StreamProgress) -> StreamProgress:
        first = [time for time in (self.first, other.first) if time is not None]
        latest = [time for time in (self.latest, other.latest) if time is not None]
        return StreamProgress(self.total + other.total, min(first, default=None), max(latest, default=None))


class ReadingReport(msgspec.Struct, frozen=True):
    """The report of a map task on its reading: the values that were set to NULL, and notes for the user."""

    nulled: tuple[NulledValues, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ShuffleRow:
    """One row of the shuffle, decoded but for its data."""

    shard: int
    stream: str | None
    kind: str
    sequence: int
    data: pa.Buffer

    def encode(self) -> pa.RecordBatch:
        """Return a record batch of this row alone, without a copy of its data."""
        columns: dict[str, Any] = {
            "shard": pa.array([self.shard], pa.int64()),
            "stream": pa.array([self.stream], pa.string()),
            "kind": pa.array([self.kind], pa.string()),
            "sequence": pa.array([self.sequence], pa.int64()),
            "data": binary_value(self.data),
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    @staticmethod
    def of_arrow(batch: pa.RecordBatch) -> Iterator[ShuffleRow]:
        """Decode the rows that `mapInArrow` hands over, without a copy of their data."""
        *plain, data = batch.columns
        values = zip(*(column.to_pylist() for column in plain), strict=True)
        for (shard, stream, kind, sequence), scalar in zip(values, data, strict=True):
            yield ShuffleRow(shard, stream, kind, sequence, scalar.as_buffer())

    @staticmethod
    def of_spark(row: Row) -> ShuffleRow:
        """Decode a row that a stateful processor is handed."""
        return ShuffleRow(row.shard, row.stream, row.kind, row.sequence, pa.py_buffer(row.data))


@dataclass(frozen=True)
class ShuffleWriter:
    """Encodes the shuffle rows of a map task."""

    groups: Sequence[StatementGroup]

    @cached_property
    def _quarantine(self) -> dict[str, int]:
        return quarantine_shards(self.groups)

    def events(
        self, group: StatementGroup, batch: EventBatch, table: pa.Table, sequence: int
    ) -> Iterator[pa.RecordBatch]:
        """Encode the rows of `table`, one for each event of the batch, for the shards of a group."""
        for shard, rows in group.partition(batch, table):
            yield ShuffleRow(shard, batch.stream, EVENTS, sequence, table_buffer(rows)).encode()

    def progress(self, stream: str, progress: StreamProgress, sequence: int = 0) -> Iterator[pa.RecordBatch]:
        return self._to_all(stream, PROGRESS, sequence, msgspec.json.encode(progress))

    def quarantined(self, stream: str, events: Sequence[QuarantinedEvent], sequence: int) -> Iterator[pa.RecordBatch]:
        if events:
            data = pa.py_buffer(msgspec.json.encode(events))
            yield ShuffleRow(self._quarantine[stream], stream, QUARANTINED, sequence, data).encode()

    def reading(self, batch: EventBatch, sequence: int) -> Iterator[pa.RecordBatch]:
        if batch.nulled or batch.notes:
            data = pa.py_buffer(msgspec.json.encode(ReadingReport(batch.nulled, batch.notes)))
            yield ShuffleRow(self._quarantine[batch.stream], batch.stream, READING, sequence, data).encode()

    def changes(self, changes: object, sequence: int) -> Iterator[pa.RecordBatch]:
        return self._to_all(None, CHANGES, sequence, msgspec.json.encode(changes))

    def _to_all(self, stream: str | None, kind: str, sequence: int, data: bytes) -> Iterator[pa.RecordBatch]:
        for group in self.groups:
            for shard in group.shards:
                yield ShuffleRow(shard, stream, kind, sequence, pa.py_buffer(data)).encode()


def map_task() -> int:
    """Return the number of this map task: the partition that it reads."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


# ── tables as bytes, without a copy ──


def table_buffer(table: pa.Table, *, compress: bool = False) -> pa.Buffer:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4" if compress else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_table(data: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


def binary_value(data: pa.Buffer) -> Any:
    """Return a binary array of one value."""
    ends: Any = np.array([0, data.size], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), data])

"""The first half, in the tasks that read: events in their types, cut to what somebody needs, packed for their shards.

Rows that go through Spark's JVM one by one cost more than the matching, so whole Arrow batches go, as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.ingest.arrow_columns import ArrowColumn
from foretell.events.ingest.quarantine import QuarantinedEvent, malformed_event
from foretell.events.ingest.reader import EventBatch
from foretell.spark.batch.input_splits import (
    Batches,
    InputSplit,
    SplitEvents,
    StreamProgress,
    frame_parts,
    table_parts,
    text_parts,
)
from foretell.spark.batch.plan import BatchPlan, PlanHandle, Share
from foretell.spark.partitioning.hash_partitioner import hash_partition, split_by_partition
from foretell.spark.pushdown.quenching import may_matter
from foretell.spark.pushdown.row_groups import row_group

#: What goes through the shuffle: events (an Arrow stream, and the number of the part's first), how many of a stream
#: were read and of what times (to every task, as time passes for all lanes together), and malformed events (to task 0).
EVENTS, READ, BAD = "events", "read", "bad"
PACKED = "task int, stream string, kind string, arrival long, data binary"
COUNTED = "count long"
_FIELDS: Any = [
    ("task", pa.int32()), ("stream", pa.string()), ("kind", pa.string()), ("arrival", pa.int64()), ("data", pa.binary())
]  # fmt: skip
_SCHEMA = pa.schema(_FIELDS)


def pack_frame(sent: PlanHandle, stream: str, batches: Batches, *, sieved: bool = False) -> Iterator[pa.RecordBatch]:
    """Rows of a Spark DataFrame. They arrive by partition, then as they stand in it. Of those that Spark has dropped
    `pack_seen` tells what they do to time."""
    plan, context = sent.plan, TaskContext.get()
    arrival = (context.partitionId() if context else 0) << 33
    yield from _packed(plan, stream, frame_parts(plan, stream, batches, arrival), told=sieved)


def pack_seen(sent: PlanHandle, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """How many rows a DataFrame has, and the times of the first and the latest good one."""
    plan = sent.plan
    schema = plan.schemas[stream]
    assert schema.time is not None
    for batch in batches:
        total, *times = batch.columns
        fitted = ArrowColumn(schema.time, times).cast(schema.attributes[schema.time]).values
        numbers = fitted.cast(pa.int64()) if pa.types.is_timestamp(fitted.type) else fitted
        yield from _seen_by_all(plan, stream, StreamProgress(total[0].as_py(), *numbers.to_pylist()))


def pack_files(
    sent: PlanHandle, stream: str, pieces: Sequence[InputSplit], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Files, read here. Rows arrive by file, then as they stand in it."""
    yield from _packed(sent.plan, stream, file_parts(sent.plan, stream, pieces, batches))


def count_files(
    sent: PlanHandle, stream: str, pieces: Sequence[InputSplit], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """The events only read, to measure by."""
    for part in file_parts(sent.plan, stream, pieces, batches):
        yield pa.RecordBatch.from_pydict({"count": [part.seen.total]})


def pack_tables(sent: PlanHandle, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Events that were read before."""
    yield from _packed(sent.plan, stream, table_parts(sent.plan, stream, batches))


def file_parts(plan: BatchPlan, stream: str, pieces: Sequence[InputSplit], batches: Batches) -> Iterator[SplitEvents]:
    """The pieces whose numbers come."""
    for batch in batches:
        for number in numpy_of(batch.column(0)).tolist():
            piece = pieces[number]
            if piece.format == "Parquet":
                yield row_group(plan, stream, piece)
            else:
                yield from text_parts(plan, stream, piece)


# ── packed ──


def _packed(
    plan: BatchPlan, stream: str, parts: Iterable[SplitEvents], *, told: bool = False
) -> Iterator[pa.RecordBatch]:
    """`told` says that somebody else tells what was seen."""
    every = StreamProgress()
    readers = [share for share in plan.shares if stream in share.columns]
    for loaded, arrival, first, seen, sifted in parts:
        if loaded.quarantined:
            yield _row(0, stream, BAD, first, pa.py_buffer(msgspec.json.encode(_set_aside(plan, loaded.quarantined))))
        every += seen
        if loaded.table.num_rows:
            coded = replace(loaded, table=_coded(loaded.table, plan.tasks))
            for share in readers:
                alone = sifted and len(readers) == 1  # then what is here may matter to it
                kept, numbers = _quenched(plan, share, coded, arrival - first, all_matter=alone)
                for task, table in _sharded(share, kept, numbers):
                    yield _row(task, stream, EVENTS, first, buffer_of(table))
    if not told:
        yield from _seen_by_all(plan, stream, every)


def _seen_by_all(plan: BatchPlan, stream: str, seen: StreamProgress) -> Iterator[pa.RecordBatch]:
    """To every task, as time passes for all lanes together."""
    data = pa.py_buffer(msgspec.json.encode(seen))
    for task in range(plan.tasks):
        yield _row(task, stream, READ, 0, data)


def _set_aside(plan: BatchPlan, bad: tuple[QuarantinedEvent, ...]) -> tuple[QuarantinedEvent, ...]:
    if plan.strict:
        raise malformed_event(bad[0])
    return bad


def _quenched(
    plan: BatchPlan, share: Share, loaded: EventBatch, number: Ints, *, all_matter: bool
) -> tuple[EventBatch, Ints]:
    """Without the events that cannot matter."""
    keep = None if all_matter else may_matter(loaded, plan.statements_of(share), plan.named)
    if keep is None or keep.all():
        return loaded, number
    return replace(loaded, table=loaded.table.filter(arrow_of(keep))), number[keep]


def _coded(table: pa.Table, tasks: int) -> pa.Table:
    """Texts as numbers, where there are few of them: each task's part has all the words that the table has."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type) or pa.types.is_dictionary(column.type):
            coded: Any = column.combine_chunks()
            if pa.types.is_dictionary(coded.type) and len(coded.dictionary) * tasks > len(coded):
                coded = coded.cast(pa.string())
            plain, coded = coded, coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
            few = len(coded.dictionary) * tasks <= len(coded)
            table = table.set_column(number, table.column_names[number], coded if few else plain)
    return table


def _sharded(share: Share, loaded: EventBatch, number: Ints) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each shard as one table, with their numbers in the part as the last column."""
    table = loaded.table.select(list(share.columns[loaded.stream]))
    table = table.append_column("", arrow_of(number.astype(np.int32)))
    for shard, rows in split_by_partition(table, hash_partition(loaded, share.keys, share.tasks), share.tasks):
        yield share.shards[shard], rows


def _row(task: int, stream: str, kind: str, arrival: int, data: pa.Buffer) -> pa.RecordBatch:
    columns: list[Any] = [
        pa.array([task], pa.int32()),
        pa.array([stream]),
        pa.array([kind]),
        pa.array([arrival], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays([*columns, bytes_of(data)], schema=_SCHEMA)


# ── tables as bytes, without a copy ──


def buffer_of(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def bytes_of(data: pa.Buffer) -> Any:
    """One binary value."""
    ends: Any = np.array([0, data.size], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), data])

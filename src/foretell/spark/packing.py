"""The first half, in the tasks that read: events in their types, cut to what somebody needs, packed for their shards.

Rows that go through Spark's JVM one by one cost more than the matching, so whole Arrow batches go, as bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark import TaskContext

from foretell.errors import InputError
from foretell.events.arrow import nulls_of, numpy_of, table_bytes, table_of
from foretell.events.gathered import ARROW_TYPES
from foretell.events.read import BadEvent, Loaded, read
from foretell.events.types import Type
from foretell.events.waiting import times_of
from foretell.spark.shares import Plan, Share

#: What goes through the shuffle: events (an Arrow stream), how many of a stream were read and the time of the latest
#: (to every task that reads the stream, as time passes for all lanes together), and malformed events (to task 0).
EVENTS, READ, BAD = "events", "read", "bad"
PACKED = "task int, stream string, kind string, data binary"
_FIELDS: Any = [("task", pa.int32()), ("stream", pa.string()), ("kind", pa.string()), ("data", pa.binary())]
_SCHEMA = pa.schema(_FIELDS)

#: So many rows are packed at once.
ROWS = 262_144

Batches = Iterable[pa.RecordBatch]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """A row group of a Parquet file, its first row's number in the file, and the file's first in the stream."""

    path: str
    group: int
    row: int
    arrival: int


class Seen(msgspec.Struct):
    """How many events a task has read, malformed ones too, and the time of the latest good one."""

    total: int = 0
    latest: int | float | None = None


def pack_frame(plan: Plan, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rows of a Spark DataFrame. They arrive by partition, then as they stand in it."""
    context = TaskContext.get()
    arrival = (context.partitionId() if context else 0) << 33
    yield from _packed(plan, stream, _frame_parts(plan, stream, batches, arrival))


def pack_files(plan: Plan, stream: str, pieces: Sequence[Piece], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Parquet, read here. Rows arrive by file, then as they stand in it."""
    numbers: Iterator[Any] = (number for batch in batches for number in batch.column(0).to_pylist())
    yield from _packed(plan, stream, (_file_part(plan, stream, pieces[number]) for number in numbers))


def pack_tables(plan: Plan, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Events that were read before: the number of the first, and Arrow's bytes."""
    rows = ((row["arrival"], row["data"]) for batch in batches for row in batch.to_pylist())
    yield from _packed(plan, stream, (_table_part(plan, stream, *row) for row in rows))


# ── parts of a stream: events with their numbers ──

Part = tuple[Loaded, Ints]


def _frame_parts(plan: Plan, stream: str, batches: Batches, arrival: int) -> Iterator[Part]:
    for some in _gathered(batches):
        yield _read(plan, stream, pa.Table.from_batches(some), stream, arrival & ((1 << 33) - 1), arrival)
        arrival += sum(batch.num_rows for batch in some)


def _gathered(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    """Spark's batches are short; several at once."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(one.num_rows for one in some) >= ROWS:
            yield some
            some = []
    if some:
        yield some


def _file_part(plan: Plan, stream: str, piece: Piece) -> Part:
    wanted = set(plan.declaration(stream).columns)
    with pq.ParquetFile(piece.path) as file:
        table = file.read_row_group(piece.group, columns=[n for n in file.schema_arrow.names if n in wanted])
    return _read(plan, stream, table, piece.path, piece.row, piece.arrival + piece.row)


def _table_part(plan: Plan, stream: str, arrival: int, data: bytes) -> Part:
    table = table_of(data)
    loaded = Loaded(stream, plan.schemas[stream], table, (), table.num_rows)
    return loaded, arrival + np.arange(table.num_rows)


def _read(plan: Plan, stream: str, table: pa.Table, source: str, row: int, arrival: int) -> Part:
    """`row` and `arrival` are the numbers of the table's first row in its source and in the stream."""
    declaration = plan.declaration(stream)
    for name in declaration.columns:  # one of several files may lack it
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows))
    loaded = read(table, declaration)
    good = np.ones(table.num_rows, np.bool_)
    good[[bad.row - 1 for bad in loaded.bad]] = False
    bad = tuple(replace(one, source=source, row=row + one.row) for one in loaded.bad)
    return replace(loaded, bad=bad), arrival + np.flatnonzero(good)


# ── packed ──


def _packed(plan: Plan, stream: str, parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
    seen = Seen()
    readers = [share for share in plan.shares if stream in share.columns]
    for loaded, arrival in parts:
        if loaded.bad:
            yield _row(0, stream, BAD, msgspec.json.encode(_told(plan, loaded.bad)))
        _see(seen, loaded)
        for share in readers:
            yield from _sharded(share, loaded, arrival)
    data = msgspec.json.encode(seen)
    for task in sorted({0, *(share.first + n for share in readers for n in range(share.tasks))}):
        yield _row(task, stream, READ, data)


def _told(plan: Plan, bad: tuple[BadEvent, ...]) -> tuple[BadEvent, ...]:
    if plan.strict:
        raise InputError("bad-event", f"{bad[0].source}:{bad[0].row}: {bad[0].reason}")
    return bad


def _see(seen: Seen, loaded: Loaded) -> None:
    seen.total += loaded.total
    if loaded.table.num_rows:
        latest = times_of(loaded).max().item()
        seen.latest = latest if seen.latest is None else max(seen.latest, latest)


def _sharded(share: Share, loaded: Loaded, arrival: Ints) -> Iterator[pa.RecordBatch]:
    """The rows of each shard as one table, with their numbers as the last column."""
    table = loaded.table.select(list(share.columns[loaded.stream]))
    table = table.append_column("", pa.array(arrival))
    if not share.per:
        if table.num_rows:
            yield _row(share.first, loaded.stream, EVENTS, table_bytes(table))
        return
    shard = shards_of(loaded, share.per, share.tasks)
    table = table.take(np.argsort(shard, kind="stable"))
    ends = np.cumsum(np.bincount(shard, minlength=share.tasks)).tolist()
    for number, (begin, end) in enumerate(zip([0, *ends], ends)):
        if begin < end:
            part = table.slice(begin, end - begin).combine_chunks()
            yield _row(share.first + number, loaded.stream, EVENTS, table_bytes(part))


def shards_of(loaded: Loaded, per: Mapping[str, Type], shards: int) -> Ints:
    """The shard of each event: equal keys, of whatever stream, have the same."""
    mixed = np.zeros(loaded.table.num_rows, np.uint64)
    for name, kind in per.items():
        if name in loaded.schema.attributes:
            words = _words(loaded.table[name], kind)
        else:  # the pseudo-attribute, or one that no event has
            words = np.full(len(mixed), zlib.crc32(loaded.stream.encode()) if name == "stream" else 0, np.uint64)
        mixed = (mixed ^ words) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(shards)).astype(np.int64)


def _words(column: Any, kind: Type) -> NDArray[np.uint64]:
    if kind is Type.STRING:
        coded: Any = pa.concat_arrays(column.chunks or [pa.array([], pa.string())]).dictionary_encode()
        words = np.array([zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()] + [0], np.uint64)
        return words[numpy_of(coded.indices.fill_null(len(words) - 1)).astype(np.int64)]
    plain = column.cast(ARROW_TYPES[kind], safe=False)
    plain = plain if kind is Type.FLOAT else plain.cast(pa.int64())
    values = np.where(nulls_of(plain), 0, numpy_of(plain))
    if kind is Type.FLOAT:
        values = np.where(np.isnan(values), 0.0, values) + 0.0  # -0.0 is 0.0
    return values.astype(np.float64 if kind is Type.FLOAT else np.int64).view(np.uint64)


def _row(task: int, stream: str, kind: str, data: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"task": [task], "stream": [stream], "kind": [kind], "data": [data]}, _SCHEMA)

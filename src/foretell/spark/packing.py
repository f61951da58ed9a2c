"""The first half, in the tasks that read: events in their types, cut to what somebody needs, packed for their shards.

Rows that go through Spark's JVM one by one cost more than the matching, so whole Arrow batches go, as bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark import TaskContext

from foretell.events.arrow import arrow_of, nulls_of, numpy_of, table_of
from foretell.events.delimited import gather_delimited
from foretell.events.gathered import ARROW_TYPES, Gathered
from foretell.events.jsonlines import gather_json_lines, wrong_format
from foretell.events.read import BadEvent, Loaded, bad_event, load, read
from foretell.events.types import Type
from foretell.events.waiting import times_of
from foretell.spark.quenching import may_matter
from foretell.spark.shares import Plan, Sent, Share

#: What goes through the shuffle: events (an Arrow stream, and the number of the part's first), how many of a stream
#: were read and of what times (to every task, as time passes for all lanes together), and malformed events (to task 0).
EVENTS, READ, BAD = "events", "read", "bad"
PACKED = "task int, stream string, kind string, arrival long, data binary"
COUNTED = "count long"
_FIELDS: Any = [
    ("task", pa.int32()), ("stream", pa.string()), ("kind", pa.string()), ("arrival", pa.int64()), ("data", pa.binary())
]  # fmt: skip
_SCHEMA = pa.schema(_FIELDS)

#: So many rows are packed at once, and so many bytes of text are read.
ROWS = 262_144
CHUNK = 32 << 20

Batches = Iterable[pa.RecordBatch]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """A file of text, or a row group of a Parquet file with the number of its first row in the file.

    `arrival` is the number of the file's first row in the stream, or one that is greater than those of all before it.
    """

    format: str
    path: str
    arrival: int
    group: int = 0
    row: int = 0


class Seen(msgspec.Struct, frozen=True):
    """How many events were read, malformed ones too, and the times of the first and the latest good one."""

    total: int = 0
    first: int | float | None = None
    latest: int | float | None = None

    def __add__(self, other: Seen) -> Seen:
        first = [time for time in (self.first, other.first) if time is not None]
        latest = [time for time in (self.latest, other.latest) if time is not None]
        return Seen(self.total + other.total, min(first, default=None), max(latest, default=None))


def pack_frame(sent: Sent, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rows of a Spark DataFrame. They arrive by partition, then as they stand in it."""
    plan, context = sent.plan, TaskContext.get()
    arrival = (context.partitionId() if context else 0) << 33
    yield from _packed(plan, stream, _frame_parts(plan, stream, batches, arrival))


def pack_files(sent: Sent, stream: str, pieces: Sequence[Piece], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Files, read here. Rows arrive by file, then as they stand in it."""
    yield from _packed(sent.plan, stream, file_parts(sent.plan, stream, pieces, batches))


def count_files(sent: Sent, stream: str, pieces: Sequence[Piece], batches: Batches) -> Iterator[pa.RecordBatch]:
    """The events only read, to measure by."""
    for part in file_parts(sent.plan, stream, pieces, batches):
        yield pa.RecordBatch.from_pydict({"count": [part.loaded.total]})


def pack_tables(sent: Sent, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Events that were read before: the number of the first, and Arrow's bytes."""
    plan = sent.plan
    rows = ((row["arrival"], row["data"]) for batch in batches for row in batch.to_pylist())
    yield from _packed(plan, stream, (_table_part(plan, stream, *row) for row in rows))


# ── parts of a stream: events with their numbers ──


class Part(NamedTuple):
    """Events, the number of each in its stream, and that from which the numbers of the part begin."""

    loaded: Loaded
    arrival: Ints
    first: int


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


def file_parts(plan: Plan, stream: str, pieces: Sequence[Piece], batches: Batches) -> Iterator[Part]:
    """The pieces whose numbers come."""
    for batch in batches:
        for number in numpy_of(batch.column(0)).tolist():
            piece = pieces[number]
            if piece.format == "Parquet":
                yield _row_group(plan, stream, piece)
            else:
                yield from _text_parts(plan, stream, piece)


def _row_group(plan: Plan, stream: str, piece: Piece) -> Part:
    needed = plan.needed(stream)
    attributes = plan.schemas[stream].attributes
    with pq.ParquetFile(piece.path, pre_buffer=False) as file:
        taken = [f.name for f in file.schema_arrow if f.name in needed or _may_misfit(f.type, attributes.get(f.name))]
        table = file.read_row_group(piece.group, columns=taken, use_threads=False)
    return _read(plan, stream, table, piece.path, piece.row, piece.arrival + piece.row)


def _text_parts(plan: Plan, stream: str, piece: Piece) -> Iterator[Part]:
    declaration = plan.declaration(stream)
    if piece.format == "CSV":
        chunks = iter([(0, gather_delimited([(piece.path, Path(piece.path).read_bytes())]))])
    else:
        chunks = json_chunks(piece.path, frozenset(declaration.columns))
    for line, gathered in chunks:
        loaded = load(gathered, declaration, plan.schemas[stream].attributes)
        bad = {one.row for one in loaded.bad}
        good = [number for part in gathered.parts for number in part.numbers if number not in bad]
        moved = tuple(replace(one, row=line + one.row) for one in loaded.bad)
        first = piece.arrival + line
        yield Part(replace(loaded, bad=moved), first + np.array(good, np.int64), first)


def json_chunks(path: str, wanted: frozenset[str] | None) -> Iterator[tuple[int, Gathered]]:
    """JSON lines some at a time, each time with how many lines came before: a file may be larger than memory."""
    line, rows, rejected = 0, 0, 0
    with Path(path).open("rb") as file:
        while content := file.read(CHUNK) + file.readline():
            gathered = gather_json_lines([(path, content)], wanted, whole=False)
            rows, rejected = rows + gathered.rows, rejected + len(gathered.rejected)
            yield line, gathered
            line += content.count(b"\n")
    if rejected and not rows:
        raise wrong_format(path)


def _may_misfit(found: Any, wanted: Type | None) -> bool:
    """Whether a column that nobody needs can still make an event malformed."""
    safe: Mapping[Type | None, Any] = {
        None: lambda kind: True,
        Type.BOOL: pa.types.is_boolean,
        Type.INT: lambda kind: pa.types.is_integer(kind) and kind != pa.uint64(),
        Type.FLOAT: lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind),
    }
    return wanted not in safe or not safe[wanted](found)


def _table_part(plan: Plan, stream: str, arrival: int, data: bytes) -> Part:
    table = table_of(data)
    loaded = Loaded(stream, plan.schemas[stream], table, (), table.num_rows)
    return Part(loaded, arrival + np.arange(table.num_rows), arrival)


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
    return Part(replace(loaded, bad=bad), arrival + np.flatnonzero(good), arrival)


# ── packed ──


def _packed(plan: Plan, stream: str, parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
    seen = Seen()
    readers = [share for share in plan.shares if stream in share.columns]
    for loaded, arrival, first in parts:
        if loaded.bad:
            yield _row(0, stream, BAD, first, pa.py_buffer(msgspec.json.encode(_told(plan, loaded.bad))))
        seen += _seen(loaded)
        if loaded.table.num_rows:
            coded = replace(loaded, table=_coded(loaded.table, plan.tasks))
            for share in readers:
                kept, numbers = _quenched(plan, share, coded, arrival - first)
                for task, table in _sharded(share, kept, numbers):
                    yield _row(task, stream, EVENTS, first, buffer_of(table))
    data = pa.py_buffer(msgspec.json.encode(seen))
    for task in range(plan.tasks):
        yield _row(task, stream, READ, 0, data)


def _told(plan: Plan, bad: tuple[BadEvent, ...]) -> tuple[BadEvent, ...]:
    if plan.strict:
        raise bad_event(bad[0])
    return bad


def _quenched(plan: Plan, share: Share, loaded: Loaded, number: Ints) -> tuple[Loaded, Ints]:
    """Without the events that cannot matter."""
    keep = may_matter(loaded, plan.statements(share), plan.named)
    if keep is None or keep.all():
        return loaded, number
    return replace(loaded, table=loaded.table.filter(arrow_of(keep))), number[keep]


def _seen(loaded: Loaded) -> Seen:
    if not loaded.table.num_rows:
        return Seen(loaded.total)
    times = times_of(loaded)
    return Seen(loaded.total, times.min().item(), times.max().item())


def _coded(table: pa.Table, tasks: int) -> pa.Table:
    """Texts as numbers, where there are few of them: each task's part has all the words that the table has."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            coded: Any = column.combine_chunks().dictionary_encode()
            if len(coded.dictionary) * tasks <= len(column):
                table = table.set_column(number, table.column_names[number], coded)
    return table


def _sharded(share: Share, loaded: Loaded, number: Ints) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each shard as one table, with their numbers in the part as the last column."""
    table = loaded.table.select(list(share.columns[loaded.stream]))
    table = table.append_column("", arrow_of(number.astype(np.int32)))
    if not share.per:
        yield share.first, table
        return
    shard = shards_of(loaded, share.per, share.tasks)
    # NumPy sorts small numbers by counting.
    by = np.argsort(shard.astype(np.int16 if share.tasks < 1 << 15 else np.int64), kind="stable")
    table = table.take(arrow_of(by))
    ends = np.cumsum(np.bincount(shard, minlength=share.tasks)).tolist()
    for task, (begin, end) in enumerate(zip([0, *ends], ends)):
        if begin < end:
            yield share.first + task, table.slice(begin, end - begin)


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
        coded: Any = column.combine_chunks()
        coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
        words: NDArray[np.uint64] = np.array(
            [zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()] + [0], np.uint64
        )
        at = numpy_of(coded.indices)
        return words[np.where(nulls_of(coded), len(words) - 1, at) if coded.null_count else at]
    plain = column.cast(ARROW_TYPES[kind], safe=False)
    plain = plain if kind is Type.FLOAT else plain.cast(pa.int64())
    values = np.where(nulls_of(plain), 0, numpy_of(plain))
    if kind is Type.FLOAT:
        values = np.where(np.isnan(values), 0.0, values) + 0.0  # -0.0 is 0.0
    return values.astype(np.float64 if kind is Type.FLOAT else np.int64).view(np.uint64)


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

"""The second half, in the tasks that match: each runs its shard as the engine in process would.

Notifications leave as they are told, as columns. Packed by ranges of time they need only one more short way, to the
tasks that put each range in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.arrays import Ints
from foretell.engine.planning import start_runtime
from foretell.events.arrow_interop import arrow_of, numpy_of, take_rows
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch
from foretell.machine.matches.notification_order import by_batch
from foretell.machine.matches.results import ResultBatch
from foretell.machine.runtime import MatchRuntime
from foretell.notify.arrow_encoder import notification_columns
from foretell.notify.row_encoder import encode_json
from foretell.spark.batch.external_sort import ExternalSort
from foretell.spark.batch.input_splits import StreamProgress
from foretell.spark.batch.map_side import BAD, EVENTS, READ, buffer_of, bytes_of
from foretell.spark.batch.plan import BatchPlan, PlanHandle, Share
from foretell.spark.batch.sort_keys import BoundEventSortKeys, FirstEventSortKeys, numbered
from foretell.spark.partitioning.hash_partitioner import split_by_partition

_CODED: Any = pa.dictionary(pa.int32(), pa.string())

MATCH, NOTE = "match", "note"
#: For the driver: notifications (an Arrow stream), notes (text), malformed events and counts (JSON).
REPORTED = "kind string, stream string, data binary"
#: For the tasks that put notifications in order: of a range of time, an Arrow stream.
RANGED = "range int, data binary"

#: So many notifications leave at once.
ROWS = 65_536
#: Notifications come in this order: that of the engine in process.
_ORDER: Any = [("end", "ascending"), ("subscription", "ascending"), ("place", "ascending")]


@dataclass
class ShardInput:
    """What has come for one task."""

    plan: BatchPlan
    parts: dict[str, list[tuple[int, pa.Table]]] = field(default_factory=dict)
    held: int = 0
    runs: ExternalSort | None = None
    seen: dict[str, StreamProgress] = field(default_factory=dict)
    bad: list[tuple[str, int, list[QuarantinedEvent]]] = field(default_factory=list)

    def take(self, stream: str, kind: str, arrival: int, data: pa.Buffer) -> None:
        if kind == EVENTS:
            self.parts.setdefault(stream, []).append((arrival, _table(data)))
            self.held += data.size
            if self.held > self.plan.memory:
                self._put_down()
        elif kind == READ:
            self.seen[stream] = self.seen.get(stream, StreamProgress()) + msgspec.json.decode(data, type=StreamProgress)
        elif kind == BAD:
            self.bad.append((stream, arrival, msgspec.json.decode(data, type=list[QuarantinedEvent])))

    def _put_down(self) -> None:
        if self.runs is None:
            self.runs = ExternalSort({name: schema.time or "" for name, schema in self.plan.schemas.items()})
        for stream in self.parts:
            self.runs.put_down(stream, self._arrived(stream))
        self.parts, self.held = {}, 0

    def _arrived(self, stream: str) -> pa.Table:
        """The events of a stream as they arrived, with their numbers. Parts come in any order, each in its own."""
        tables = []
        for first, table in sorted(self.parts[stream], key=lambda part: part[0]):
            last = table.num_columns - 1
            number = arrow_of(first + numpy_of(table.column(last)).astype(np.int64))
            tables.append(_coded(table.set_column(last, "", number)))
        return pa.concat_tables(tables)

    def pieces(self) -> Iterator[dict[str, pa.Table]]:
        """All events; more than memory holds some after others, in the order of time."""
        if self.runs is None:
            yield {stream: self._arrived(stream) for stream in self.parts}
        else:
            self._put_down()
            yield from self.runs.pieces()

    @property
    def malformed(self) -> list[QuarantinedEvent]:
        """As they arrived, stream by stream."""
        parts = sorted(self.bad, key=lambda part: part[:2])
        return [bad for _, _, some in parts for bad in some]

    def times(self) -> tuple[int | float, int | float]:
        """The first and the latest of all streams."""
        every = sum(self.seen.values(), StreamProgress())
        return (0 if every.first is None else every.first), (0 if every.latest is None else every.latest)


def report(sent: PlanHandle, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All that a run gives back, for the driver to put together."""
    plan = sent.plan
    for task, inbox in inboxes(plan, batches):
        yield from read_and_set_aside(task, inbox)
        share = plan.share_of(task)
        running = start_runtime(plan.checked(share), plan.tables_of(share), observers=plan.watching)
        for one in _told(running, share, inbox):
            yield reported(MATCH, "", buffer_of(one.table(exact=True)))
        for note in running.ledger.tell():
            yield reported(NOTE, "", pa.py_buffer(note.encode()))


def read_and_set_aside(task: int, inbox: ShardInput) -> Iterator[pa.RecordBatch]:
    """What the first task says for all: how many events of each stream there were, and which were malformed."""
    if task == 0:
        yield reported(BAD, "", pa.py_buffer(msgspec.json.encode(inbox.malformed)))
        for stream, seen in inbox.seen.items():
            yield reported(READ, stream, pa.py_buffer(str(seen.total).encode()))


def tell(
    sent: PlanHandle, schema: pa.Schema, ranges: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The notifications as sinks have them, by ranges of time; malformed events after the last."""
    plan = sent.plan
    for task, inbox in inboxes(plan, batches):
        first, latest = inbox.times()
        if inbox.bad:
            yield _packed(ranges, _set_aside(inbox.malformed, schema))
        share = plan.share_of(task)
        running = start_runtime(plan.checked(share), plan.tables_of(share), observers=plan.watching)
        for one in _told(running, share, inbox):
            for number, part in _ranged(one.table(exact=False), first, latest, ranges):
                yield _packed(number, part)


def _packed(number: int, part: pa.Table) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([number], pa.int32()), bytes_of(buffer_of(part))]
    return pa.RecordBatch.from_arrays(columns, ["range", "data"])


def in_order(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The notifications of a range, in order."""
    tables = [_table(data) for batch in batches for data in map(_buffer, batch.column("data"))]
    if tables:
        table = pa.concat_tables(t.cast(schema.append(t.schema.field("place"))) for t in tables)
        yield from sorted_of(table).drop_columns(["place"]).to_batches(ROWS)


def sorted_of(notifications: pa.Table) -> pa.Table:
    return take_rows(notifications, pc.sort_indices(notifications, sort_keys=_ORDER))


def reported(kind: str, stream: str, data: pa.Buffer) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([kind]), pa.array([stream]), bytes_of(data)]
    return pa.RecordBatch.from_arrays(columns, ["kind", "stream", "data"])


def inboxes(plan: BatchPlan, batches: Iterable[pa.RecordBatch]) -> list[tuple[int, ShardInput]]:
    found: dict[int, ShardInput] = {}
    for batch in batches:
        *plain, data = batch.columns
        for task, stream, kind, arrival, one in zip(*(column.to_pylist() for column in plain), map(_buffer, data)):
            found.setdefault(task, ShardInput(plan)).take(stream, kind, arrival, one)
    return sorted(found.items())


def _table(data: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


def _buffer(scalar: Any) -> pa.Buffer:
    found: pa.Buffer = scalar.as_buffer()
    return found


def _told(running: MatchRuntime, share: Share, inbox: ShardInput) -> Iterator[_SortedResult]:
    """The notifications of a share, in their places."""
    ranks = inbox.plan.checked(share).ranks
    # A share that is one task has all there is to be put in order, and its own order is enough, if it has it at once.
    places: FirstEventSortKeys | BoundEventSortKeys | None = None
    if share.rows[1] > 1:
        places = BoundEventSortKeys()
    elif inbox.runs is not None:
        places = FirstEventSortKeys(ranks, Path(inbox.runs.folder.name))
    elif share.keys:
        places = FirstEventSortKeys(ranks)
    count = 0
    for piece, loaded, told in run(running, share, inbox):
        if isinstance(places, FirstEventSortKeys):
            places.extend(loaded, {name: _arrivals(piece.get(name)) for name in loaded})
        for one in _placed(told, places, count):
            count += len(one.match)
            yield one


def run(
    running: MatchRuntime, share: Share, inbox: ShardInput
) -> Iterator[tuple[dict[str, pa.Table], dict[str, EventBatch], list[ResultBatch]]]:
    """What the engine tells of all that has come, piece by piece."""
    plan = inbox.plan
    clocks = {n: seen.latest for n, seen in inbox.seen.items() if n in share.columns and seen.latest is not None}
    for piece, is_last in _with_last(inbox.pieces()):
        loaded = {name: _loaded(plan, name, columns, piece.get(name)) for name, columns in share.columns.items()}
        yield piece, loaded, running.process(loaded, plan.until, clocks) if is_last else running.process(loaded)


def _with_last(pieces: Iterable[dict[str, pa.Table]]) -> Iterator[tuple[dict[str, pa.Table], bool]]:
    """Each with whether it is the last."""
    before = None
    for piece in pieces:
        if before is not None:
            yield before, False
        before = piece
    yield before or {}, True


def _loaded(plan: BatchPlan, name: str, columns: tuple[str, ...], table: pa.Table | None) -> EventBatch:
    schema = plan.schemas[name]
    if table is None:
        table = pa.schema([(n, ARROW_TYPES[schema.attributes[n]]) for n in columns]).empty_table()
    else:
        table = table.select(list(range(len(columns))))
    return EventBatch(name, schema, table, (), table.num_rows)


def _arrivals(table: pa.Table | None) -> Ints:
    return np.zeros(0, np.int64) if table is None else numpy_of(table.column(table.num_columns - 1))


def _coded(table: pa.Table) -> pa.Table:
    """Texts as numbers, which is how the engine has them; some parts come so."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            coded: Any = pa.chunked_array([c.dictionary_encode() for c in column.chunks], _CODED)
            table = table.set_column(number, table.column_names[number], coded)
    return table


# ── notifications ──


@dataclass(frozen=True)
class _SortedResult:
    """Notifications of one result: the match of each, the row of a template it goes to, and its place."""

    told: ResultBatch
    match: Ints
    row: Ints
    place: Any

    def table(self, *, exact: bool) -> pa.Table:
        return notification_columns(self.told, self.match, self.row, exact=exact).append_column("place", self.place)


def _placed(
    told: list[ResultBatch], places: FirstEventSortKeys | BoundEventSortKeys | None, before: int
) -> Iterator[_SortedResult]:
    """`before` counts the notifications before these."""
    for one, match, row, number in by_batch(told):
        of = one, match, row
        yield _SortedResult(*of, numbered(before + number) if places is None else places.of(*of, before + number))


def _ranged(table: pa.Table, first: int | float, latest: int | float, ranges: int) -> Iterator[tuple[int, pa.Table]]:
    """The notifications of each range of time. What is later than all events belongs to the last."""
    end: Any = table["end"]
    times = numpy_of(end.cast(pa.int64()) if pa.types.is_timestamp(end.type) else end)
    number = np.clip((times - first) * (ranges / max(latest - first, 1e-9)), 0, ranges - 1).astype(np.int64)
    yield from split_by_partition(table, number, ranges)


def _set_aside(bad: Sequence[QuarantinedEvent], schema: pa.Schema) -> pa.Table:
    """Malformed events as rows, as a stream has them: `subscription` is the stream, `bindings` says why and what."""
    rows = [
        {"subscription": one.stream, "kind": BAD, "bindings": encode_json({"reason": one.reason, "raw": one.raw})}
        for one in bad
    ]
    return pa.Table.from_pylist(rows, schema).append_column("place", numbered(np.arange(len(rows))))

"""The second half, in the tasks that match: each runs its shard as the engine in process would."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.arrow import table_of
from foretell.events.gathered import ARROW_TYPES
from foretell.events.notification import Notification
from foretell.events.read import BadEvent, Loaded
from foretell.machine.running import Running
from foretell.machine.told import Told, in_their_order
from foretell.notify.rows import to_table
from foretell.spark.packing import BAD, EVENTS, READ, Seen
from foretell.spark.places import Places, place_of
from foretell.spark.shares import Plan, Share

_LOG = logging.getLogger(__name__)

MATCH, NOTE = "match", "note"
#: For the driver: notifications, notes, malformed events and counts, as JSON.
REPORTED = "kind string, data string, place binary"
_FIELDS: Any = [("kind", pa.string()), ("data", pa.string()), ("place", pa.binary())]
_REPORTED = pa.schema(_FIELDS)

#: So many notifications leave at once.
ROWS = 10_000


@dataclass
class _Inbox:
    """What has come for one task."""

    parts: dict[str, list[pa.Table]] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    bad: list[tuple[str, bytes]] = field(default_factory=list)

    def take(self, stream: str, kind: str, data: bytes) -> None:
        if kind == EVENTS:
            self.parts.setdefault(stream, []).append(table_of(data))
        elif kind == READ:
            one, so_far = msgspec.json.decode(data, type=Seen), self.seen.get(stream, Seen())
            times = [time for time in (one.latest, so_far.latest) if time is not None]
            self.seen[stream] = Seen(one.total + so_far.total, max(times, default=None))
        elif kind == BAD:
            self.bad.append((stream, data))


def report(plan: Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All that a run gives back, for the driver to put together."""
    for task, inbox in _inboxes(batches):
        lines: list[tuple[str, str, bytes]] = []
        if task == 0:
            lines += [(BAD, json.dumps(asdict(bad)), b"") for _, data in inbox.bad for bad in _bad(data)]
            lines += [(READ, json.dumps([name, seen.total]), b"") for name, seen in inbox.seen.items()]
        running, found = _run(plan, plan.share_of(task), inbox)
        lines += [(MATCH, _json(notification), place) for notification, place in found]
        lines += [(NOTE, note, b"") for note in running.ledger.tell()]
        for first in range(0, len(lines), ROWS):
            columns = zip(*lines[first : first + ROWS])
            yield pa.RecordBatch.from_arrays(
                [pa.array(c, f.type) for c, f in zip(columns, _REPORTED)], schema=_REPORTED
            )


def tell(plan: Plan, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The notifications as rows, each with its place."""
    for task, inbox in _inboxes(batches):
        _warn(inbox)
        _, found = _run(plan, plan.share_of(task), inbox)
        some: list[tuple[Notification, bytes]] = []
        for one in found:
            some.append(one)
            if len(some) == ROWS:
                yield from _rows(some, schema)
                some = []
        if some:
            yield from _rows(some, schema)


def _rows(some: list[tuple[Notification, bytes]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    table = to_table(notification for notification, _ in some)
    table = table.append_column("place", pa.array([place for _, place in some], pa.binary()))
    yield from table.cast(schema).to_batches()


def _inboxes(batches: Iterable[pa.RecordBatch]) -> list[tuple[int, _Inbox]]:
    inboxes: dict[int, _Inbox] = {}
    for batch in batches:
        for task, stream, kind, data in zip(*(column.to_pylist() for column in batch.columns)):
            inboxes.setdefault(task, _Inbox()).take(stream, kind, data)
    return sorted(inboxes.items())


def _run(plan: Plan, share: Share, inbox: _Inbox) -> tuple[Running, Iterator[tuple[Notification, bytes]]]:
    checked = plan.checked(share)
    events = {name: _events(plan, name, columns, inbox) for name, columns in share.columns.items()}
    loaded = {name: one for name, (one, _) in events.items()}
    clocks = {n: seen.latest for n, seen in inbox.seen.items() if n in share.columns and seen.latest is not None}
    running = Running(checked, plan.tables)
    told = running.tell(loaded, plan.until, clocks)
    places = Places.of(loaded, {name: arrival for name, (_, arrival) in events.items()}, checked.ranks)
    return running, _placed(told, places if share.per else None)


def _events(plan: Plan, name: str, columns: tuple[str, ...], inbox: _Inbox) -> tuple[Loaded, np.ndarray]:
    """The events of a stream as they arrived, and their numbers. Nothing keeps its order on the way."""
    schema = plan.schemas[name]
    empty = pa.schema([*((n, ARROW_TYPES[schema.attributes[n]]) for n in columns), ("", pa.int64())]).empty_table()
    table = pa.concat_tables([empty, *inbox.parts.get(name, [])])
    arrival = table.column(table.num_columns - 1)
    by = pc.array_sort_indices(arrival.combine_chunks())
    table = table.take(by)
    numbers = table.column(table.num_columns - 1).to_numpy()
    return Loaded(name, schema, table.select(list(range(len(columns)))), (), table.num_rows), numbers


def _placed(told: list[Told], places: Places | None) -> Iterator[tuple[Notification, bytes]]:
    """A share that is one task has all there is to be put in order, and its own order is enough."""
    first = {id(one): one.first_places() for one in told} if places else {}
    for number, (one, i, row) in enumerate(in_their_order(told)):
        notification = one.notification(i, row)
        if places is None:
            yield notification, number.to_bytes(8, "big")
        else:
            place = int(first[id(one)][i])
            yield notification, place_of(notification, None if place < 0 else places.key(place), number)


def _warn(inbox: _Inbox) -> None:
    """A frame of notifications has no room for malformed events; the log of the task counts them."""
    bad = [one for _, data in inbox.bad for one in _bad(data)]
    for stream in dict.fromkeys(one.stream for one in bad):
        mine = [one for one in bad if one.stream == stream]
        _LOG.warning("%s: %d malformed events are set aside, one of them: %s", stream, len(mine), mine[0].reason)


def _json(notification: Notification) -> str:
    """As Python writes it, which tells 1 from 1.0 and knows infinity."""
    row: dict[str, Any] = {name: getattr(notification, name) for name in Notification.__slots__ if name != "time_type"}
    return json.dumps(row)


def _bad(data: bytes) -> list[BadEvent]:
    return msgspec.json.decode(data, type=list[BadEvent])

"""Lazy notifications: columns, of which objects are made only when they are accessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.notification import COLUMNS, Notification
from foretell.events.types import Type, format_timestamp
from foretell.notify.row_encoder import TIME_TYPES, common_time_type, encode_json

ArrowArray = Any

#: Rows that are decoded together, and rows that are encoded together as JSON lines.
CHUNK_ROWS = 4096
CHUNK_LINES = 16_384


@dataclass(eq=False)
class LazyNotifications(Sequence[Notification]):
    """Notifications in their order: exact columns (see `notify.arrow_encoder`), and the type of each subscription's
    time."""

    exact: pa.Table
    times: Mapping[str, Type]
    _decoded: tuple[int, tuple[Notification, ...]] = field(default=(-1, ()), init=False, repr=False)
    _last_index: int = field(default=-2, init=False, repr=False)

    def __len__(self) -> int:
        return self.exact.num_rows

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Notification, ...]: ...
    def __getitem__(self, index: int | slice) -> Notification | tuple[Notification, ...]:
        if isinstance(index, slice):
            first, stop, step = index.indices(len(self))
            if step == 1:
                return tuple(decode_notifications(self.exact.slice(first, max(0, stop - first)), self.times))
            return tuple(self[i] for i in range(first, stop, step))
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        chunk, place = divmod(number, CHUNK_ROWS)
        following, self._last_index = self._last_index + 1, number
        if number == following or self._decoded[0] == chunk:  # a loop over indexes will need the rest of the chunk
            return self._chunk(chunk)[place]
        (notification,) = self[number : number + 1]
        return notification

    def __iter__(self) -> Iterator[Notification]:
        for number in range(-(-len(self) // CHUNK_ROWS)):
            yield from self._chunk(number)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyNotifications | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other))

    def table(self) -> pa.Table:
        """The same as `to_table`, without objects."""
        return plain_table(self.exact, common_time_type(self.time_types()))

    def time_types(self) -> set[Type]:
        """The types of the notifications' times."""
        names: list[Any] = pc.unique(self.exact["subscription"]).to_pylist()
        return {self.times[name] for name in names}

    def lines(self) -> Iterator[bytes]:
        """The same as `to_json`, many lines at once."""
        for first in range(0, len(self), CHUNK_LINES):
            yield _lines(self.exact.slice(first, CHUNK_LINES).combine_chunks(), self.times)

    def counts(self) -> dict[tuple[str, str], int]:
        """The number of notifications by subscription and kind, in the order of the first of each."""
        names = ["subscription", "kind"]
        counted = self.exact.group_by(names, use_threads=False).aggregate([([], "count_all")])
        subscriptions, kinds, counts = (counted[name].to_pylist() for name in (*names, "count_all"))
        return {(str(s), str(k)): int(c or 0) for s, k, c in zip(subscriptions, kinds, counts, strict=True)}

    def part(self, first: int, count: int) -> LazyNotifications:
        """Some of the notifications, without decoding any."""
        return LazyNotifications(self.exact.slice(first, count), self.times)

    def of(self, subscriptions: Sequence[str]) -> LazyNotifications:
        """The notifications of some subscriptions."""
        wanted: Any = pc.is_in(self.exact["subscription"], pa.array(subscriptions, pa.string()))
        return LazyNotifications(self.exact.filter(wanted), self.times)

    def _chunk(self, number: int) -> tuple[Notification, ...]:
        decoded, notifications = self._decoded
        if decoded != number:
            notifications = tuple(decode_notifications(self.exact.slice(number * CHUNK_ROWS, CHUNK_ROWS), self.times))
            self._decoded = number, notifications
        return notifications


class NotificationValues(NamedTuple):
    """Columns of notifications as Python values, in the order of COLUMNS."""

    subscription: Sequence[Any]
    kind: Sequence[Any]
    key: Sequence[Any]
    start: Sequence[Any]
    end: Sequence[Any]
    probability: Sequence[Any]
    horizon: Sequence[Any]
    id: Sequence[Any]
    bindings: Sequence[Any]
    events: Sequence[Any]

    @classmethod
    def of(cls, notifications: Sequence[Notification]) -> NotificationValues:
        """Decoding columns is much quicker than making objects of them."""
        if isinstance(notifications, LazyNotifications):
            return cls.decoded(notifications.exact)
        return cls(*([getattr(notification, name) for notification in notifications] for name in COLUMNS))

    @classmethod
    def decoded(cls, exact: pa.Table) -> NotificationValues:
        nested = ("key", "id", "bindings", "events")
        return cls(*(_values(exact[name]) if name in nested else exact[name].to_pylist() for name in COLUMNS))


def decode_notifications(table: pa.Table, times: Mapping[str, Type]) -> Iterator[Notification]:
    """The notifications in exact columns; `times` has the type of each subscription's time."""
    values = NotificationValues.decoded(table)
    time_types = [times[name] for name in values.subscription]
    yield from map(Notification, *values, time_types)


def plain_table(exact: pa.Table, time: Type) -> pa.Table:
    """Exact columns as `row_encoder.to_table` has them; `time` is the common type of all times."""
    columns: dict[str, ArrowArray] = {name: exact[name] for name in COLUMNS}
    columns |= {name: columns[name].cast(TIME_TYPES[time]) for name in ("start", "end")}
    columns |= {name: _without_infinities(columns[name]) for name in ("key", "bindings", "events")}
    columns["id"] = _map_distinct(columns["id"], _unquoted)
    return pa.table(columns)


def _lines(exact: pa.Table, times: Mapping[str, Type]) -> bytes:
    columns: dict[str, ArrowArray] = {name: exact[name] for name in COLUMNS}
    with_timestamps = [name for name, kind in times.items() if kind is Type.TIMESTAMP]
    is_timestamp = pc.is_in(columns["subscription"], pa.array(with_timestamps, pa.string()))
    texts = {name: _map_distinct(columns[name], encode_json) for name in ("subscription", "kind", "horizon")}
    texts |= {name: _without_infinities(columns[name]) for name in ("key", "id", "bindings", "events")}
    for name in ("start", "end"):
        texts[name] = _map_distinct(columns[name], encode_json)
        if with_timestamps:
            micros = pc.if_else(is_timestamp, columns[name], pa.scalar(None, columns[name].type))
            texts[name] = pc.coalesce(_map_distinct(micros, lambda time: f'"{format_timestamp(time)}"'), texts[name])
    texts["probability"] = _map_distinct(columns["probability"], encode_json)
    parts: list[Any] = []
    for place, name in enumerate(COLUMNS):
        parts += [f"{',' if place else '{'}{encode_json(name)}:", texts[name]]
    joined: Any = pc.binary_join_element_wise(*parts, "}\n", "", null_handling="replace", null_replacement="null")
    return b"".join(map(_bytes_of, joined.chunks))


def _bytes_of(texts: ArrowArray) -> bytes:
    """All texts, concatenated, straight from their buffer."""
    _, offsets, data = texts.buffers()
    bounds = memoryview(offsets).cast("i")
    return bytes(memoryview(data)[bounds[texts.offset] : bounds[texts.offset + len(texts)]])


def _without_infinities(texts: ArrowArray) -> ArrowArray:
    """JSON texts with null for Infinity, which JSON does not have."""
    infinite = pc.match_substring(texts, "Infinity")
    if not pc.any(infinite).as_py():
        return texts
    affected = pc.if_else(infinite, texts, pa.scalar(None, pa.string()))
    return pc.coalesce(_map_distinct(affected, lambda text: encode_json(json.loads(text))), texts)


def _unquoted(text: str) -> str:
    value = json.loads(text)
    return value if isinstance(value, str) else encode_json(value)


def map_distinct(values: ArrowArray, text: Callable[[Any], str | None]) -> ArrowArray:
    """Map values to texts, calling `text` once for each distinct value; NULL stays NULL."""
    coded = values.dictionary_encode()
    texts = [None if value is None else text(value) for value in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _map_distinct(values: ArrowArray, text: Callable[[Any], str | None]) -> ArrowArray:
    return pa.chunked_array([map_distinct(chunk, text) for chunk in values.chunks], pa.string())


def _values(column: ArrowArray) -> Sequence[Any]:
    """The values of JSON texts, parsed at once as one array."""
    texts: Iterable[str] = ("null" if text is None else text for text in column.to_pylist())
    values: list[Any] = json.loads(f"[{','.join(texts)}]")
    return values

"""Many notifications as columns: each is an object only while somebody looks at it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.notification import COLUMNS, Notification
from foretell.events.types import Type, format_timestamp
from foretell.notify.row_encoder import TIME_TYPES, common_time_type, encode_json

ArrowArray = Any

#: So many are read back together, and so many are written.
CHUNK_ROWS = 4096
_LINES = 16_384


@dataclass(eq=False)
class LazyNotifications(Sequence[Notification]):
    """Notifications in their order: exact columns (see `notify.columns`), and the type of each subscription's time."""

    exact: pa.Table
    times: Mapping[str, Type]
    _last: tuple[int, tuple[Notification, ...]] = field(default=(-1, ()), init=False, repr=False)
    _looked: int = field(default=-2, init=False, repr=False)

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
        after, self._looked = self._looked + 1, number
        if number == after or self._last[0] == chunk:  # who goes from one to the next will want more
            return self._chunk(chunk)[place]
        (found,) = self[number : number + 1]
        return found

    def __iter__(self) -> Iterator[Notification]:
        for number in range(-(-len(self) // CHUNK_ROWS)):
            yield from self._chunk(number)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyNotifications | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(one == another for one, another in zip(self, other))

    def table(self) -> pa.Table:
        """As `to_table` of all of them."""
        names: list[Any] = pc.unique(self.exact["subscription"]).to_pylist()
        return plain_table(self.exact, common_time_type({self.times[name] for name in names}))

    def lines(self) -> Iterator[bytes]:
        """As `to_json` of all of them, many lines together."""
        for first in range(0, len(self), _LINES):
            yield _lines(self.exact.slice(first, _LINES).combine_chunks(), self.times)

    def _chunk(self, number: int) -> tuple[Notification, ...]:
        known, found = self._last
        if known != number:
            found = tuple(decode_notifications(self.exact.slice(number * CHUNK_ROWS, CHUNK_ROWS), self.times))
            self._last = number, found
        return found


def decode_notifications(table: pa.Table, times: Mapping[str, Type]) -> Iterator[Notification]:
    """The notifications that exact columns tell; `times` has the type of each subscription's time."""
    key, row, bindings, events = (_values(table[name]) for name in ("key", "id", "bindings", "events"))
    plain = (table[name].to_pylist() for name in ("subscription", "kind", "start", "end", "probability", "horizon"))
    for i, (name, kind, start, end, chance, horizon) in enumerate(zip(*plain)):
        yield Notification(name, kind, key[i], start, end, chance, horizon, row[i], bindings[i], events[i], times[name])


def plain_table(exact: pa.Table, time: Type) -> pa.Table:
    """Exact columns as `rows.to_table` has them; `time` is the type that all times have in common."""
    columns: dict[str, ArrowArray] = {name: exact[name] for name in COLUMNS}
    columns |= {name: columns[name].cast(TIME_TYPES[time]) for name in ("start", "end")}
    columns |= {name: _without_infinities(columns[name]) for name in ("key", "bindings", "events")}
    columns["id"] = _map_distinct(columns["id"], _unquoted)
    return pa.table(columns)


def _lines(exact: pa.Table, times: Mapping[str, Type]) -> bytes:
    columns: dict[str, ArrowArray] = {name: exact[name] for name in COLUMNS}
    moments = [name for name, kind in times.items() if kind is Type.TIMESTAMP]
    is_moment = pc.is_in(columns["subscription"], pa.array(moments, pa.string()))
    texts = {name: _map_distinct(columns[name], encode_json) for name in ("subscription", "kind", "horizon")}
    texts |= {name: _without_infinities(columns[name]) for name in ("key", "id", "bindings", "events")}
    for name in ("start", "end"):
        texts[name] = _map_distinct(columns[name], encode_json)
        if moments:
            moment = pc.if_else(is_moment, columns[name], pa.scalar(None, columns[name].type))
            texts[name] = pc.coalesce(_map_distinct(moment, lambda time: f'"{format_timestamp(time)}"'), texts[name])
    texts["probability"] = _map_distinct(columns["probability"], encode_json)
    parts: list[Any] = []
    for place, name in enumerate(COLUMNS):
        parts += [f"{',' if place else '{'}{encode_json(name)}:", texts[name]]
    joined: Any = pc.binary_join_element_wise(*parts, "}\n", "", null_handling="replace", null_replacement="null")
    return b"".join(map(_bytes_of, joined.chunks))


def _bytes_of(texts: ArrowArray) -> bytes:
    """All texts, one after the other, as they lie in memory."""
    _, offsets, data = texts.buffers()
    bounds = memoryview(offsets).cast("i")
    return bytes(memoryview(data)[bounds[texts.offset] : bounds[texts.offset + len(texts)]])


def _without_infinities(texts: ArrowArray) -> ArrowArray:
    """JSON has none: they are null there."""
    found = pc.match_substring(texts, "Infinity")
    if not pc.any(found).as_py():
        return texts
    some = pc.if_else(found, texts, pa.scalar(None, pa.string()))
    return pc.coalesce(_map_distinct(some, lambda text: encode_json(json.loads(text))), texts)


def _unquoted(text: str) -> str:
    value = json.loads(text)
    return value if isinstance(value, str) else encode_json(value)


def map_distinct(values: ArrowArray, text: Callable[[Any], str | None]) -> ArrowArray:
    """The text of each, made once for every value that there is; NULL stays NULL."""
    coded = values.dictionary_encode()
    known = [None if value is None else text(value) for value in coded.dictionary.to_pylist()]
    return pa.array(known, pa.string()).take(coded.indices)


def _map_distinct(values: ArrowArray, text: Callable[[Any], str | None]) -> ArrowArray:
    return pa.chunked_array([map_distinct(chunk, text) for chunk in values.chunks], pa.string())


def _values(column: ArrowArray) -> Sequence[Any]:
    """What JSON texts hold: all of them as one array."""
    texts: Iterable[str] = ("null" if text is None else text for text in column.to_pylist())
    found: list[Any] = json.loads(f"[{','.join(texts)}]")
    return found

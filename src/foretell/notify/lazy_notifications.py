"""Lazy notifications: typed columns, of which objects and JSON are made only when they are wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, take_rows
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.notification import COLUMNS, ESTIMATE, Notification
from foretell.events.types import Type, format_timestamp
from foretell.notify.estimate_columns import estimate_objects
from foretell.notify.json_columns import line_texts, text_table
from foretell.notify.notification_batch import NotificationBatch
from foretell.notify.row_encoder import common_time_type, to_json, to_table
from foretell.records import record

#: Rows that are decoded together, and rows that are encoded together as JSON lines.
CHUNK_ROWS = 4096
CHUNK_LINES = 65_536

#: Notifications of one batch that follow one another, on average, from which on it is quicker to leave them in place.
LONG_RUN = 64


class BatchPlaces(NamedTuple):
    """Of each notification its batch and its row there; the rows of a batch ascend."""

    batch: NDArray[np.int32]
    row: Ints


@record
class NotificationChunk:
    """Consecutive notifications: those of one batch, or of several that are interleaved."""

    batches: Sequence[NotificationBatch]
    places: BatchPlaces | None = None

    def __len__(self) -> int:
        return len(self.batches[0]) if self.places is None else len(self.places.batch)

    def slice(self, first: int, count: int) -> NotificationChunk:
        if self.places is None:
            return NotificationChunk([self.batches[0].slice(first, count)])
        batch = self.places.batch[first : first + count]
        row = self.places.row[first : first + count]
        batches, rows = list(self.batches), row.copy()
        for number in range(len(batches)):
            own = np.flatnonzero(batch == number)
            begin = int(row[own[0]]) if len(own) else 0
            batches[number] = batches[number].slice(begin, int(row[own[-1]]) + 1 - begin if len(own) else 0)
            rows[own] -= begin
        return NotificationChunk(batches, BatchPlaces(batch, rows))

    def expanded(self) -> Iterator[NotificationChunk]:
        """The same notifications, one in each row of the columns, a limited number at once."""
        if self.places is not None or self.batches[0].rows is None:
            yield self
            return
        for first in range(0, len(self), CHUNK_LINES):
            part = self.batches[0].slice(first, min(CHUNK_LINES, len(self) - first))
            yield NotificationChunk([part.expanded()])

    def only(self, is_wanted: Callable[[NotificationBatch], bool]) -> NotificationChunk | None:
        """The notifications of some batches; None where there are none."""
        if self.places is None:
            return self if is_wanted(self.batches[0]) else None
        wanted = [number for number, batch in enumerate(self.batches) if is_wanted(batch)]
        numbers = np.full(len(self.batches), -1, np.int32)
        numbers[wanted] = np.arange(len(wanted))
        kept = numbers[self.places.batch] >= 0
        if not kept.any():
            return None
        batch, row = numbers[self.places.batch[kept]], self.places.row[kept]
        return NotificationChunk([self.batches[number] for number in wanted], BatchPlaces(batch, row))

    @cached_property
    def rows(self) -> ArrowArray:
        """The row of each notification among those of all batches, one batch after the other."""
        assert self.places is not None
        first = np.cumsum([0, *map(len, self.batches)])
        return arrow_of(first[self.places.batch] + self.places.row)


@dataclass(eq=False)
class LazyNotifications(Sequence[Notification]):
    """Notifications in their order."""

    chunks: Sequence[NotificationChunk]
    _decoded: tuple[int, tuple[Notification, ...]] = field(default=(-1, ()), init=False, repr=False)
    _last_index: int = field(default=-2, init=False, repr=False)

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum([len(chunk) for chunk in self.chunks])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Notification, ...]: ...
    def __getitem__(self, index: int | slice) -> Notification | tuple[Notification, ...]:
        if isinstance(index, slice):
            first, stop, step = index.indices(len(self))
            if step == 1:
                return tuple(self.part(first, max(0, stop - first)).decode())
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

    @property
    def nbytes(self) -> int:
        return sum(batch.nbytes for chunk in self.chunks for batch in chunk.batches)

    def part(self, first: int, count: int) -> LazyNotifications:
        """Some of the notifications, without decoding any."""
        chunks, begin = [], 0
        for chunk, end in zip(self.chunks, self._ends.tolist(), strict=True):
            low, high = max(first, begin), min(first + count, end)
            if low < high:
                chunks.append(chunk.slice(low - begin, high - low))
            begin = end
        return LazyNotifications(chunks)

    def of(self, subscriptions: Sequence[str]) -> LazyNotifications:
        """The notifications of some subscriptions."""
        return self._only(lambda batch: batch.shape.name in subscriptions)

    def first(self, subscription: str, kind: str, count: int) -> tuple[Notification, ...]:
        """The first notifications of a subscription and kind."""
        return self._only(lambda batch: (batch.shape.name, batch.kind) == (subscription, kind))[:count]

    def _only(self, is_wanted: Callable[[NotificationBatch], bool]) -> LazyNotifications:
        kept = (chunk.only(is_wanted) for chunk in self.chunks)
        return LazyNotifications([chunk for chunk in kept if chunk is not None])

    def counts(self) -> dict[tuple[str, str], int]:
        """The number of notifications by subscription and kind, in the order of the first of each."""
        counts: dict[tuple[str, str], int] = {}
        for chunk in self.chunks:
            for number, batch in _by_first(chunk):
                name = batch.shape.name, batch.kind
                counts[name] = counts.get(name, 0) + number
        return counts

    def time_types(self) -> set[Type]:
        """The types of the notifications' times."""
        return {batch.shape.time for chunk in self.chunks for batch in chunk.batches if len(batch)}

    # ── other forms ──

    def decode(self) -> Iterator[Notification]:
        """Objects of all notifications."""
        for chunk in self.chunks:
            decoded = [_decode(batch.expanded()) for batch in chunk.batches]
            if chunk.places is None:
                yield from decoded[0]
            else:
                for batch, row in zip(chunk.places.batch.tolist(), chunk.places.row.tolist(), strict=True):
                    yield decoded[batch][row]

    def table(self, *, estimates: bool = False) -> pa.Table:
        """The same as `to_table`, without objects."""
        if not len(self):
            return to_table((), estimates=estimates)
        time = common_time_type(self.time_types())
        return pa.concat_tables(self.tables(lambda batch: text_table(batch, time, estimates=estimates)))

    def tables(self, of: Callable[[NotificationBatch], pa.Table]) -> Iterator[pa.Table]:
        """The tables that a function makes of batches, in the order of the notifications."""
        for chunk in chain.from_iterable(chunk.expanded() for chunk in self.chunks):
            whole = _as_one(chunk)
            yield of(whole) if whole is not None else _interleaved(chunk, [of(batch) for batch in chunk.batches])

    def lines(self) -> Iterator[bytes]:
        """The same as `to_json`, many lines at once."""
        for first in range(0, len(self), CHUNK_LINES):
            for chunk in self.part(first, CHUNK_LINES).chunks:
                yield from _lines(chunk)

    def _chunk(self, number: int) -> tuple[Notification, ...]:
        decoded, notifications = self._decoded
        if decoded != number:
            notifications = tuple(self.part(number * CHUNK_ROWS, CHUNK_ROWS).decode())
            self._decoded = number, notifications
        return notifications


def joined(parts: Iterable[LazyNotifications]) -> LazyNotifications:
    """Notifications one after the other."""
    return LazyNotifications([chunk for part in parts for chunk in part.chunks])


def _by_first(chunk: NotificationChunk) -> Iterator[tuple[int, NotificationBatch]]:
    """The number of notifications of each batch, by the first of them."""
    if chunk.places is None:
        yield len(chunk), chunk.batches[0]
        return
    present, first, count = np.unique(chunk.places.batch, return_index=True, return_counts=True)
    for at in np.argsort(first).tolist():
        yield int(count[at]), chunk.batches[present[at]]


def _as_one(chunk: NotificationChunk) -> NotificationBatch | None:
    """One batch of all, where they are of one shape: its columns are fewer to put in order than those of a table."""
    batch = chunk.batches[0]
    if chunk.places is None:
        return batch
    if not all(batch.is_like(other) for other in chunk.batches[1:]):
        return None
    table = take_rows(pa.Table.from_batches([each.columns for each in chunk.batches]), chunk.rows)
    return replace(batch, columns=table.combine_chunks().to_batches()[0])


def _interleaved(chunk: NotificationChunk, tables: Sequence[pa.Table]) -> pa.Table:
    assert chunk.places is not None
    batch, row = chunk.places
    ends = np.append(np.flatnonzero(batch[1:] != batch[:-1]) + 1, len(batch))
    if LONG_RUN * len(ends) > len(batch):
        return take_rows(pa.concat_tables(tables), chunk.rows)
    starts = np.append(0, ends[:-1])
    runs = zip(batch[starts].tolist(), row[starts].tolist(), (ends - starts).tolist(), strict=True)
    return pa.concat_tables([tables[number].slice(first, count) for number, first, count in runs])


# ── JSON lines ──


def _lines(chunk: NotificationChunk) -> Iterator[bytes]:
    try:
        texts = [line_texts(batch.expanded()) for batch in chunk.batches]
        whole = texts[0] if chunk.places is None else pa.concat_arrays(texts).take(chunk.rows)
        yield _joined_lines(whole)
    except pa.ArrowCapacityError:  # longer than the texts of a column may be
        half = len(chunk) // 2
        if not half:
            yield from map(to_json, LazyNotifications([chunk]).decode())
            return
        yield from _lines(chunk.slice(0, half))
        yield from _lines(chunk.slice(half, len(chunk) - half))


def _joined_lines(texts: ArrowArray) -> bytes:
    """Lines of texts."""
    every = pa.ListArray.from_arrays(arrow_of(np.array([0, len(texts)], np.int32)), texts)
    lines: Any = pc.binary_join(every, "\n")
    return bytes(lines[0].as_buffer()) + b"\n"


# ── objects ──


def _decode(batch: NotificationBatch) -> list[Notification]:
    columns = [_values(batch, name) for name in COLUMNS]
    details = batch.column(ESTIMATE)
    estimates = [None] * len(batch) if details is None else estimate_objects(details)
    return list(map(Notification, *columns, [batch.shape.time] * len(batch), estimates))


def _values(batch: NotificationBatch, name: str) -> Iterable[Any]:
    """The values of a column as notifications have them."""
    column = batch.column(name)
    if column is None:
        return _absent_values(batch, name)
    if name in ("start", "end"):
        return _micros(column)
    return _objects(column) if pa.types.is_struct(column.type) else scalars(column)


def _absent_values(batch: NotificationBatch, name: str) -> Iterable[Any]:
    if name in ("bindings", "events"):
        return ({} for _ in range(len(batch)))
    same = {"subscription": batch.shape.name, "kind": batch.kind, "horizon": batch.horizon, "probability": 1.0}
    return [same.get(name)] * len(batch)


def _objects(column: ArrowArray) -> Iterator[dict[str, Any]]:
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    for values in zip(*(scalars(part) for part in column.flatten()), strict=True):
        yield dict(zip(names, values, strict=True))


def _micros(column: ArrowArray) -> list[Any]:
    values: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def scalars(column: ArrowArray) -> list[Any]:
    """Values as notifications show them: a timestamp is a text."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [None if micros is None else format_timestamp(micros) for micros in _micros(column)]
    values: list[Any] = column.to_pylist()
    if pa.types.is_binary(kind):
        return [None if text is None else json.loads(text) for text in values]
    if pa.types.is_list(kind) and pa.types.is_binary(kind.value_type):
        return [None if names is None else [json.loads(text) for text in names] for names in values]
    return values

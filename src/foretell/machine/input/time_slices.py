"""Long batches in slices by time: their columns stay in the cache, and a caller sees the progress."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.arrow_interop import arrow_of, numpy_of, take_rows
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Type

Batches = Mapping[str, EventBatch]

#: The first slice of a runtime, how many times as large the next may be, and the most matches that it should have.
FIRST_SLICE, GROWTH, SLICE_MATCHES = 64, 64, 2_000_000

#: The bytes of an engine's memory for each match that a slice should have at most.
MATCH_ROOM = 1024

#: The time that a slice should take, so that its progress is seen.
SLICE_SECONDS = 1.0


class TimePassed(NamedTuple):
    """The time that all statements reach, the times that streams reach, and whether no more events come."""

    until: int | float | None
    clocks: Mapping[str, int | float]
    ends: bool


NO_TIME = TimePassed(None, {}, False)


def events_in(batches: Batches) -> int:
    """The number of events of all streams."""
    count = 0
    for batch in batches.values():
        count += batch.table.num_rows
    return count


class SliceSize:
    """How many events the `next` slice has: `most`, or fewer where they bring so many matches that their memory counts,
    or take long. `memory` is that of the engine.

    `a ; b ; c` without WITHIN has as many matches as there are triples of events, so that an event brings the more the
    more there were before it: the number of matches of the next slice is guessed by the square of the events so far.
    """

    def __init__(self, most: int, memory: int | None = None) -> None:
        self._most, self._events = most, 0
        self._matches = SLICE_MATCHES if memory is None else min(SLICE_MATCHES, memory // MATCH_ROOM)
        self.next = min(most, FIRST_SLICE)

    def adapt(self, events: int, matches: int, seconds: float = 0.0, partial: int | None = None) -> None:
        """A slice of so many events had so many matches, took so long, and left so many partial matches."""
        self._events += events
        if not events or (not matches and events < min(self.next, FIRST_SLICE)):
            return  # so few events tell nothing
        rare = matches == 0 and partial is not None and 8 * partial < events
        size = self._most if rare else min(self._most, max(events, self.next) * GROWTH)
        if seconds < SLICE_SECONDS / 10:
            seconds = 0.0  # mostly the fixed cost of a slice, which a longer one has once
        while size > 1 and self._too_large(size, matches / events, seconds / events):
            size //= 2
        self.next = min(self._most, size)

    def _too_large(self, size: int, matches: float, seconds: float) -> bool:
        more = ((self._events + size) / self._events) ** 2
        return matches * size * more > self._matches or seconds * size > SLICE_SECONDS


_NO_TIMES = np.zeros(0)


class TimeSlices:
    """Batches of all streams, which are taken in slices, each later than the one before.

    Events of one instant stay together unless they come from one stream without a tie-breaker, whose order of arrival
    is their order, and are more than a slice. `needed` has the attributes of each stream that statements read.
    """

    def __init__(self, batches: Batches, needed: Mapping[str, Set[str]]) -> None:
        self.count = events_in(batches)
        self.done = 0
        self._batches, self._needed = dict(batches), needed
        self._times: dict[str, NDArray[Any]] = {}  # of each stream, in order, and of all, as soon as they are needed
        self._all: NDArray[Any] = _NO_TIMES
        self._first = dict.fromkeys(batches, 0)

    @property
    def _divisible(self) -> bool:
        kinds = {batch.schema.time_type for batch in self._batches.values()}
        return not (Type.TIMESTAMP in kinds and len(kinds) > 1)

    @property
    def remaining(self) -> int:
        return self.count - self.done

    @property
    def next_time(self) -> int | float:
        """No event that remains is before this time."""
        if not self.remaining:
            return math.inf
        time: int | float = self._all[self.done].item()
        # Times of streams with whole numbers and of others are rounded where they are compared.
        return math.nextafter(time, -math.inf) if len({times.dtype for times in self._times.values()}) > 1 else time

    def take(self, size: int) -> Batches:
        """The next slice, of about `size` events."""
        if not self.done and (self.remaining <= size or not self._divisible):
            self.done = self.count
            return self._batches
        if not self._times:
            self._order()
        stop = {name: len(column) for name, column in self._times.items()}
        if size < self.remaining:
            edge = self._all[self.done + size]
            if edge == self._all[self.done] and not self._by_arrival:
                after = np.searchsorted(self._all, edge, side="right")
                edge = self._all[after] if after < self.count else None
            if edge is not None and edge != self._all[self.done]:
                stop = {name: int(np.searchsorted(column, edge, side="left")) for name, column in self._times.items()}
            elif edge is not None:
                stop = dict.fromkeys(stop, self.done + size)
        part = {name: _rows(batch, self._first[name], stop[name]) for name, batch in self._batches.items()}
        self._first, self.done = stop, sum(stop.values())
        return part

    def _order(self) -> None:
        times = {name: _times(batch) for name, batch in self._batches.items()}
        (*others, batch) = self._batches.values()
        # Within an instant, a stream without a tie-breaker may be divided.
        self._by_arrival = not others and batch.schema.order is None and _ascend(times[batch.stream])
        for name, batch in self._batches.items():
            needed = self._needed.get(name, frozenset())
            self._batches[name], self._times[name] = _in_order(batch, times[name], needed)
        self._all = np.sort(np.concatenate(list(self._times.values()))) if others else self._times[batch.stream]


def _times(batch: EventBatch) -> NDArray[Any]:
    assert batch.schema.time is not None
    column: Any = batch.table[batch.schema.time]
    return numpy_of(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)


def _ascend(times: NDArray[Any]) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def _rows(batch: EventBatch, first: int, stop: int) -> EventBatch:
    rows = replace(batch, table=batch.table.slice(first, stop - first))
    rows.known.add_rows_of(batch.known, first, stop)
    return rows


def _in_order(batch: EventBatch, times: NDArray[Any], needed: Set[str]) -> tuple[EventBatch, NDArray[Any]]:
    """The events of a stream in the order of time, with the columns that are needed."""
    if _ascend(times):
        return batch, times
    schema = batch.schema
    roles = {schema.time, schema.id, schema.order}
    columns = [name for name in batch.table.column_names if name in needed or name in roles]
    by = np.argsort(times, kind="stable")
    return replace(batch, table=take_rows(batch.table.select(columns), arrow_of(by))), times[by]

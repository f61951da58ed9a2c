"""The event buffer: the events that matches may still refer to, by their position in the merged stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, concatenate_columns, may_be_null, no_nulls, null_column
from foretell.filter.predicates import EventColumns
from foretell.machine.input.event_order import deepened
from foretell.machine.kernels.run_checks import HeldEvents
from foretell.records import record

#: About what the ID of an event takes, as a Python object.
_NAME_BYTES = 64

#: So many segments of short batches wait until they are merged all at once; a batch of this length does not wait.
_MOST_SEGMENTS, _LONG_SEGMENT = 24, 1024


@record
class EventSegment:
    """Events by ascending position: consecutive ones from `base` on, unless `positions` says where each is.

    `number` is an event's number in its lane, `order` its place in the order of all events (see `event_order`);
    `name` is None if no stream has an ID.
    """

    base: int
    events: EventColumns
    lane: Ints
    number: Ints
    name: NDArray[np.object_] | None
    order: Ints
    positions: Ints | None = None

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def nbytes(self) -> int:
        """The memory of all columns; a name is about the size of a string."""
        events = self.events
        columns = {id(c): c for c in (*events.attributes.values(), events.time, events.start, events.stream)}
        values = sum(column.values.nbytes + column.nulls.nbytes for column in columns.values())
        names = 0 if self.name is None else _NAME_BYTES * len(self)
        return values + names + self.lane.nbytes + self.number.nbytes + self.order.nbytes

    @property
    def end(self) -> int:
        """The position after the last event."""
        return self.base + len(self) if self.positions is None else int(self.positions[-1]) + 1

    def rows(self, positions: Ints) -> Ints:
        """The rows of the events at these positions."""
        return positions - self.base if self.positions is None else np.searchsorted(self.positions, positions)

    def positions_of(self, rows: Ints) -> Ints:
        """The positions of the events in these rows; behind the last row that after the last event."""
        return rows + self.base if self.positions is None else np.append(self.positions, self.end)[rows]

    def only(self, positions: Ints) -> EventSegment:
        """The events at these positions, which must be in the segment and ascend."""
        at = self.rows(positions)
        return EventSegment(
            base=int(positions[0]),
            events=_map_columns(self.events, lambda c: Column(c.kind, c.values[at], _taken_nulls(c.nulls, at))),
            lane=self.lane[at],
            number=self.number[at],
            name=None if self.name is None else self.name[at],
            order=self.order[at],
            positions=positions,
        )

    def since(self, position: int) -> EventSegment:
        """Drops the events before a position. A small rest is copied, so that the large arrays can be freed."""
        if position <= self.base:
            return self
        cut = int(self.rows(np.array(position)))
        left = len(self) - cut

        def rest(array: NDArray[Any]) -> NDArray[Any]:
            return array[cut:].copy() if left < cut else array[cut:]

        positions = rest(self.positions) if self.positions is not None and left else None
        return EventSegment(
            base=position if positions is None else int(positions[0]),
            events=_map_columns(self.events, lambda c: Column(c.kind, rest(c.values), _remaining_nulls(c.nulls, cut))),
            lane=rest(self.lane),
            number=rest(self.number),
            name=None if self.name is None else rest(self.name),
            order=rest(self.order),
            positions=positions,
        )


@record
class EventBuffer:
    """Segments in order. A batch stays one segment: it is long, and most of it is soon dropped."""

    segments: tuple[EventSegment, ...] = field(default=())

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

    @property
    def nbytes(self) -> int:
        """The memory of all segments."""
        return sum(segment.nbytes for segment in self.segments)

    @property
    def base(self) -> int:
        return self.segments[0].base

    @property
    def positions(self) -> Ints:
        """The positions of all events."""
        return np.concatenate([_positions(segment) for segment in self.segments])

    def extended(self, segment: EventSegment) -> EventBuffer:
        """Adds a segment. Short ones before it are merged now and then: many small batches become few segments."""
        older = self.segments
        if older:
            last = len(older[-1].lane)
            if not last:  # no other is empty
                older = older[:-1]
            if len(older) >= _MOST_SEGMENTS or (older and last >= _LONG_SEGMENT):
                older = _merged(older)
        return EventBuffer((*older, segment))

    def since(self, position: int) -> EventBuffer:
        """Drops the events before a position."""
        kept = [segment.since(min(position, segment.end)) for segment in self.segments if segment.end > position]
        return EventBuffer(tuple(kept) or (self.segments[-1].since(self.segments[-1].end),))

    def only(self, positions: Ints) -> EventBuffer:
        """The events at these positions, which must ascend."""
        kept = []
        for segment in self.segments:
            inside = positions[np.searchsorted(positions, segment.base) : np.searchsorted(positions, segment.end)]
            if len(inside):
                kept.append(segment.only(inside))
        return EventBuffer(tuple(kept)) if kept else self.since(self.segments[-1].end)

    @cached_property
    def whole(self) -> EventSegment:
        """All segments as one, to search between the events of a match."""
        return _joined(self.segments)

    @property
    def held(self) -> HeldEvents:
        """The positions of the events, for the checks of a snapshot, which has at most one segment."""
        nothing, no_flags = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        if not self.segments:
            return HeldEvents(0, 0, no_flags, nothing)
        (segment,) = self.segments
        span = segment.end - segment.base
        if segment.positions is None:
            return HeldEvents(segment.base, segment.end, no_flags, nothing)
        if span > 64 * len(segment):
            return HeldEvents(segment.base, segment.end, no_flags, segment.positions)
        flags = np.zeros(span, np.bool_)
        flags[segment.positions - segment.base] = True
        return HeldEvents(segment.base, segment.end, flags, nothing)

    # ── values at positions ──

    def values(self, of: Callable[[EventSegment], NDArray[Any]], positions: Ints) -> NDArray[Any]:
        """The values of a column at these positions; `of` gets the column of a segment."""
        last = self.segments[-1]
        if len(self.segments) == 1 or not len(positions) or positions.min() >= last.base:
            return of(last).take(last.rows(positions), axis=0)  # in half the time of indexing
        if not len(last):
            return EventBuffer(self.segments[:-1]).values(of, positions)
        # Most positions are in the last segment: look all up there, then correct the earlier ones.
        values = of(last).take(last.rows(positions), axis=0, mode="clip")
        earlier = (positions < last.base).nonzero()[0]
        older, sought = self.segments[:-1], positions[earlier]
        if len(older) > 1:
            older = older[: bisect_right([segment.base for segment in older], sought.max())]
        values[earlier] = EventBuffer(older).values(of, sought)
        return values

    def times(self, positions: Ints) -> NDArray[Any]:
        return self.values(lambda segment: segment.events.time.values, positions)

    def starts(self, positions: Ints) -> NDArray[Any]:
        return self.values(lambda segment: segment.events.start.values, positions)

    def order(self, positions: Ints) -> Ints:
        depth = max(segment.order.shape[1] for segment in self.segments)
        if depth == 1:  # taking numbers is ten times as fast as taking rows
            return self.values(lambda segment: segment.order[:, 0], positions).reshape(-1, 1)
        return self.values(lambda segment: deepened(segment.order, depth), positions)

    def gather(self, of: Callable[[EventColumns], Column | None], positions: Ints) -> Column | None:
        """A column at these positions, NULL at negative ones; None if no event has the column."""
        kind = next((c.kind for c in (of(segment.events) for segment in self.segments) if c is not None), None)
        if kind is None:
            return None
        absent = positions < 0

        def column(segment: EventSegment) -> Column:
            return of(segment.events) or null_column(kind, len(segment))

        if not len(self) or absent.all():
            return null_column(kind, len(positions))
        at = np.where(absent, self.segments[-1].end - 1, positions) if absent.any() else positions
        values = self.values(lambda segment: column(segment).values, at)
        if not absent.any() and not any(may_be_null(column(segment).nulls) for segment in self.segments):
            return Column(kind, values, no_nulls(len(positions)))
        return Column(kind, values, self.values(lambda segment: column(segment).nulls, at) | absent)

    def names(self, positions: Ints) -> list[Any]:
        """The names of events: their ID, or else their number in the lane."""
        numbers: list[Any] = self.values(lambda segment: segment.number, positions).tolist()
        if all(segment.name is None for segment in self.segments):
            return numbers
        names = self.values(_names, positions).tolist()
        return [number if name is None else name for name, number in zip(names, numbers, strict=True)]

    # ── instants ──

    def instant_of(self, positions: Ints, simultaneous: bool) -> Ints:
        """The position at which the instant of each event begins: earlier events lie before it."""
        if not simultaneous:
            return positions
        return self._instant(positions, "left")

    def instant_after(self, positions: Ints, simultaneous: bool) -> Ints:
        """The position from which on events follow each event."""
        if not simultaneous:
            return positions + 1
        return self._instant(positions, "right")

    def _instant(self, positions: Ints, side: Literal["left", "right"]) -> Ints:
        times = self.whole.events.time.values
        return self.whole.positions_of(np.searchsorted(times, times[self.whole.rows(positions)], side=side))


def _names(segment: EventSegment) -> NDArray[np.object_]:
    return segment.name if segment.name is not None else np.full(len(segment), None, object)


def _merged(segments: tuple[EventSegment, ...]) -> tuple[EventSegment, ...]:
    """The segments with the last ones as one, so that each has at least twice the length of the next."""
    lengths = [len(segment.lane) for segment in segments]
    first, length = len(segments) - 1, lengths[-1]
    while first and lengths[first - 1] < 2 * length:
        first -= 1
        length += lengths[first]
    return (*segments[:first], _joined(segments[first:]))


def _joined(segments: Sequence[EventSegment]) -> EventSegment:
    if len(segments) == 1:
        return segments[0]
    orders = [segment.order for segment in segments]
    depth = max([order.shape[1] for order in orders])
    if depth > 1:
        orders = [deepened(order, depth) for order in orders]
    consecutive = all(segment.positions is None for segment in segments)
    consecutive = consecutive and all(first.end == second.base for first, second in pairwise(segments))
    unnamed = all(segment.name is None for segment in segments)
    return EventSegment(
        base=segments[0].base,
        events=_joined_events([segment.events for segment in segments]),
        lane=np.concatenate([segment.lane for segment in segments]),
        number=np.concatenate([segment.number for segment in segments]),
        name=None if unnamed else np.concatenate([_names(segment) for segment in segments]),
        order=np.concatenate(orders),
        positions=None if consecutive else np.concatenate([_positions(segment) for segment in segments]),
    )


def _positions(segment: EventSegment) -> Ints:
    return np.arange(segment.base, segment.end) if segment.positions is None else segment.positions


def _joined_events(parts: Sequence[EventColumns]) -> EventColumns:
    types = dict[str, Type]()
    for events in parts:
        types |= events.types

    def column(name: str) -> Column:
        return joined([events.attributes.get(name) or null_column(types[name], len(events)) for events in parts])

    def joined(columns: list[Column]) -> Column:
        return concatenate_columns(columns, columns[-1].kind)

    time = joined([events.time for events in parts])
    plain = all(events.start is events.time for events in parts)
    return EventColumns(
        {name: column(name) for name in dict.fromkeys(chain.from_iterable([events.attributes for events in parts]))},
        types,
        time,
        time if plain else joined([events.start for events in parts]),
        joined([events.stream for events in parts]),
    )


def _taken_nulls(nulls: Flags, at: Ints) -> Flags:
    return nulls[at] if may_be_null(nulls) else no_nulls(len(at))


def _remaining_nulls(nulls: Flags, cut: int) -> Flags:
    return nulls[cut:].copy() if may_be_null(nulls) else no_nulls(len(nulls) - cut)


def _map_columns(events: EventColumns, change: Callable[[Column], Column]) -> EventColumns:
    time = change(events.time)
    return EventColumns(
        {name: change(column) for name, column in events.attributes.items()},
        events.types,
        time,
        time if events.start is events.time else change(events.start),
        change(events.stream),
    )

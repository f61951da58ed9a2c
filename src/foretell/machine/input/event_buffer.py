"""The event buffer: the events that matches may still refer to, by their position in the merged stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.filter.column import Column, concatenate_columns, may_be_null, no_nulls, null_column
from foretell.filter.predicates import EventColumns
from foretell.machine.input.event_order import deepened


@dataclass(frozen=True)
class EventSegment:
    """Consecutive events from position `base` on, or only some events, whose positions are then `places`.

    `number` is an event's number in its lane, `order` its place in the order of all events (see `event_order`);
    `name` is None if no stream has an ID.
    """

    base: int
    events: EventColumns
    lane: Ints
    number: Ints
    name: NDArray[np.object_] | None
    order: Ints
    places: Ints | None = None

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def end(self) -> int:
        """The position after the last event."""
        return self.base + len(self) if self.places is None else int(self.places[-1]) + 1

    def rows(self, positions: Ints) -> Ints:
        """The rows of the events at some positions."""
        return positions - self.base if self.places is None else np.searchsorted(self.places, positions)

    def only(self, positions: Ints) -> EventSegment:
        """The events at some positions, which must be in the segment and in order."""
        at = self.rows(positions)
        return EventSegment(
            int(positions[0]),
            _changed(self.events, lambda c: Column(c.kind, c.values[at], _some(c.nulls, at))),
            self.lane[at],
            self.number[at],
            None if self.name is None else self.name[at],
            self.order[at],
            positions,
        )

    def since(self, position: int) -> EventSegment:
        """Without the events before a position. A small rest is copied, so that the large arrays can be freed."""
        if position <= self.base:
            return self
        cut = int(self.rows(np.array(position)))
        left = len(self) - cut

        def part(array: NDArray[Any]) -> NDArray[Any]:
            return array[cut:].copy() if left < cut else array[cut:]

        places = None if self.places is None else part(self.places)
        return EventSegment(
            position if places is None or not len(places) else int(places[0]),
            _changed(self.events, lambda c: Column(c.kind, part(c.values), _part(c.nulls, cut))),
            part(self.lane),
            part(self.number),
            None if self.name is None else part(self.name),
            part(self.order),
            places if places is None or len(places) else None,
        )


@dataclass(frozen=True)
class EventBuffer:
    """Segments in order. A batch stays one segment: it is long, and most of it is soon dropped."""

    segments: tuple[EventSegment, ...] = field(default=())

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

    @property
    def base(self) -> int:
        return self.segments[0].base

    def extended(self, segment: EventSegment) -> EventBuffer:
        """With one more segment. Short ones before it are merged in pairs: many small batches become few segments."""
        older = [p for p in self.segments if len(p)]
        while len(older) > 1 and len(older[-2]) < 2 * len(older[-1]):
            older[-2:] = [_joined(*older[-2:])]
        return EventBuffer((*older, segment))

    def since(self, position: int) -> EventBuffer:
        """Without the events before a position."""
        kept = [p.since(min(position, p.end)) for p in self.segments if p.end > position]
        return EventBuffer(tuple(kept) or (self.segments[-1].since(self.segments[-1].end),))

    def only(self, positions: Ints) -> EventBuffer:
        """The events at some positions, in order."""
        kept = []
        for segment in self.segments:
            mine = positions[np.searchsorted(positions, segment.base) : np.searchsorted(positions, segment.end)]
            if len(mine):
                kept.append(segment.only(mine))
        return EventBuffer(tuple(kept)) if kept else self.since(self.segments[-1].end)

    @cached_property
    def whole(self) -> EventSegment:
        """All segments as one, to search between the events of a match."""
        return reduce(_joined, self.segments)

    # ── values at positions ──

    def values(self, of: Callable[[EventSegment], NDArray[Any]], positions: Ints) -> NDArray[Any]:
        """The values of a column at some positions; `of` finds the column in a segment."""
        last = self.segments[-1]
        if len(self.segments) == 1 or not len(positions) or positions.min() >= last.base:
            return of(last).take(last.rows(positions), axis=0)  # in half the time of indexing
        if not len(last):
            return EventBuffer(self.segments[:-1]).values(of, positions)
        # Most positions are in the last segment: look all up there, then correct the earlier ones.
        found = of(last).take(last.rows(np.maximum(positions, last.base)), axis=0)
        earlier = np.flatnonzero(positions < last.base)
        found[earlier] = EventBuffer(self.segments[:-1]).values(of, positions[earlier])
        return found

    def times(self, positions: Ints) -> NDArray[Any]:
        return self.values(lambda segment: segment.events.time.values, positions)

    def starts(self, positions: Ints) -> NDArray[Any]:
        return self.values(lambda segment: segment.events.start.values, positions)

    def order(self, positions: Ints) -> Ints:
        depth = max(segment.order.shape[1] for segment in self.segments)
        return self.values(lambda segment: deepened(segment.order, depth), positions)

    def gather(self, of: Callable[[EventColumns], Column | None], positions: Ints) -> Column | None:
        """A column at some positions, NULL at negative ones; None if no event has the column."""
        found = next((c for c in (of(segment.events) for segment in self.segments) if c is not None), None)
        if found is None:
            return None
        kind = found.kind
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
        times = self.whole.events.time.values
        return self.base + np.searchsorted(times, times[positions - self.base], side="left")

    def instant_after(self, positions: Ints, simultaneous: bool) -> Ints:
        """The position from which on events follow each event."""
        if not simultaneous:
            return positions + 1
        times = self.whole.events.time.values
        return self.base + np.searchsorted(times, times[positions - self.base], side="right")


def _names(segment: EventSegment) -> NDArray[np.object_]:
    return segment.name if segment.name is not None else np.full(len(segment), None, object)


def _joined(one: EventSegment, other: EventSegment) -> EventSegment:
    depth = max(one.order.shape[1], other.order.shape[1])
    dense = one.places is None and other.places is None and one.end == other.base
    unnamed = one.name is None and other.name is None
    return EventSegment(
        one.base,
        _joined_events(one.events, other.events),
        np.concatenate([one.lane, other.lane]),
        np.concatenate([one.number, other.number]),
        None if unnamed else np.concatenate([_names(one), _names(other)]),
        np.concatenate([deepened(one.order, depth), deepened(other.order, depth)]),
        None if dense else np.concatenate([_places(one), _places(other)]),
    )


def _places(segment: EventSegment) -> Ints:
    return np.arange(segment.base, segment.end) if segment.places is None else segment.places


def _some(nulls: NDArray[np.bool_], at: Ints) -> NDArray[np.bool_]:
    return nulls[at] if may_be_null(nulls) else no_nulls(len(at))


def _joined_events(one: EventColumns, other: EventColumns) -> EventColumns:
    def column(name: str) -> Column:
        kind = one.types.get(name) or other.types[name]
        some, more = (e.attributes.get(name) or null_column(kind, len(e)) for e in (one, other))
        return concatenate_columns([some, more], more.kind)

    names = dict.fromkeys([*one.attributes, *other.attributes])
    return EventColumns(
        {n: column(n) for n in names},
        {**one.types, **other.types},
        concatenate_columns([one.time, other.time], other.time.kind),
        concatenate_columns([one.start, other.start], other.start.kind),
        concatenate_columns([one.stream, other.stream], other.stream.kind),
    )


def _part(nulls: NDArray[np.bool_], cut: int) -> NDArray[np.bool_]:
    return nulls[cut:].copy() if may_be_null(nulls) else no_nulls(len(nulls) - cut)


def _changed(events: EventColumns, change: Callable[[Column], Column]) -> EventColumns:
    time = change(events.time)
    return EventColumns(
        {n: change(c) for n, c in events.attributes.items()},
        events.types,
        time,
        time if events.start is events.time else change(events.start),
        change(events.stream),
    )

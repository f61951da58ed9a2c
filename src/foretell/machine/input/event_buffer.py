"""The events that matches may still speak of, by their position in the merged stream."""

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
    """Events from position `base` on, each at the next one; or only some, which then stand at `places`.

    `number` is an event's number in its lane, `order` its place in the one order of all events (see ordering);
    `name` is None where no stream has an ID.
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
        """The position after the last."""
        return self.base + len(self) if self.places is None else int(self.places[-1]) + 1

    def rows(self, positions: Ints) -> Ints:
        """Where the events of positions stand."""
        return positions - self.base if self.places is None else np.searchsorted(self.places, positions)

    def only(self, positions: Ints) -> EventSegment:
        """Only the events at some positions, in order, which it has."""
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
        """Without what lies before a position. What is left of much is copied, so that the rest can go."""
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
    """Pieces one after the other. They stay as they came: a batch is long, and most of it is soon forgotten."""

    pieces: tuple[EventSegment, ...] = field(default=())

    def __len__(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    @property
    def base(self) -> int:
        return self.pieces[0].base

    def extended(self, piece: EventSegment) -> EventBuffer:
        """With one more piece. Short ones before it are joined in twos, so that many small batches are few pieces."""
        older = [p for p in self.pieces if len(p)]
        while len(older) > 1 and len(older[-2]) < 2 * len(older[-1]):
            older[-2:] = [_joined(*older[-2:])]
        return EventBuffer((*older, piece))

    def since(self, position: int) -> EventBuffer:
        """Without what lies before a position."""
        kept = [p.since(min(position, p.end)) for p in self.pieces if p.end > position]
        return EventBuffer(tuple(kept) or (self.pieces[-1].since(self.pieces[-1].end),))

    def only(self, positions: Ints) -> EventBuffer:
        """Only the events at some positions, in order."""
        kept = []
        for piece in self.pieces:
            mine = positions[np.searchsorted(positions, piece.base) : np.searchsorted(positions, piece.end)]
            if len(mine):
                kept.append(piece.only(mine))
        return EventBuffer(tuple(kept)) if kept else self.since(self.pieces[-1].end)

    @cached_property
    def whole(self) -> EventSegment:
        """All pieces as one: for what looks at events between those of a match."""
        return reduce(_joined, self.pieces)

    # ── values at positions ──

    def values(self, of: Callable[[EventSegment], NDArray[Any]], positions: Ints) -> NDArray[Any]:
        """What each position has in a column, which `of` finds in a piece."""
        last = self.pieces[-1]
        if len(self.pieces) == 1 or not len(positions) or positions.min() >= last.base:
            return of(last).take(last.rows(positions), axis=0)  # in half the time of indexing
        if not len(last):
            return EventBuffer(self.pieces[:-1]).values(of, positions)
        # Most are of the last piece, and are looked up there as if all were.
        found = of(last).take(last.rows(np.maximum(positions, last.base)), axis=0)
        earlier = np.flatnonzero(positions < last.base)
        found[earlier] = EventBuffer(self.pieces[:-1]).values(of, positions[earlier])
        return found

    def times(self, positions: Ints) -> NDArray[Any]:
        return self.values(lambda piece: piece.events.time.values, positions)

    def starts(self, positions: Ints) -> NDArray[Any]:
        return self.values(lambda piece: piece.events.start.values, positions)

    def order(self, positions: Ints) -> Ints:
        depth = max(piece.order.shape[1] for piece in self.pieces)
        return self.values(lambda piece: deepened(piece.order, depth), positions)

    def gather(self, of: Callable[[EventColumns], Column | None], positions: Ints) -> Column | None:
        """A column's values at positions; NULL at a negative one. None where no event has the column."""
        found = next((c for c in (of(piece.events) for piece in self.pieces) if c is not None), None)
        if found is None:
            return None
        kind = found.kind
        absent = positions < 0

        def column(piece: EventSegment) -> Column:
            return of(piece.events) or null_column(kind, len(piece))

        if not len(self) or absent.all():
            return null_column(kind, len(positions))
        at = np.where(absent, self.pieces[-1].end - 1, positions) if absent.any() else positions
        values = self.values(lambda piece: column(piece).values, at)
        if not absent.any() and not any(may_be_null(column(piece).nulls) for piece in self.pieces):
            return Column(kind, values, no_nulls(len(positions)))
        return Column(kind, values, self.values(lambda piece: column(piece).nulls, at) | absent)

    def names(self, positions: Ints) -> list[Any]:
        """What events are called: by their ID, or by their number in the lane."""
        numbers: list[Any] = self.values(lambda piece: piece.number, positions).tolist()
        if all(piece.name is None for piece in self.pieces):
            return numbers
        names = self.values(_names, positions).tolist()
        return [number if name is None else name for name, number in zip(names, numbers, strict=True)]

    # ── instants ──

    def instant_of(self, positions: Ints, simultaneous: bool) -> Ints:
        """Where the instant of an event begins: what comes before it lies before that."""
        if not simultaneous:
            return positions
        times = self.whole.events.time.values
        return self.base + np.searchsorted(times, times[positions - self.base], side="left")

    def instant_after(self, positions: Ints, simultaneous: bool) -> Ints:
        """Where what follows an event begins."""
        if not simultaneous:
            return positions + 1
        times = self.whole.events.time.values
        return self.base + np.searchsorted(times, times[positions - self.base], side="right")


def _names(piece: EventSegment) -> NDArray[np.object_]:
    return piece.name if piece.name is not None else np.full(len(piece), None, object)


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


def _places(piece: EventSegment) -> Ints:
    return np.arange(piece.base, piece.end) if piece.places is None else piece.places


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

"""The events that matches may still speak of, by their position in the merged stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.compiled import compiled
from foretell.events.types import Type
from foretell.filter.columns import Column
from foretell.filter.predicates import Events
from foretell.machine.ordering import deepened

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class History:
    """Events from position `base` on. `order` is their place in the one order of all events (see foretell.engine)."""

    base: int
    events: Events
    lane: Ints
    number: Ints
    name: NDArray[np.object_] | None
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lane)

    def extended(self, other: History) -> History:
        if not len(self):
            return other
        depth = max(self.order.shape[1], other.order.shape[1])
        return History(
            self.base,
            _joined(self.events, other.events),
            np.concatenate([self.lane, other.lane]),
            np.concatenate([self.number, other.number]),
            _joined_names(self, other),
            np.concatenate([deepened(self.order, depth), deepened(other.order, depth)]),
        )

    def since(self, position: int) -> History:
        """Without what lies before a position."""
        cut = min(max(0, position - self.base), len(self))
        if cut == 0:
            return self
        part = slice(cut, None)
        return History(
            self.base + cut,
            _part(self.events, part),
            self.lane[part],
            self.number[part],
            None if self.name is None else self.name[part],
            self.order[part],
        )

    def instant_of(self, positions: Ints, simultaneous: bool) -> Ints:
        """Where the instant of an event begins: what comes before it lies before that."""
        if not simultaneous:
            return positions
        times = self.events.time.values
        return self.base + np.searchsorted(times, times[positions - self.base], side="left")

    def instant_after(self, positions: Ints, simultaneous: bool) -> Ints:
        """Where what follows an event begins."""
        if not simultaneous:
            return positions + 1
        times = self.events.time.values
        return self.base + np.searchsorted(times, times[positions - self.base], side="right")

    def gather(self, column: Column, positions: Ints) -> Column:
        """A column's values at positions; NULL at a negative one."""
        absent = positions < 0
        at = np.where(absent, 0, positions - self.base)
        if not len(column.values):
            return Column(column.kind, np.zeros(len(positions), column.values.dtype), np.ones(len(positions), np.bool_))
        return Column(column.kind, column.values[at], column.nulls[at] | absent)


def _joined_names(one: History, other: History) -> NDArray[np.object_] | None:
    if one.name is None and other.name is None:
        return None
    parts = [h.name if h.name is not None else np.full(len(h), None, object) for h in (one, other)]
    return np.concatenate(parts)


def _joined(one: Events, other: Events) -> Events:
    names = dict.fromkeys([*one.attributes, *other.attributes])
    return Events(
        {n: _column(one, n, other, n) for n in names},
        {**one.types, **other.types},
        _concatenated(one.time, other.time),
        _concatenated(one.start, other.start),
        _concatenated(one.stream, other.stream),
    )


def _column(one: Events, name: str, other: Events, _: str) -> Column:
    kind = one.types.get(name) or other.types[name]
    return _concatenated(
        one.attributes.get(name) or _unknown(kind, len(one)), other.attributes.get(name) or _unknown(kind, len(other))
    )


def _unknown(kind: Type, count: int) -> Column:
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.zeros(count, dtype), np.ones(count, np.bool_))


def _concatenated(one: Column, other: Column) -> Column:
    return Column(other.kind, np.concatenate([one.values, other.values]), np.concatenate([one.nulls, other.nulls]))


def _part(events: Events, part: slice) -> Events:
    def cut(column: Column) -> Column:
        return Column(column.kind, column.values[part], column.nulls[part])

    return Events(
        {n: cut(c) for n, c in events.attributes.items()},
        events.types,
        cut(events.time),
        cut(events.start),
        cut(events.stream),
    )


class Lanes:
    """Lanes by the values of their PER attributes, numbered as they begin.

    An open-addressed table: a row of words (for each attribute whether it is NULL, and its value) and its lane.
    """

    def __init__(self) -> None:
        self.lengths: Ints = np.zeros(0, np.int64)
        self._words: Ints = np.zeros((0, 0), np.int64)
        self._lane: Ints = np.zeros(0, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, attributes: Mapping[str, Column], per: tuple[str, ...], count: int) -> Ints:
        """The lane of each event."""
        if not per:
            self._count = 1
            return np.zeros(count, np.int64)
        words = np.zeros((count, 2 * len(per)), np.int64)
        for i, name in enumerate(per):
            column = attributes.get(name)
            if column is None:
                words[:, 2 * i] = 1
                continue
            values = np.where(column.nulls, 0, column.values) if column.nulls.any() else column.values
            if column.kind is Type.FLOAT:
                values = values + 0.0  # -0.0 is 0.0
            words[:, 2 * i] = column.nulls
            words[:, 2 * i + 1] = np.ascontiguousarray(values).view(np.int64)
        lanes = np.empty(count, np.int64)
        done = 0
        while done < count:
            if 2 * self._count >= len(self._lane) - 1:
                self._grow(words.shape[1])
            done, self._count = _number(words, done, lanes, self._words, self._lane, self._count)
        return lanes

    def _grow(self, width: int) -> None:
        old = self._words[self._lane >= 0], self._lane[self._lane >= 0]
        size = max(1024, 4 * len(self._lane))
        self._words, self._lane = np.zeros((size, width), np.int64), np.full(size, -1, np.int64)
        if len(old[1]):
            by = np.argsort(old[1])
            _number(old[0][by], 0, np.empty(len(by), np.int64), self._words, self._lane, 0)

    def count(self, lane: Ints) -> Ints:
        """The number of each event in its lane, going on from the batches before."""
        if self._count > len(self.lengths):
            more = max(self._count, 2 * len(self.lengths)) - len(self.lengths)
            self.lengths = np.concatenate([self.lengths, np.zeros(more, np.int64)])
        return _count(lane, self.lengths)


@compiled
def _number(words: Ints, done: int, lanes: Ints, table: Ints, table_lane: Ints, count: int) -> tuple[int, int]:
    """Looks rows of words up, and enters new ones as long as the table is at most half full."""
    mask = table_lane.size - 1
    width = words.shape[1]
    for i in range(done, words.shape[0]):
        mixed = np.uint64(14695981039346656037)
        for k in range(width):
            mixed = (mixed ^ np.uint64(words[i, k])) * np.uint64(1099511628211)
            mixed ^= mixed >> np.uint64(29)
        at = np.int64(mixed & np.uint64(mask))
        while True:
            if table_lane[at] < 0:
                if 2 * count >= mask:
                    return i, count
                for k in range(width):
                    table[at, k] = words[i, k]
                table_lane[at] = count
                lanes[i] = count
                count += 1
                break
            same = True
            for k in range(width):
                if table[at, k] != words[i, k]:
                    same = False
                    break
            if same:
                lanes[i] = table_lane[at]
                break
            at = (at + 1) & mask
    return words.shape[0], count


@compiled
def _count(lane: Ints, lengths: Ints) -> Ints:
    number = np.empty(lane.size, np.int64)
    for i in range(lane.size):
        number[i] = lengths[lane[i]]
        lengths[lane[i]] += 1
    return number

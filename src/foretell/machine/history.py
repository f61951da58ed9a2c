"""The events that matches may still speak of, by their position in the merged stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.filter.columns import Column
from foretell.filter.predicates import Events

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class History:
    """Events from position `base` on. `order` is their place in the one order of all events (see foretell.engine)."""

    base: int
    events: Events
    lane: Ints
    number: Ints
    name: NDArray[np.object_]
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lane)

    def extended(self, other: History) -> History:
        if not len(self):
            return other
        return History(
            self.base,
            _joined(self.events, other.events),
            np.concatenate([self.lane, other.lane]),
            np.concatenate([self.number, other.number]),
            np.concatenate([self.name, other.name]),
            np.concatenate([self.order, other.order]),
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
            self.name[part],
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


@dataclass
class Lanes:
    """Lanes by the values of their PER attributes, numbered as they begin."""

    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    lengths: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.numbers)

    def of(self, attributes: Mapping[str, Column], per: tuple[str, ...], count: int) -> Ints:
        """The lane of each event."""
        if not per:
            self.numbers.setdefault((), 0)
            return np.zeros(count, np.int64)
        keys = np.zeros((count, 2 * len(per)), np.int64)
        for i, name in enumerate(per):
            column = attributes.get(name)
            if column is None:
                keys[:, 2 * i] = 1
            else:
                words = np.where(column.nulls, 0, column.values)
                if column.kind is Type.FLOAT:
                    words = words + 0.0  # -0.0 is 0.0
                keys[:, 2 * i] = column.nulls
                keys[:, 2 * i + 1] = np.ascontiguousarray(words).view(np.int64)
        distinct, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct), np.int64)
        for i in np.argsort(first):
            numbers[i] = self.numbers.setdefault(tuple(distinct[i].tolist()), len(self.numbers))
        return numbers[inverse.reshape(-1)]

    def count(self, lane: Ints) -> Ints:
        """The number of each event in its lane, going on from the batches before."""
        if len(self.numbers) > len(self.lengths):
            more = len(self.numbers) - len(self.lengths)
            self.lengths = np.concatenate([self.lengths, np.zeros(more, np.int64)])
        order = np.argsort(lane, kind="stable")
        sizes = np.bincount(lane, minlength=len(self.lengths))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        number = np.empty(len(lane), np.int64)
        number[order] = np.arange(len(lane)) - starts[lane[order]] + self.lengths[lane[order]]
        self.lengths = self.lengths + sizes
        return number

"""The events bound by many matches, one after the other in flat arrays; equality and order of matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.jit import compiled, kernel
from foretell.machine.input.key_index import KeyIndex


@dataclass(frozen=True)
class BoundEvents:
    """The events of match i lie at `starts[i]` to `starts[i + 1]`, in the order of position, each with its step."""

    lane: Ints
    starts: Ints
    position: Ints
    step: Ints

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def first(self) -> Ints:
        return self.position[self.starts[:-1]]

    @property
    def last(self) -> Ints:
        return self.position[self.starts[1:] - 1]

    @cached_property
    def match(self) -> Ints:
        """The match of each event."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def filter(self, keep: Flags) -> BoundEvents:
        lengths = np.diff(self.starts)
        events = np.repeat(keep, lengths)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[keep])])
        return BoundEvents(self.lane[keep], starts, self.position[events], self.step[events])

    def of_step(self, step: int, *, latest: bool = False) -> Ints:
        """The position of each match's first or latest event of a step; -1 without one."""
        positions = np.full(len(self), -1, np.int64)
        events = np.flatnonzero(self.step == step)
        events = events if latest else events[::-1]
        positions[self.match[events]] = self.position[events]  # of several, the one written last stays
        return positions

    def distinct(self) -> Flags:
        """Marks the matches that do not repeat an earlier one: two ways to the same bindings are one match."""
        words = np.stack([self.position, self.step], axis=1).ravel()
        number = KeyIndex().number(2 * self.starts, words)
        # Keys are numbered as they first come, so a new one has a higher number than all before it.
        return np.diff(np.maximum.accumulate(number), prepend=-1) > 0

    def order(self, before: Sequence[NDArray[Any]]) -> Ints:
        """The matches sorted by the given columns, most significant first, then by positions, then by steps."""
        count = len(self)
        events = EventRanges(self.starts[:-1], self.starts[1:], self.position, self.step)
        return merge_sort(sort_columns(before, count), events, np.zeros((count, 0), np.int64))


@dataclass(frozen=True)
class EventRanges:
    """For each item to be sorted, the range of its events; ranges may overlap."""

    begin: Ints
    end: Ints
    position: Ints
    step: Ints


def sort_columns(columns: Sequence[NDArray[Any]], count: int) -> Ints:
    """Columns side by side, as integers of the same order."""
    return np.stack([np.zeros(count, np.int64), *(_as_ints(column) for column in columns)], axis=1)


def _as_ints(column: NDArray[Any]) -> Ints:
    # The bits of a float grow with it where it is positive, and fall where it is negative.
    if column.dtype != np.float64:
        return column.astype(np.int64, copy=False)
    bits = (column + 0.0).view(np.int64)  # -0.0 is 0.0
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def merge_sort(before: Ints, events: EventRanges, after: Ints) -> Ints:
    """The stable order by the columns `before`, the positions of events, their steps, and the columns `after`."""
    if len(before) < 2:  # a first match need not wait for the kernel to be compiled
        return np.arange(len(before))
    return _merge_sort(before, (events.begin, events.end, events.position, events.step), after)


@kernel
def _compare_columns(i: int, j: int, columns: Ints) -> int:
    """Negative where i comes before j, positive where after."""
    for k in range(columns.shape[1]):
        if columns[i, k] != columns[j, k]:
            return -1 if columns[i, k] < columns[j, k] else 1
    return 0


@kernel
def _compare_ranges(i: int, j: int, begin: Ints, end: Ints, values: Ints) -> Any:
    length_i, length_j = end[i] - begin[i], end[j] - begin[j]
    for k in range(min(length_i, length_j)):
        value_i, value_j = values[begin[i] + k], values[begin[j] + k]
        if value_i != value_j:
            return -1 if value_i < value_j else 1
    return length_i - length_j


@kernel
def _follows(i: int, j: int, before: Ints, events: Any, after: Ints) -> bool:
    (begin, end, position, step) = events
    compared = _compare_columns(i, j, before)
    if compared == 0:
        compared = _compare_ranges(i, j, begin, end, position)
    if compared == 0:
        compared = _compare_ranges(i, j, begin, end, step)
    if compared == 0:
        compared = _compare_columns(i, j, after)
    return compared > 0


@compiled
def _merge_sort(before: Ints, events: Any, after: Ints) -> Ints:
    """A merge sort that skips what is in order already, as matches mostly are."""
    count = before.shape[0]
    by, other = np.arange(count), np.empty(count, np.int64)
    sorted_until = 1
    while sorted_until < count and not _follows(sorted_until - 1, sorted_until, before, events, after):
        sorted_until += 1
    if sorted_until >= count:
        return by
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            left, right = low, middle
            if middle == high or not _follows(by[middle - 1], by[middle], before, events, after):
                for to in range(low, high):  # a slice would compile Numba's error for slices of other sizes: 2 s of 4
                    other[to] = by[to]
                continue
            for to in range(low, high):
                if right == high or (left < middle and not _follows(by[left], by[right], before, events, after)):
                    other[to] = by[left]
                    left += 1
                else:
                    other[to] = by[right]
                    right += 1
        by, other = other, by
        width *= 2
    return by

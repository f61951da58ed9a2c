"""The events bound by many matches, one after the other in flat arrays; equality and order of matches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.jit import compiled, kernel
from foretell.machine.input.key_index import KeyIndex
from foretell.records import record


@record
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

    def events_of_step(self, step: int, match: Ints) -> tuple[Ints, Ints]:
        """The events of a step in these matches: where those of each end, from 0 on, and the positions."""
        ends = _ends_of_step(self.starts, self.step, step, match)
        return ends, _positions_of_step(self.starts, self.step, self.position, step, match, ends[-1])

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
        return merge_sort(sort_columns(before, count), events, sort_columns([], count))


@compiled
def _ends_of_step(starts: Ints, steps: Ints, step: int, match: Ints) -> Ints:
    ends = np.zeros(match.size + 1, np.int64)
    for i in range(match.size):
        ends[i + 1] = ends[i]
        for k in range(starts[match[i]], starts[match[i] + 1]):
            if steps[k] == step:
                ends[i + 1] += 1
    return ends


@compiled
def _positions_of_step(starts: Ints, steps: Ints, position: Ints, step: int, match: Ints, count: int) -> Ints:
    positions = np.empty(count, np.int64)
    at = 0
    for i in range(match.size):
        for k in range(starts[match[i]], starts[match[i] + 1]):
            if steps[k] == step:
                positions[at] = position[k]
                at += 1
    return positions


@record
class EventRanges:
    """For each item to be sorted, the range of its events; ranges may overlap."""

    begin: Ints
    end: Ints
    position: Ints
    step: Ints


def sort_columns(columns: Sequence[NDArray[Any]], count: int) -> Ints:
    """Columns as integers of the same order."""
    return np.stack([_as_ints(column) for column in columns]) if columns else np.zeros((0, count), np.int64)


def _as_ints(column: NDArray[Any]) -> Ints:
    # The bits of a float grow with it where it is positive, and fall where it is negative.
    if column.dtype != np.float64:
        return column.astype(np.int64, copy=False)
    bits = (column + 0.0).view(np.int64)  # -0.0 is 0.0
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def merge_sort(before: Ints, events: EventRanges, after: Ints) -> Ints:
    """The stable order by the columns `before`, the positions of events, their steps, and the columns `after`."""
    if before.shape[1] < 2:  # a first match need not wait for the kernel to be compiled
        return np.arange(before.shape[1])
    return _merge_sort(before, (events.begin, events.end, events.position, events.step), after)


def column_order(columns: Sequence[NDArray[Any]]) -> tuple[Ints, Flags]:
    """The stable order by the columns, most significant first; it marks the items in this order that have the same
    values as the one before them. NumPy merges runs that are in order already, as those of several statements are."""
    key, others = _packed(list(map(_as_ints, columns)))
    by, tied = np.argsort(key, kind="stable"), np.zeros(len(key), np.bool_)
    key = key[by]
    tied[1:] = key[1:] == key[:-1]
    if others and tied.any():
        among = np.flatnonzero(tied | np.append(tied[1:], False))
        group = np.cumsum(~tied)[among]
        inner, tied[among] = column_order([group, *(column[by[among]] for column in others)])
        by[among] = by[among][inner]
    return by, tied


def _packed(columns: list[Ints]) -> tuple[Ints, list[Ints]]:
    """As many of the first columns as fit as one column, and the others."""
    key, *others = columns
    if not len(key):
        return key, []
    span = int(key.max()) - int(key.min()) + 1
    if span < 2**63:
        key = key - key.min()
    while others:
        column, low = others[0], int(others[0].min())
        width = int(column.max()) - low + 1
        if span * width >= 2**63 > span * len(column):
            column, low, width = np.unique(column, return_inverse=True)[1], 0, len(column)
        if span * width >= 2**63:
            break
        key = key * width + (column - low)
        span *= width
        others.pop(0)
    return key, others


@kernel
def _compare_columns(i: int, j: int, columns: Ints) -> int:
    """Negative where i comes before j, positive where after."""
    for k in range(columns.shape[0]):
        if columns[k, i] != columns[k, j]:
            return -1 if columns[k, i] < columns[k, j] else 1
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


#: Places by which an item may move on average for an insertion sort to be worth its while.
_NEAR = 8


@kernel
def _insertion_sort(by: Ints, before: Ints, events: Any, after: Ints) -> bool:
    """Sort items that are nearly in order; False where they are not, and `by` is then in some order."""
    moves_left = _NEAR * by.size
    for i in range(1, by.size):
        item, at = by[i], i
        while at > 0 and moves_left > 0 and _follows(by[at - 1], item, before, events, after):
            by[at] = by[at - 1]
            at -= 1
            moves_left -= 1
        by[at] = item
    return moves_left > 0


@compiled
def _merge_sort(before: Ints, events: Any, after: Ints) -> Ints:
    """A merge sort, after an attempt to insert: matches mostly are in order, but for those that end together."""
    count = before.shape[1]
    by, other = np.arange(count), np.empty(count, np.int64)
    if _insertion_sort(by, before, events, after):
        return by
    by = np.arange(count)
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

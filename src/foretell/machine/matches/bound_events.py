"""The events of many matches in a row: which matches are the same, and in which order they come."""

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
    """The events of match i stand at `starts[i]` to `starts[i + 1]`, by position, each with the step it is bound to."""

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
        """Whose each event is."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def kept(self, keep: Flags) -> BoundEvents:
        """Those of some matches only."""
        lengths = np.diff(self.starts)
        events = np.repeat(keep, lengths)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[keep])])
        return BoundEvents(self.lane[keep], starts, self.position[events], self.step[events])

    def of_step(self, step: int, *, latest: bool = False) -> Ints:
        """The position of each match's first or latest event of a step; -1 without one."""
        found = np.full(len(self), -1, np.int64)
        mine = np.flatnonzero(self.step == step)
        mine = mine if latest else mine[::-1]
        found[self.match[mine]] = self.position[mine]  # of several, the one written last stays
        return found

    def distinct(self) -> Flags:
        """Which matches are not the same as one before: two ways to the same bindings are one match."""
        words = np.stack([self.position, self.step], axis=1).ravel()
        number = KeyIndex().of(2 * self.starts, words)
        # Numbers are given as keys first come, so what is new has a higher one than all before.
        return np.diff(np.maximum.accumulate(number), prepend=-1) > 0

    def order(self, before: Sequence[NDArray[Any]]) -> Ints:
        """The order by some columns, the weightiest first, then positions, then steps."""
        count = len(self)
        runs = Runs(self.starts[:-1], self.starts[1:], self.position, self.step)
        return in_order(matrix(before, count), runs, np.zeros((count, 0), np.int64))


@dataclass(frozen=True)
class Runs:
    """Of each thing to be ordered, where its events begin and end; several may be of the same events."""

    begin: Ints
    end: Ints
    position: Ints
    step: Ints


def matrix(columns: Sequence[NDArray[Any]], count: int) -> Ints:
    """Columns side by side, as whole numbers that have the same order."""
    return np.stack([np.zeros(count, np.int64), *(_whole(c) for c in columns)], axis=1)


def _whole(column: NDArray[Any]) -> Ints:
    """The bits of a float grow with it where it is positive, and fall where it is negative."""
    if column.dtype != np.float64:
        return column.astype(np.int64, copy=False)
    bits = (column + 0.0).view(np.int64)  # -0.0 is 0.0
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def in_order(before: Ints, runs: Runs, after: Ints) -> Ints:
    """By numbers, then by the positions of events and by their steps, then by other numbers, then as they stand."""
    return _sorted(before, (runs.begin, runs.end, runs.position, runs.step), after)


@kernel
def _compared(i: int, j: int, numbers: Ints) -> int:
    """Below zero where i comes before j, above where after."""
    for k in range(numbers.shape[1]):
        if numbers[i, k] != numbers[j, k]:
            return -1 if numbers[i, k] < numbers[j, k] else 1
    return 0


@kernel
def _compared_runs(i: int, j: int, begin: Ints, end: Ints, words: Ints) -> Any:
    mine, other = end[i] - begin[i], end[j] - begin[j]
    for k in range(min(mine, other)):
        one, two = words[begin[i] + k], words[begin[j] + k]
        if one != two:
            return -1 if one < two else 1
    return mine - other


@kernel
def _follows(i: int, j: int, before: Ints, runs: Any, after: Ints) -> bool:
    (begin, end, position, step) = runs
    found = _compared(i, j, before)
    if found == 0:
        found = _compared_runs(i, j, begin, end, position)
    if found == 0:
        found = _compared_runs(i, j, begin, end, step)
    if found == 0:
        found = _compared(i, j, after)
    return found > 0


@compiled
def _sorted(before: Ints, runs: Any, after: Ints) -> Ints:
    """A merge sort that leaves alone what stands in order, as matches mostly do."""
    count = before.shape[0]
    by, other = np.arange(count), np.empty(count, np.int64)
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            one, two = low, middle
            if middle == high or not _follows(by[middle - 1], by[middle], before, runs, after):
                other[low:high] = by[low:high]
                continue
            for to in range(low, high):
                if two == high or (one < middle and not _follows(by[one], by[two], before, runs, after)):
                    other[to] = by[one]
                    one += 1
                else:
                    other[to] = by[two]
                    two += 1
        by, other = other, by
        width *= 2
    return by

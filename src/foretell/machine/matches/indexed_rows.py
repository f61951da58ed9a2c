"""The rows of a template in the order of its index: each match belongs to an interval of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Scalar
from foretell.filter.template_index import SHIFT
from foretell.jit import compiled

_COUNT = (1 << SHIFT) - 1


@dataclass(frozen=True, eq=False)
class IndexedRows:
    """The ids of rows in the order of the index (see `filter.template_index`), and the position of the event from which
    on a match must begin to belong to each; None where all rows count from the first event on."""

    ids: NDArray[np.object_]
    since: Ints | None = None

    @cached_property
    def by_id(self) -> Ints:
        """The rows in the order of their ids."""
        keys = list(map(id_key, self.ids.tolist()))
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)

    @cached_property
    def _ranks(self) -> Ints:
        ranks = np.empty(len(self.ids), np.int64)
        ranks[self.by_id] = np.arange(len(ranks))
        return ranks

    def counts(self, intervals: Ints, first: Ints) -> Ints:
        """How many rows each match belongs to; `first` are the positions of their first events."""
        count = intervals & _COUNT
        return count if self.since is None else _counts(intervals >> SHIFT, count, first, self.since)

    def of(self, intervals: Ints, first: Ints) -> Ints:
        """The rows that each match belongs to, by their ids: those of one match after those of the other."""
        begin, count, size = intervals >> SHIFT, intervals & _COUNT, int((intervals & _COUNT).sum())
        ranks = np.empty(size, np.int64)
        if not _gather_ranks(begin, count, self._ranks, ranks):
            match = np.repeat(np.arange(len(count)), count) << SHIFT
            ranks = np.sort(match + ranks) & _COUNT
        rows = self.by_id.take(ranks)
        return rows if self.since is None else rows[self.since.take(rows) <= np.repeat(first, count)]


def id_key(row_id: Scalar) -> tuple[int | float, str]:
    """By which rows are ordered: numbers come before texts."""
    return (row_id, "") if isinstance(row_id, int | float) else (math.inf, str(row_id))


@compiled
def _gather_ranks(begin: Ints, count: Ints, ranks: Ints, found: Ints) -> bool:
    """The ranks in each interval, as they are or in reverse; False where they ascend in neither order."""
    at, ascend = 0, True
    for i in range(count.size):
        stop = begin[i] + count[i]
        if count[i] > 1 and ranks[begin[i]] > ranks[stop - 1]:
            for k in range(count[i]):
                found[at + k] = ranks[stop - 1 - k]
        else:
            for k in range(count[i]):
                found[at + k] = ranks[begin[i] + k]
        for k in range(1, count[i]):
            ascend &= found[at + k - 1] < found[at + k]
        at += count[i]
    return ascend


@compiled
def _counts(begin: Ints, count: Ints, first: Ints, since: Ints) -> Ints:
    """How many rows of each interval count from the first event of the match on, or earlier."""
    counts = np.zeros(count.size, np.int64)
    for i in range(count.size):
        for row in range(begin[i], begin[i] + count[i]):
            counts[i] += since[row] <= first[i]
    return counts

"""The rows of a template that matches belong to: an interval of the rows in the order of an index, or a list of
profiles, each with its rows. They are put together only where somebody reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints, distinct
from foretell.events.types import Scalar
from foretell.filter.template_index import SHIFT
from foretell.jit import compiled

_COUNT = (1 << SHIFT) - 1

#: Where so many times as many rows are there, those of matches are put in order by themselves.
_FEW = 4


@dataclass(frozen=True, eq=False)
class IndexedRows:
    """The ids of rows in the order of the index (see `filter.template_index`), and the position of the event from which
    on a match must begin to belong to each; None where all rows count from the first event on."""

    ids: NDArray[np.object_]
    since: Ints | None = None

    @cached_property
    def by_id(self) -> Ints:
        """The rows in the order of their ids."""
        return _id_order(self.ids)

    @cached_property
    def _ranks(self) -> Ints:
        ranks = np.empty(len(self.ids), np.int64)
        ranks[self.by_id] = np.arange(len(ranks))
        return ranks

    @property
    def base(self) -> IndexedRows:
        """The rows, which other batches share."""
        return self

    def sorted_by_id(self, match: Ints, rows: Ints) -> Ints:
        """Rows of matches, those of each by their ids; `match` ascends."""
        if "_ranks" not in self.__dict__ and len(rows) < len(self.ids) // _FEW:
            used, place = distinct(rows)
            local = np.empty(len(used), np.int64)
            local[_id_order(self.ids[used])] = np.arange(len(used))
            return rows[np.lexsort((local[place], match))]
        ranks: Ints = np.sort((match << SHIFT) + self._ranks.take(rows)) & _COUNT
        return self.by_id.take(ranks)

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


@dataclass(frozen=True, eq=False)
class RowsOfProfiles:
    """Of each profile where its rows begin in `order`, and how many they are; `single` if none has several."""

    begin: Ints
    sizes: Ints
    order: Ints
    single: bool


@dataclass(frozen=True, eq=False)
class ListedRows:
    """Matches belong to the rows of lists of `profiles`: an interval of a match is one of this array."""

    base: IndexedRows
    profiles: Ints
    rows: RowsOfProfiles

    @property
    def ids(self) -> NDArray[np.object_]:
        return self.base.ids

    def counts(self, intervals: Ints, first: Ints) -> Ints:
        """How many rows each match belongs to."""
        if self.rows.single:
            return intervals & _COUNT
        return _listed_counts(intervals >> SHIFT, intervals & _COUNT, self.profiles, self.rows.sizes)

    def of(self, intervals: Ints, first: Ints) -> Ints:
        """The rows that each match belongs to, by their ids: those of one match after those of the other."""
        counts = self.counts(intervals, first)
        found = np.empty(int(counts.sum()), np.int64)
        own = self.rows
        _gather_listed(intervals >> SHIFT, intervals & _COUNT, self.profiles, own.begin, own.sizes, own.order, found)
        return self.base.sorted_by_id(np.repeat(np.arange(len(counts)), counts), found)


#: The rows of matches.
MatchedRows: TypeAlias = IndexedRows | ListedRows


def _id_order(ids: NDArray[np.object_]) -> Ints:
    """The numbers of ids in their order."""
    listed = ids.tolist()
    if set(map(type, listed)) == {int}:
        return np.argsort(np.array(listed, np.int64), kind="stable")
    keys = list(map(id_key, listed))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


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


@compiled
def _listed_counts(begin: Ints, count: Ints, profiles: Ints, sizes: Ints) -> Ints:
    """How many rows the profiles of each list have."""
    counts = np.zeros(count.size, np.int64)
    for i in range(count.size):
        for k in range(begin[i], begin[i] + count[i]):
            counts[i] += sizes[profiles[k]]
    return counts


@compiled
def _gather_listed(
    begin: Ints, count: Ints, profiles: Ints, starts: Ints, sizes: Ints, order: Ints, found: Ints
) -> None:
    """The rows of the profiles of each list."""
    at = 0
    for i in range(count.size):
        for k in range(begin[i], begin[i] + count[i]):
            profile = profiles[k]
            for row in range(starts[profile], starts[profile] + sizes[profile]):
                found[at] = order[row]
                at += 1

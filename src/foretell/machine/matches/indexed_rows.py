"""The rows of a template that matches belong to: an interval of the rows in the order of an index, or a list of
profiles, each with its rows. They are put together only where somebody reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from foretell.arrays import Ints, distinct
from foretell.events.arrow_interop import arrow_of
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Scalar
from foretell.filter.template_index import SHIFT
from foretell.jit import compiled
from foretell.machine.row_ids import order_of, scalar_at

_COUNT = (1 << SHIFT) - 1


@dataclass(frozen=True, eq=False)
class IndexedRows:
    """The rows that matches belong to: an interval means the `rows` at these places. `ids` are those of all rows of the
    table by their numbers; `since` has the position of the event from which on a match must begin to belong to each, by
    the same numbers, and is None where all rows count from the first event on."""

    ids: ArrowArray
    rows: Ints
    since: Ints | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def by_id(self) -> Ints:
        """The places in the order of their ids."""
        return order_of(self.ids.take(arrow_of(self.rows)))

    @cached_property
    def _ranks(self) -> Ints:
        ranks = np.empty(len(self), np.int64)
        ranks[self.by_id] = np.arange(len(ranks))
        return ranks

    @cached_property
    def _since(self) -> Ints:
        """From which event on the row at each place counts."""
        return np.zeros(len(self), np.int64) if self.since is None else self.since.take(self.rows)

    @property
    def whole(self) -> IndexedRows:
        """All rows at the places by which others are named."""
        return self

    def id_at(self, place: int) -> Scalar:
        """The id of the row at a place."""
        return scalar_at(self.ids, int(self.rows[place]))

    def ids_at(self, places: Ints) -> ArrowArray:
        """The ids of the rows at these places."""
        return self.ids.take(arrow_of(self.rows.take(places)))

    def counts(self, intervals: Ints, first: Ints) -> Ints:
        """How many rows each match belongs to; `first` are the positions of their first events."""
        count = intervals & _COUNT
        return count if self.since is None else _counts(intervals >> SHIFT, count, first, self._since)

    def of(self, intervals: Ints, first: Ints) -> Ints:
        """The places of the rows that each match belongs to, by their ids: those of one match after those of the
        other."""
        begin, count, size = intervals >> SHIFT, intervals & _COUNT, int((intervals & _COUNT).sum())
        ranks = np.empty(size, np.int64)
        if not _gather_ranks(begin, count, self._ranks, ranks):
            match = np.repeat(np.arange(len(count)), count) << SHIFT
            ranks = np.sort(match + ranks) & _COUNT
        places = self.by_id.take(ranks)
        return places if self.since is None else places[self._since.take(places) <= np.repeat(first, count)]


@dataclass(frozen=True, eq=False)
class RowsOfProfiles:
    """Of each profile where its rows begin in `order`, and how many they are; `single` if none has several."""

    begin: Ints
    sizes: Ints
    order: Ints
    single: bool


@dataclass(frozen=True, eq=False)
class ListedRows:
    """Matches belong to the rows of lists of `profiles`: the interval of a match is one of that array. The place of a
    row is its number; `ids` are by numbers."""

    ids: ArrowArray
    profiles: Ints
    rows: RowsOfProfiles

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def whole(self) -> IndexedRows:
        """All rows at their places."""
        return IndexedRows(self.ids, np.arange(len(self)))

    def id_at(self, place: int) -> Scalar:
        """The id of the row at a place."""
        return scalar_at(self.ids, place)

    def ids_at(self, places: Ints) -> ArrowArray:
        """The ids of the rows at these places."""
        return self.ids.take(arrow_of(places))

    def counts(self, intervals: Ints, first: Ints) -> Ints:
        """How many rows each match belongs to."""
        if self.rows.single:
            return intervals & _COUNT
        return _listed_counts(intervals >> SHIFT, intervals & _COUNT, self.profiles, self.rows.sizes)

    def of(self, intervals: Ints, first: Ints) -> Ints:
        """The places of the rows that each match belongs to, by their ids: those of one match after those of the
        other."""
        counts, own = self.counts(intervals, first), self.rows
        found = np.empty(int(counts.sum()), np.int64)
        _gather_listed(intervals >> SHIFT, intervals & _COUNT, self.profiles, own.begin, own.sizes, own.order, found)
        used, which = distinct(found)
        ranks = np.empty(len(used), np.int64)
        ranks[order_of(self.ids_at(used))] = np.arange(len(used))
        match = np.repeat(np.arange(len(counts)), counts)
        return found[np.lexsort((ranks[which], match))]


#: The rows of matches.
MatchedRows: TypeAlias = IndexedRows | ListedRows


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

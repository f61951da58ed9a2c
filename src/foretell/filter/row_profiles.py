"""The profiles of the rows of a table: which rows' conditions on one event each event satisfies.

Rows with equal parameters have one profile. An index answers comparisons with parameters (filter.profile_index); other
conditions are evaluated for each event and the profiles that the index leaves of it, column by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from foretell.arrays import Appendable, Flags, Ints, Words
from foretell.filter.column import AppendableColumn, Column, may_be_null, no_nulls
from foretell.filter.evaluate.expression import prepared
from foretell.filter.optimisations import chosen_optimisations
from foretell.filter.planned_index import PlannedIndex, planned_index
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import MOST_MATCHES, PlainProfileIndex, ProfileComparison, ProfileIndex
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.plan.template_profiles import OptionalComparison, SiteConditions
from foretell.storage.recorded_values import require

#: Pairs of an event and a profile that are evaluated at once: their columns stay in the cache.
MOST_PAIRS = 1 << 17

#: The profile of rows that no event satisfies.
UNSATISFIABLE = -1


class RowProfiles:
    """The profiles of rows that are added and removed. A number of a profile is never given to another one."""

    def __init__(
        self, conditions: SiteConditions, columns: Mapping[str, Column], count: int, order: Ints | None = None
    ) -> None:
        """The profiles of so many rows; with `order` they are numbered in the order of the numbers that rows have."""
        self.conditions = conditions
        self._optimisations = chosen_optimisations()
        self._comparisons = tuple(map(_comparison, conditions.comparisons))
        self._others = tuple(map(prepared, conditions.others))
        # The values of the profiles, by number, and how many rows each has.
        self._values = {name: AppendableColumn(columns[name].kind) for name in conditions.parameters}
        self._rows = Appendable(np.int64)
        self._index: ProfileIndex | None = None
        self.numbers = self.add(columns, count, order)

    def __len__(self) -> int:
        """How many profiles there have been."""
        return self._rows.count

    @property
    def summary(self) -> str:
        """How events find the profiles that they satisfy, for `explain`."""
        found = f"{len(self):,} profiles are evaluated" if self._index is None else self._index.summary
        return f"{found}; {len(self._others)} conditions for those it leaves" if self._others else found

    def figures(self, strings: StringDictionary) -> str:
        """The same, with the parameters that the profiles are made of, also before the first batch."""
        if isinstance(self._index, PlannedIndex):
            self._index.settle(strings)
        return f"by {', '.join(f':{name}' for name in self.conditions.parameters)}: {self.summary}"

    @property
    def nbytes(self) -> int:
        values = sum(column.nbytes for column in self._values.values())
        return values + self._rows.nbytes + (0 if self._index is None else self._index.nbytes)

    # ── rows ──

    def add(self, columns: Mapping[str, Column], count: int, order: Ints | None = None) -> Ints:
        """Adds rows. Returns the profile of each, UNSATISFIABLE for those that no event satisfies."""
        asked = {name: columns[name] for name in self.conditions.parameters}
        possible = np.flatnonzero(self._satisfiable(asked, count))
        own = [column.take(possible) for column in asked.values()]
        if order is not None:
            first, which = _recorded_rows(own, order[possible])
        elif self._optimisations.merges:
            first, which = distinct_rows(own, len(possible))
        else:
            first = which = np.arange(len(possible))
        number = len(self) + np.arange(len(first))
        rows = possible[first]
        self._rows.append(np.bincount(which, minlength=len(first)))
        added = {name: column.take(rows) for name, column in asked.items()}
        for name, column in added.items():
            self._values[name].append(column)
        if self._comparisons:
            compared = {**added, **{_waiver(c): _waived(c, added) for c in self.conditions.comparisons if c.guards}}
            if self._index is None:
                make = planned_index if self._optimisations.indexes else PlainProfileIndex
                self._index = make(self._comparisons, compared)
            else:
                self._index.add(compared)
        profiles = np.full(count, UNSATISFIABLE, np.int64)
        profiles[possible] = number[which]
        return profiles

    def remove(self, profiles: Ints) -> None:
        """Removes rows by their profiles."""
        own, counts = np.unique(profiles[profiles != UNSATISFIABLE], return_counts=True)
        self._rows.array[own] -= counts
        gone = own[self._rows.array[own] == 0]
        if self._index is not None and len(gone):
            self._index.remove(gone)

    def _satisfiable(self, columns: Mapping[str, Column], count: int) -> Flags:
        """The rows that some event may satisfy: no comparison with NULL is true."""
        flags = np.ones(count, np.bool_)
        for comparison in self.conditions.comparisons:
            flags &= ~columns[comparison.parameter].nulls | _left_out(comparison, columns, count)
        return flags

    # ── events ──

    def matches(
        self,
        events: EventColumns,
        strings: StringDictionary,
        wanted: Flags | None = None,
        most: int = MOST_MATCHES,
    ) -> Iterator[ProfileMatches]:
        """The profiles that each event satisfies, for consecutive parts of the batch, each of one event or with at most
        `most` matches before the other conditions; of events that are not `wanted` none."""
        if self._index is None:
            parts = self._every(len(events), wanted, most)
        else:
            parts = self._index.slices(events, strings, wanted, most)
        if not self._others:
            yield from parts
            return
        begin = 0
        for part in parts:
            yield self._satisfying(events, strings, part, begin)
            begin += len(part)

    def _every(self, events: int, wanted: Flags | None, most: int) -> Iterator[ProfileMatches]:
        """All profiles for each event that is wanted, a limited number of events at a time."""
        profiles = np.flatnonzero(self._rows.array)
        size = max(1, min(MOST_PAIRS, most) // max(1, len(profiles)))
        for begin in range(0, events, size):
            stop = min(events, begin + size)
            counts = np.full(stop - begin, len(profiles))
            if wanted is not None:
                counts[~wanted[begin:stop]] = 0
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
            yield ProfileMatches(offsets, np.tile(profiles, int(np.count_nonzero(counts))))

    def _satisfying(
        self, events: EventColumns, strings: StringDictionary, found: ProfileMatches, begin: int
    ) -> ProfileMatches:
        """The matches that satisfy the other conditions, too; the first event is the one in row `begin`."""
        counts = np.diff(found.offsets)
        event = np.repeat(np.arange(begin, begin + len(found)), counts)
        keep = np.empty(len(event), np.bool_)
        for first in range(0, len(event), MOST_PAIRS):
            part = slice(first, first + MOST_PAIRS)
            keep[part] = self._hold(events, strings, event[part], found.profiles[part])
        kept = np.bincount(event[keep] - begin, minlength=len(found))
        return ProfileMatches(np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)]), found.profiles[keep])

    def _hold(self, events: EventColumns, strings: StringDictionary, event: Ints, profile: Ints) -> Flags:
        """Whether all other conditions are true, for pairs of an event and a profile."""

        def leaf(expression: tree.Expression) -> Column | None:
            if isinstance(expression, tree.Parameter):
                return self._values[str(expression.name)].column.take(profile)
            column = events.leaf(expression)
            return column if column is None or len(column.values) == 1 else column.take(event)

        truths = (condition.truth(leaf, strings, len(event)) for condition in self._others)
        return reduce(np.logical_and, truths)


def _comparison(comparison: OptionalComparison) -> ProfileComparison:
    waived_by = _waiver(comparison) if comparison.guards else None
    asked = comparison.expression, comparison.kind, comparison.operator, comparison.parameter
    return ProfileComparison(*asked, waived_by=waived_by)


def _waiver(comparison: OptionalComparison) -> str:
    """The column of which a NULL waives a comparison: the only guard, or what several are together."""
    return " ".join(comparison.guards)


def _waived(comparison: OptionalComparison, columns: Mapping[str, Column]) -> Column:
    first = columns[comparison.guards[0]]
    return Column(first.kind, first.values, _left_out(comparison, columns, len(first.values)))


def _left_out(comparison: OptionalComparison, columns: Mapping[str, Column], count: int) -> Flags:
    """The rows that do not care about a comparison."""
    return reduce(np.logical_or, [columns[name].nulls for name in comparison.guards], no_nulls(count))


def distinct_rows(columns: Sequence[Column], count: int) -> tuple[Ints, Ints]:
    """The first of so many rows with each distinct combination of values, and for each row the number of its
    combination."""
    words = [word for column in columns for word in _words(column)]
    if not words:
        return np.zeros(min(count, 1), np.int64), np.zeros(count, np.int64)
    mixed = reduce(_mixed, words, np.zeros(len(words[0]), np.uint64))
    _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    if all((word[first[which]] == word).all() for word in words):
        return first, which
    _, first, which = np.unique(np.stack(words), axis=1, return_index=True, return_inverse=True)  # two had one hash
    return first, which.reshape(-1)


def _words(column: Column) -> Iterator[Words]:
    """Values as words that are equal if and only if the values are, and where they are NULL."""
    words = np.ascontiguousarray(column.values).view(np.uint64)
    if not may_be_null(column.nulls) or not column.nulls.any():
        yield words
        return
    yield np.where(column.nulls, np.uint64(0), words)
    yield column.nulls.astype(np.uint64)


def distinct_values(columns: Sequence[Column]) -> Ints:
    """Numbers of rows that are equal if and only if their values are, in an order of the values."""
    words = [word for column in columns for word in _words(column)]
    by = np.lexsort(words[::-1])
    differs = np.zeros(len(by), np.bool_)
    for word in words:
        ordered = word[by]
        differs[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(by), np.int64)
    numbers[by] = np.cumsum(differs)
    return numbers


def _recorded_rows(columns: Sequence[Column], order: Ints) -> tuple[Ints, Ints]:
    """The same by the profiles that a snapshot has for the rows. Rows that were added later have others, though they
    may be equal."""
    _, first, which = np.unique(order, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    for word in (word for column in columns for word in _words(column)):
        require(bool((word[first[which]] == word).all()), "the profiles of template rows")
    return first, which


def _mixed(hashes: Words, words: Words) -> Words:
    """Hashes of rows with one column more."""
    mixed: Words = (hashes ^ (words + _STEP + (hashes << np.uint64(6)) + (hashes >> np.uint64(2)))) * _FACTOR
    return mixed ^ (mixed >> np.uint64(31))


_STEP, _FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)

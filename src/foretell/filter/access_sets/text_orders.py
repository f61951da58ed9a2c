"""Comparisons of the order of texts, which no table answers: they are tried for what the tables have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import ProfileComparison, stacked, truth_of
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary


class TextOrders:
    """The comparisons and their parameters of all profiles, by number."""

    def __init__(self, comparisons: Sequence[ProfileComparison]) -> None:
        self._comparisons = tuple(comparisons)
        self._columns: dict[str, list[Column]] = {n: [] for c in comparisons for n in c.parameters}

    def __bool__(self) -> bool:
        return bool(self._comparisons)

    @property
    def nbytes(self) -> int:
        return sum(c.values.nbytes + c.nulls.nbytes for parts in self._columns.values() for c in parts)

    def add(self, columns: Mapping[str, Column]) -> None:
        for name, parts in self._columns.items():
            parts.append(columns[name])

    def filtered(
        self, matches: ProfileMatches, events: EventColumns, strings: StringDictionary, first: int
    ) -> ProfileMatches:
        """The matches whose comparisons hold; `first` is the number of the first event."""
        if not self._comparisons or not len(matches.profiles):
            return matches
        found = matches.events() + first
        kept = np.ones(len(found), np.bool_)
        rows = {name: self._column(name).take(matches.profiles) for name in self._columns}
        for comparison in self._comparisons:
            value = events.evaluate(comparison.expression, strings).take(found)
            kept &= truth_of(comparison, value, rows, strings)
        return matches.where(kept)

    def _column(self, name: str) -> Column:
        parts = self._columns[name]
        if len(parts) > 1:
            parts[:] = [stacked(parts)]
        return parts[0]

"""Profile indexes: they answer for a batch of events which of many profiles each event satisfies.

A profile is the conjunction of the static conditions that one step of a pattern has for one row of a FOR EACH table.
All profiles of an index have the same comparisons, each with its own parameters. This module has the interface, and the
plain index, which evaluates every profile for every event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column, concatenate_columns, constant, null_constant
from foretell.filter.evaluate.logic import compare
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Expression
from foretell.records import record

#: Matches that an index hands over at once: 32 MB.
MOST_MATCHES = 1 << 22


@record
class ProfileComparison:
    """The conjunct `expression operator parameter` of every profile, about one event.

    `kind` is the type of the expression, whose column may be narrower (INT of a FLOAT). `parameter` is a column of the
    table; without it every profile compares with `constant`, a TIMESTAMP or DURATION in microseconds. No comparison
    with NULL is true, but a profile does not care about the comparison where its parameter `waived_by` is NULL:
    `:low IS NULL OR x BETWEEN :low AND :high` is two comparisons that `low` waives.
    """

    expression: Expression
    kind: Type
    operator: str  # =, <>, <, <=, >, >=
    parameter: str | None
    constant: Scalar = None
    waived_by: str | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name in (self.parameter, self.waived_by) if name is not None)


class ProfileIndex(Protocol):
    """The profiles of one step. They are numbered from 0 in the order in which they are added; a number is never given
    to another profile. The texts of parameters are constants of the dictionary."""

    def match(self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None) -> ProfileMatches:
        """The profiles that each event satisfies. Of events that are not `wanted` they are not asked."""

    def slices(
        self,
        events: EventColumns,
        strings: StringDictionary,
        wanted: Flags | None = None,
        most: int = MOST_MATCHES,
    ) -> Iterator[ProfileMatches]:
        """The same for consecutive parts of the batch, each of one event or with at most `most` matches."""

    def add(self, columns: Mapping[str, Column]) -> Ints:
        """Add profiles, a row of the parameters for each; their numbers."""

    def remove(self, profiles: Ints) -> None:
        """Remove profiles by their numbers, each at most once."""

    def __len__(self) -> int:
        """The profiles that are there."""

    @property
    def summary(self) -> str:
        """The index and the figures by which it was chosen, for `explain`."""

    @property
    def nbytes(self) -> int: ...


def constant_column(value: Scalar, kind: Type, strings: StringDictionary) -> Column:
    """The constant of a comparison as a column of one row."""
    match value:
        case None:
            return null_constant(kind)
        case bool():
            return constant(Type.BOOL, value)
        case str():
            return constant(Type.STRING, strings.constant(value))
        case float():
            return constant(Type.FLOAT, value)
    return constant(Type.INT, value)


#: Comparisons of events with profiles that the plain index makes at once.
_CELLS = 1 << 20


class PlainProfileIndex:
    """Every profile is evaluated for every event: the index that others are compared with."""

    def __init__(self, comparisons: Sequence[ProfileComparison], columns: Mapping[str, Column]) -> None:
        self._comparisons = tuple(comparisons)
        names = {name for comparison in comparisons for name in comparison.parameters}
        self._columns = {name: column.take(np.zeros(0, np.int64)) for name, column in columns.items() if name in names}
        self._live = np.zeros(0, np.bool_)
        self.add(columns)

    def match(self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None) -> ProfileMatches:
        return ProfileMatches.one_after_another(self.slices(events, strings, wanted))

    def slices(
        self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None, most: int = MOST_MATCHES
    ) -> Iterator[ProfileMatches]:
        numbers = np.flatnonzero(self._live)
        rows = {name: column.take(numbers) for name, column in self._columns.items()}
        step = max(1, min(_CELLS, most) // max(1, len(numbers)))
        for begin in range(0, max(1, len(events)), step):
            part = slice(begin, min(len(events), begin + step))
            flags = np.ones((part.stop - begin, len(numbers)), np.bool_)
            for comparison in self._comparisons:
                value = events.evaluate(comparison.expression, strings)
                flags &= truth_of(comparison, _of_events(value, part), rows, strings)
            if wanted is not None:
                flags &= wanted[part, None]
            yield ProfileMatches.of_flags(flags, numbers)

    def add(self, columns: Mapping[str, Column]) -> Ints:
        count = rows_in(columns)
        self._columns = {name: stacked([column, columns[name]]) for name, column in self._columns.items()}
        self._live = np.concatenate([self._live, np.ones(count, np.bool_)])
        return np.arange(len(self._live) - count, len(self._live))

    def remove(self, profiles: Ints) -> None:
        self._live[profiles] = False

    @property
    def live(self) -> Flags:
        """Of each number whether its profile is there."""
        return self._live

    def __len__(self) -> int:
        return int(self._live.sum())

    @property
    def summary(self) -> str:
        return f"every profile is evaluated: {len(self):,} profiles, {self.nbytes / 1e3:,.0f} kB"

    @property
    def nbytes(self) -> int:
        return self._live.nbytes + sum(column.values.nbytes + column.nulls.nbytes for column in self._columns.values())


def _of_events(column: Column, part: slice) -> Column:
    return Column(column.kind, column.values[part, None], column.nulls[part, None])


def truth_of(
    comparison: ProfileComparison, value: Column, rows: Mapping[str, Column], strings: StringDictionary
) -> Flags:
    """Where a comparison of the events' value with the parameters in `rows` is true; NumPy broadcasts both."""
    if comparison.parameter is None:
        other = constant_column(comparison.constant, comparison.kind, strings)
    else:
        other = rows[comparison.parameter]
    truth = compare(comparison.operator, value, other, strings)
    flags: Flags = truth.values.astype(np.bool_) & ~truth.nulls
    return flags if comparison.waived_by is None else flags | rows[comparison.waived_by].nulls


def stacked(columns: Sequence[Column]) -> Column:
    """Columns of one type below one another; that of a column of NULL alone does not count."""
    kind = next((column.kind for column in columns if column.kind is not Type.NULL), Type.NULL)
    return concatenate_columns(columns, kind)


def rows_in(columns: Mapping[str, Column]) -> int:
    """The number of rows."""
    return len(next(iter(columns.values())).values)


def constants_alone(comparisons: Sequence[ProfileComparison]) -> tuple[ProfileComparison, ...]:
    """The comparisons that are the same for all profiles: about the event alone."""
    return tuple(c for c in comparisons if c.parameter is None and c.waived_by is None)


def constant_truth(
    comparisons: Sequence[ProfileComparison], events: EventColumns, strings: StringDictionary, wanted: Flags | None
) -> Flags:
    """The wanted events for which comparisons with constants hold."""
    flags = np.ones(len(events), np.bool_) if wanted is None else wanted
    for comparison in comparisons:
        flags = flags & truth_of(comparison, events.evaluate(comparison.expression, strings), {}, strings)
    return flags

"""The rows of a template that one machine serves, while rows come and go.

A partial match carries the rows it began with as an interval of the rows in their order (filter.template_index).
When rows come or go the order is made anew, and every interval is moved: to where the first and the last of its rows
that are left stand now. Rows that came since may stand between them, so each row knows from which event on it counts,
and a match that began earlier is not told to it. (The other way, an order for each generation of rows, would keep all
rows once more for each change, as long as a partial match is left that began before it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT, TemplateIndex
from foretell.plan.template_selection import Comparison, TemplateSelection

#: What makes of intervals of the rows in their old order those in the new one.
Move = Callable[[Ints], Ints]


def several_values(values: Sequence[Scalar], kind: Type, strings: StringDictionary) -> Column:
    """Values as a column."""
    words = [0 if v is None else strings.code(v) if isinstance(v, str) else v for v in values]
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array(words, dtype), np.array([v is None for v in values], np.bool_))


def parameter_columns(
    row: Mapping[str, Scalar], types: Mapping[str, Type], strings: StringDictionary
) -> dict[str, Column]:
    """One row as columns."""
    return {name: several_values([row[name]], kind, strings) for name, kind in types.items()}


@dataclass
class TemplateRows:
    """Rows as they came: `since` is the position of the first event that a match told to a row may begin with.

    `selection` finds them; `row_ids` and `row_since` are in its order.
    """

    comparisons: tuple[Comparison, ...]
    floats: list[bool]
    columns: dict[str, Column]
    ids: NDArray[np.object_]
    since: Ints
    selection: TemplateIndex = field(init=False)

    def __post_init__(self) -> None:
        self.selection = TemplateIndex(self.comparisons, self.columns, self.floats)

    @classmethod
    def of(
        cls, selection: TemplateSelection, table: TemplateTable, strings: StringDictionary, since: int
    ) -> TemplateRows:
        """The rows of a table that one executor serves."""
        rows = _read(selection.comparisons, table, strings, since)
        return cls(selection.comparisons, list(selection.floats), *rows)

    @property
    def row_ids(self) -> NDArray[np.object_]:
        return self.ids[self.selection.rows_in_order]

    @property
    def row_since(self) -> Ints | None:
        """None where all have been there from the beginning."""
        return self.since[self.selection.rows_in_order] if self.since.any() else None

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> Move:
        columns, ids, since_ = _read(self.comparisons, table, strings, since)
        known = len(self.ids)
        self.columns = {name: _joined(column, columns[name]) for name, column in self.columns.items()}
        self.ids, self.since = np.concatenate([self.ids, ids]), np.concatenate([self.since, since_])
        return self._arranged(np.arange(known))

    def remove(self, ids: Iterable[Scalar]) -> Move:
        gone = set(ids)
        kept = np.array([name not in gone for name in self.ids.tolist()], np.bool_)
        self.columns = {n: Column(c.kind, c.values[kept], c.nulls[kept]) for n, c in self.columns.items()}
        self.ids, self.since = self.ids[kept], self.since[kept]
        return self._arranged(np.where(kept, np.cumsum(kept) - 1, -1))

    def _arranged(self, numbers: Ints) -> Move:
        """Makes the order anew; `numbers` has the new number of each row that was there, -1 of one that went."""
        before = numbers[self.selection.rows_in_order]
        self.selection = TemplateIndex(self.comparisons, self.columns, self.floats)
        place = np.full(len(self.ids) + 1, -1, np.int64)  # a row that went is number -1, and so has the last place
        place[self.selection.rows_in_order] = np.arange(len(self.selection.rows_in_order))
        return _move(place[before])


def _move(places: Ints) -> Move:
    """`places` has where each row of the old order stands now, -1 for one that went. Those left keep their order."""
    last = np.iinfo(np.int64).max
    first_from = np.minimum.accumulate(np.append(np.where(places < 0, last, places), last)[::-1])[::-1]
    last_until = np.maximum.accumulate(np.insert(places, 0, -1))

    def move(intervals: Ints) -> Ints:
        low = intervals >> SHIFT
        high = low + (intervals & ((1 << SHIFT) - 1))
        first, count = first_from[low], last_until[high] + 1 - first_from[low]
        return np.where(count > 0, (first << SHIFT) + count, 0)

    return move


def _read(
    comparisons: Iterable[Comparison], table: TemplateTable, strings: StringDictionary, since: int
) -> tuple[dict[str, Column], NDArray[np.object_], Ints]:
    names = dict.fromkeys(c.parameter for c in comparisons)
    columns = {n: several_values([row[n] for row in table.rows], table.types[n], strings) for n in names}
    ids = np.empty(len(table.rows), object)
    ids[:] = [row["id"] for row in table.rows]
    return columns, ids, np.full(len(table.rows), since, np.int64)


def _joined(one: Column, other: Column) -> Column:
    return Column(one.kind, np.concatenate([one.values, other.values]), np.concatenate([one.nulls, other.nulls]))

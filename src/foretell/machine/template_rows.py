"""The rows of a template that one executor serves, while rows are added and removed.

A run carries the rows that its first event selected, as an interval of the rows in index order (filter.template_index).
When rows are added or removed the index is built again, and every interval is moved to the span from the first to the
last of its rows that are left. Rows that were added since may lie in that span, so each row has the position of the
first event that counts for it, and matches that began earlier are not reported to it. (The alternative, an index for
each generation of rows, would keep all rows once more for each change, as long as a run is left that began before it.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT, TemplateIndex
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.plan.template_selection import Comparison, TemplateSelection

#: Maps intervals of the rows in the order of the old index to the order of the new one.
Move = Callable[[Ints], Ints]


def column_of(values: Sequence[Scalar], kind: Type, strings: StringDictionary) -> Column:
    """Python values as a column."""
    words = [0 if v is None else strings.constant(v) if isinstance(v, str) else v for v in values]
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array(words, dtype), np.array([v is None for v in values], np.bool_))


def parameter_columns(
    row: Mapping[str, Scalar], types: Mapping[str, Type], strings: StringDictionary
) -> dict[str, Column]:
    """One row as columns."""
    return {name: column_of([row[name]], kind, strings) for name, kind in types.items()}


@dataclass
class SortedRows(ABC):
    """The rows in the order in which they were added; `since` has the position of the first event that a match of each
    row may begin with. An index sorts them: a run carries an interval of the rows in that order."""

    columns: dict[str, Column]
    ids: NDArray[np.object_]
    since: Ints
    _indexed: IndexedRows | None = field(default=None, init=False)

    @property
    @abstractmethod
    def sorted_rows(self) -> Ints:
        """The rows in the order of the index."""

    @abstractmethod
    def _index(self) -> None:
        """Builds the index of the rows as they are. Rows that stay keep their order."""

    @abstractmethod
    def _note(self, added: Mapping[str, Column], kept: Flags | None = None) -> None:
        """Takes note of rows that are added, or that only some are kept."""

    @property
    def nbytes(self) -> int:
        """The memory of the rows."""
        columns = sum(column.values.nbytes + column.nulls.nbytes for column in self.columns.values())
        return columns + self.ids.nbytes + self.since.nbytes + self.sorted_rows.nbytes

    @property
    def indexed(self) -> IndexedRows:
        """The rows in the order of the index."""
        if self._indexed is None:
            by = self.sorted_rows
            self._indexed = IndexedRows(self.ids[by], self.since[by] if self.since.any() else None)
        return self._indexed

    def values(self, rows: Ints) -> Mapping[str, Column]:
        """The parameters of rows by their places in the order of the index."""
        by = self.sorted_rows[rows]
        return {name: column.take(by) for name, column in self.columns.items()}

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> Move:
        """Adds rows that count from an event on."""
        columns, ids, since_ = read_rows(self.columns, table, strings, since)
        known = len(self.ids)
        self.columns = {name: joined_column(column, columns[name]) for name, column in self.columns.items()}
        self.ids, self.since = np.concatenate([self.ids, ids]), np.concatenate([self.since, since_])
        self._note(columns)
        return self._reindex(np.arange(known))

    def remove(self, ids: Iterable[Scalar]) -> Move:
        """Removes rows."""
        removed = set(ids)
        kept = np.array([row_id not in removed for row_id in self.ids.tolist()], np.bool_)
        self._note({}, kept)
        self.columns = {n: Column(c.kind, c.values[kept], c.nulls[kept]) for n, c in self.columns.items()}
        self.ids, self.since = self.ids[kept], self.since[kept]
        return self._reindex(np.where(kept, np.cumsum(kept) - 1, -1))

    def _reindex(self, numbers: Ints) -> Move:
        """Builds the index again. `numbers` has the new number of each row that was there, -1 of a removed one."""
        before, self._indexed = numbers[self.sorted_rows], None
        self._index()
        place = np.full(len(self.ids) + 1, -1, np.int64)  # a removed row is number -1, the last place
        place[self.sorted_rows] = np.arange(len(self.sorted_rows))
        return _move(place[before])


@dataclass
class TemplateRows(SortedRows):
    """Rows that the first event of a match selects. `selection` is the index of the rows."""

    comparisons: tuple[Comparison, ...] = ()
    floats: tuple[bool, ...] = ()
    served: ClassVar[str | None] = None  # as snapshots say that these serve all rows
    selection: TemplateIndex = field(init=False)

    def __post_init__(self) -> None:
        self._index()

    def _index(self) -> None:
        self.selection = TemplateIndex(self.comparisons, self.columns, self.floats)

    def _note(self, added: Mapping[str, Column], kept: Flags | None = None) -> None:
        """The index is made of the columns anew."""

    @property
    def sorted_rows(self) -> Ints:
        return self.selection.sorted_rows

    @classmethod
    def of(
        cls, selection: TemplateSelection, table: TemplateTable, strings: StringDictionary, since: int
    ) -> TemplateRows:
        """The rows of a table that one executor serves."""
        rows = read_rows((c.parameter for c in selection.comparisons), table, strings, since)
        return cls(*rows, comparisons=selection.comparisons, floats=selection.floats)


def _move(places: Ints) -> Move:
    """The move to `places`: where each row of the old order lies now, -1 for a removed one. Others keep their order."""
    last = np.iinfo(np.int64).max
    first_from = np.minimum.accumulate(np.append(np.where(places < 0, last, places), last)[::-1])[::-1]
    last_until = np.maximum.accumulate(np.insert(places, 0, -1))

    def move(intervals: Ints) -> Ints:
        low = intervals >> SHIFT
        high = low + (intervals & ((1 << SHIFT) - 1))
        first, count = first_from[low], last_until[high] + 1 - first_from[low]
        return np.where(count > 0, (first << SHIFT) + count, 0)

    return move


def read_rows(
    names: Iterable[str], table: TemplateTable, strings: StringDictionary, since: int
) -> tuple[dict[str, Column], NDArray[np.object_], Ints]:
    """Columns of a table, the ids of its rows, and the position of the first event that counts for each."""
    columns = {n: column_of([row[n] for row in table.rows], table.types[n], strings) for n in dict.fromkeys(names)}
    ids = np.empty(len(table.rows), object)
    ids[:] = [row["id"] for row in table.rows]
    return columns, ids, np.full(len(table.rows), since, np.int64)


def joined_column(first: Column, second: Column) -> Column:
    values, nulls = np.concatenate([first.values, second.values]), np.concatenate([first.nulls, second.nulls])
    return Column(first.kind, values, nulls)


class RowsById:
    """The rows of FOR EACH tables by their ids."""

    def __init__(self, tables: Mapping[str, TemplateTable]) -> None:
        self._tables = tables
        self._rows: dict[str, dict[Scalar, Mapping[str, Scalar]]] = {}

    def row(self, table: str | None, row_id: Scalar) -> Mapping[str, Scalar]:
        name = str(table)
        if name not in self._rows:
            self._rows[name] = {row["id"]: row for row in self._tables[name].rows}
        return self._rows[name][row_id]

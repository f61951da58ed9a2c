"""The store of a FOR EACH table's rows for one statement: columns that rows are appended to, and marks on removed ones.

A row keeps its number as long as the store lives: indexes and runs may refer to it. A million rows take one more
without a copy, and lose one by a mark. Where most rows are removed, `compacted` gives a smaller store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Appendable, Flags, Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.filter.arrow_conversion import column_from_arrow
from foretell.filter.column import AppendableColumn, Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.row_ids import RowIds


@dataclass
class RowStore:
    """Rows by their numbers, from 0 on. `types` are those of the columns that a statement reads.

    `since` has the position of the first event that a match of each row may begin with, `alive` whether the row is
    still there.
    """

    types: Mapping[str, Type]
    ids: RowIds
    living: int = 0
    _columns: dict[str, AppendableColumn] = field(default_factory=dict)
    _alive: Appendable = field(default_factory=lambda: Appendable(np.bool_))
    _since: Appendable = field(default_factory=lambda: Appendable(np.int64))

    def __post_init__(self) -> None:
        self._columns = {name: AppendableColumn(kind) for name, kind in self.types.items()}

    @classmethod
    def of(cls, table: TemplateTable, types: Mapping[str, Type], strings: StringDictionary, since: int) -> RowStore:
        """The rows of a table that has these columns."""
        store = cls(types, RowIds(table.types.get("id", Type.STRING)))
        store.add(table, strings, since)
        return store

    def __len__(self) -> int:
        """How many numbers rows have had."""
        return self._alive.count

    @property
    def nbytes(self) -> int:
        """The memory of all rows."""
        columns = sum(column.nbytes for column in self._columns.values())
        return columns + self._alive.nbytes + self._since.nbytes + self.ids.nbytes

    @property
    def columns(self) -> dict[str, Column]:
        """The columns of all rows, also of removed ones."""
        return {name: column.column for name, column in self._columns.items()}

    @property
    def alive(self) -> Flags:
        return self._alive.array

    @property
    def since(self) -> Ints:
        return self._since.array

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows that are there."""
        return np.arange(len(self)) if self.living == len(self) else np.flatnonzero(self.alive)

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> Ints:
        """Adds rows that count from an event on; returns their numbers."""
        first, count = len(self), len(table)
        if count:
            for name, column in self._columns.items():
                column.append(column_from_arrow(table.columns.column(name), column.kind, strings))
            self.ids.append(table.ids)
            self._alive.append(np.ones(count, np.bool_))
            self._since.append(np.full(count, since, np.int64))
            self.living += count
        return np.arange(first, first + count)

    def remove(self, ids: ArrowArray) -> Ints:
        """Removes the rows with these ids, each of them once and there; returns their numbers."""
        rows = self.ids.rows(ids)
        self._alive.array[rows] = False
        self.living -= len(rows)
        return rows

    def set_since(self, since: Ints) -> None:
        """Takes over from which event on each row counts."""
        self._since.array[:] = since

    def texts(self) -> list[Ints]:
        """The codes of all texts in the columns."""
        return [c.values[self.alive] for c in self.columns.values() if c.kind is Type.STRING]

    @property
    def crowded(self) -> bool:
        """Whether so many rows are removed that a smaller store is worth its copy."""
        return len(self) > 1024 and len(self) > 2 * self.living

    def compacted(self) -> RowStore:
        """A store of the rows that are there, in their order, with new numbers."""
        rows = self.numbers
        store = RowStore(self.types, RowIds(self.ids.kind))
        for name, column in self.columns.items():
            store._columns[name].append(column.take(rows))
        store.ids.append(self.ids.take(rows))
        store._alive.append(np.ones(len(rows), np.bool_))
        store._since.append(self.since[rows])
        store.living = len(rows)
        return store

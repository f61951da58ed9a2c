"""The store of a FOR EACH table's rows for one statement: columns that rows are appended to, and marks on removed ones.

A row keeps its number as long as the store lives: indexes and runs may refer to it. A million rows take one more
without a copy, and lose one by a mark. Where most rows are removed, `compacted` gives a smaller store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, room_for
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.filter.arrow_conversion import column_from_arrow
from foretell.filter.column import Column, dtype_of
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.row_ids import RowIds


class Appendable:
    """An array that grows by appending. Views of what is there stay as they are, but for what `array` is set to."""

    def __init__(self, dtype: Any) -> None:
        self._room: NDArray[Any] = np.zeros(0, dtype)
        self.count = 0

    @property
    def array(self) -> NDArray[Any]:
        return self._room[: self.count]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes

    def copy(self) -> Appendable:
        """An array of its own: views of this one stay as they are whatever is set in the copy."""
        copied = Appendable(self._room.dtype)
        copied.append(self.array)
        return copied

    def append(self, values: NDArray[Any]) -> None:
        stop = self.count + len(values)
        if stop > len(self._room):
            grown = np.zeros(room_for(stop, len(self._room)), self._room.dtype)
            grown[: self.count] = self.array
            self._room = grown
        self._room[self.count : stop] = values
        self.count = stop


@dataclass
class RowStore:
    """Rows by their numbers, from 0 on. `types` are those of the columns that a statement reads.

    `since` has the position of the first event that a match of each row may begin with, `alive` whether the row is
    still there.
    """

    types: Mapping[str, Type]
    ids: RowIds
    living: int = 0
    _columns: dict[str, tuple[Appendable, Appendable]] = field(default_factory=dict)
    _alive: Appendable = field(default_factory=lambda: Appendable(np.bool_))
    _since: Appendable = field(default_factory=lambda: Appendable(np.int64))

    def __post_init__(self) -> None:
        self._columns = {name: (Appendable(dtype_of(k)), Appendable(np.bool_)) for name, k in self.types.items()}

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
        columns = sum(values.nbytes + nulls.nbytes for values, nulls in self._columns.values())
        return columns + self._alive.nbytes + self._since.nbytes + self.ids.nbytes

    @property
    def columns(self) -> dict[str, Column]:
        """The columns of all rows, also of removed ones."""
        return {
            name: Column(self.types[name], values.array, nulls.array) for name, (values, nulls) in self._columns.items()
        }

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
            for name, (values, nulls) in self._columns.items():
                column = column_from_arrow(table.columns.column(name), self.types[name], strings)
                values.append(column.values)
                nulls.append(column.nulls)
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
        codes = (self._columns[name][0].array for name, kind in self.types.items() if kind is Type.STRING)
        return [own[self.alive] for own in codes]

    @property
    def crowded(self) -> bool:
        """Whether so many rows are removed that a smaller store is worth its copy."""
        return len(self) > 1024 and len(self) > 2 * self.living

    def compacted(self) -> RowStore:
        """A store of the rows that are there, in their order, with new numbers."""
        rows = self.numbers
        store = RowStore(self.types, RowIds(self.ids.kind))
        for name, (values, nulls) in self._columns.items():
            store._columns[name][0].append(values.array[rows])
            store._columns[name][1].append(nulls.array[rows])
        store.ids.append(self.ids.take(rows))
        store._alive.append(np.ones(len(rows), np.bool_))
        store._since.append(self.since[rows])
        store.living = len(rows)
        return store

"""Rows of a template that an index sorts, so that runs carry intervals of them, and rows that run one by one.

When rows are added or removed the index is built again before the next batch, and every interval is moved to the span
from the first to the last of its rows that are left. Rows that were added since may lie in that span, so each row has
the position of the first event that counts for it, and matches that began earlier are not reported to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.machine.row_store import RowStore

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
    """Rows that an index sorts: a run carries an interval of the rows in that order."""

    store: RowStore
    _indexed: IndexedRows | None = field(default=None, init=False)
    _is_current: bool = field(default=True, init=False)

    @property
    @abstractmethod
    def sorted_rows(self) -> Ints:
        """The numbers of the rows in the order of the index."""

    @abstractmethod
    def _index(self) -> None:
        """Builds the index of the rows that are there. Rows that stay keep their order."""

    def _add(self, rows: Ints) -> None:  # noqa: B027 - an index that is made of columns alone needs nothing else
        """Takes note of rows that were added."""

    def _remove(self, rows: Ints) -> None:  # noqa: B027
        """Takes note of rows that were removed."""

    def _keep(self, rows: Ints) -> None:  # noqa: B027
        """Takes note that these rows have new numbers, from 0 on, and no others are left."""

    @property
    def nbytes(self) -> int:
        """The memory of the rows."""
        return self.store.nbytes + self.sorted_rows.nbytes

    @property
    def indexed(self) -> IndexedRows:
        """The rows in the order of the index."""
        if self._indexed is None:
            since = self.store.since
            self._indexed = IndexedRows(self.store.ids.array, self.sorted_rows, since if since.any() else None)
        return self._indexed

    def values(self, places: Ints) -> Mapping[str, Column]:
        """The parameters of the rows at places in the order of the index."""
        rows = self.sorted_rows[places]
        return {name: column.take(rows) for name, column in self.store.columns.items()}

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> None:
        """Adds rows that count from an event on."""
        self._add(self.store.add(table, strings, since))
        self._is_current = False

    def remove(self, ids: ArrowArray) -> None:
        """Removes rows."""
        self._remove(self.store.remove(ids))
        self._is_current = False

    def refresh(self) -> Move | None:
        """Builds the index again if rows have come or gone since; before the next batch, so that many changes cost it
        once. None where nothing moves."""
        if self._is_current:
            return None
        numbers = np.arange(len(self.store))
        if self.store.crowded:
            self._keep(self.store.numbers)
            numbers = np.where(self.store.alive, np.cumsum(self.store.alive) - 1, -1)
            self.store = self.store.compacted()
        return self._reindex(numbers)

    def _reindex(self, numbers: Ints) -> Move:
        """Builds the index. `numbers` has the present number of each row, -1 of one that has none."""
        before, self._indexed, self._is_current = numbers[self.sorted_rows], None, True
        self._index()
        place = np.full(len(self.store) + 1, -1, np.int64)  # a row without a number is -1, the last place
        place[self.sorted_rows] = np.arange(len(self.sorted_rows))
        return _move(place[before])


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


class RowsById:
    """The rows of FOR EACH tables by their ids."""

    def __init__(self, tables: Mapping[str, TemplateTable]) -> None:
        self._tables = tables
        self._rows: dict[str, dict[Scalar, Mapping[str, Scalar]]] = {}

    def row(self, table: str | None, row_id: Scalar) -> Mapping[str, Scalar]:
        name = str(table)
        if name not in self._rows:
            self._rows[name] = dict(zip(self._tables[name].scalars("id"), self._tables[name].rows, strict=True))
        return self._rows[name][row_id]

"""The rows of a FOR EACH table by the values that a correlator reads of them: rows with equal values run once.

Only rows that were added together share a set of values: the machines of a row that comes later have not seen the
events before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.input.key_index import KeyIndex
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.machine.row_ids import RowIds
from foretell.machine.row_store import RowStore
from foretell.storage.recorded_values import indices, require


@dataclass
class ParameterSets:
    """`store` has the rows in the order in which they were added; `set_of` is the number of the set that each row
    belongs to."""

    types: Mapping[str, Type]
    ids: Type
    set_of: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self.store = RowStore(self.types, RowIds(self.ids))
        self._arrange()

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """The memory of the rows."""
        return self.store.nbytes + 3 * self.set_of.nbytes

    def add(self, table: TemplateTable, strings: StringDictionary) -> None:
        """Adds rows. Those of them that are equal are one set."""
        added = self.store.add(table, strings, 0)
        self.set_of = np.concatenate([self.set_of, self.count + _equal_rows(self.store.columns, added)])
        self._arrange()

    def remove(self, ids: ArrowArray) -> Ints:
        """Removes rows. Returns the new number of each set; -1 where no row is left of it."""
        before = self.count
        self.store.remove(ids)
        left, self.set_of = np.unique(self.set_of[self.store.alive], return_inverse=True)
        self.store = self.store.compacted()
        self._arrange()
        numbers = np.full(before, -1, np.int64)
        numbers[left] = np.arange(len(left))
        return numbers

    def restore(self, recorded: object) -> None:
        """Takes over which rows are one set from a snapshot."""
        sets = indices(recorded, max(1, len(self.store)), "the rows of a correlator", (len(self.store),))
        require(len(np.unique(sets)) == sets.max(initial=-1) + 1, "the rows of a correlator")
        self.set_of = sets.copy()
        self._arrange()
        for column, own in zip(self.store.columns.values(), self.by_set.values(), strict=True):
            equal = (column.nulls & own.nulls[sets]) | (column.values.view(np.int64) == own.values.view(np.int64)[sets])
            require(bool(equal.all()), "the rows of a correlator")

    def _arrange(self) -> None:
        self.count = int(self.set_of.max(initial=-1)) + 1
        self._rows = np.argsort(self.set_of, kind="stable")
        self._starts = np.searchsorted(self.set_of[self._rows], np.arange(self.count + 1))
        first = self._rows[self._starts[:-1]]
        #: The values of each set, by parameter.
        self.by_set = {name: Column(c.kind, c.values[first], c.nulls[first]) for name, c in self.store.columns.items()}
        self.indexed = IndexedRows(self.store.ids.array, np.arange(len(self.store)))
        self._rank: Ints | None = None

    def rows_of(self, sets: Ints, event: Ints) -> tuple[Ints, Ints]:
        """The rows of the set of each token, by events and then by the ids of rows: which token, and the row."""
        if self._rank is None:
            self._rank = np.empty(len(self.store), np.int64)
            self._rank[self.indexed.by_id] = np.arange(len(self.store))
        counts = (self._starts[1:] - self._starts[:-1])[sets]
        token = np.repeat(np.arange(len(sets)), counts)
        offset = np.arange(len(token)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = self._rows[self._starts[sets][token] + offset]
        by = np.lexsort((self._rank[row], event[token]))  # stable: the tokens of a row stay in order
        return token[by], row[by]


def _equal_rows(columns: Mapping[str, Column], rows: Ints) -> Ints:
    """A number for each row, equal where all values are: numbers by their words, so that 0.0 is not -0.0. The numbers
    are in the order of the first rows that have them."""
    words = [np.zeros(len(rows), np.int64)]
    for column in columns.values():
        nulls = column.nulls[rows]
        words += [nulls.astype(np.int64), np.where(nulls, 0, column.values.view(np.int64)[rows])]
    width = len(words)
    return KeyIndex().number(np.arange(0, width * len(rows) + 1, width), np.stack(words, axis=1).reshape(-1))

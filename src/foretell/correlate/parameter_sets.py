"""The rows of a FOR EACH table by the values that a correlator reads of them: rows with equal values run once.

Only rows that were added together share a set of values: the machines of a row that comes later have not seen the
events before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.machine.template_rows import column_of
from foretell.storage.recorded_values import indices, require


@dataclass
class ParameterSets:
    """`columns` and `ids` are those of rows, in the order in which they were added; `set_of` is the number of the set
    that each row belongs to."""

    types: Mapping[str, Type]
    columns: dict[str, Column] = field(init=False)
    ids: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, object))
    set_of: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        nothing = np.zeros(0, np.bool_)
        self.columns = {n: Column(kind, nothing.astype(_dtype(kind)), nothing) for n, kind in self.types.items()}
        self._arrange()

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """About the memory of the rows: ids are objects."""
        return sum(c.values.nbytes + c.nulls.nbytes for c in self.columns.values()) + 96 * len(self.ids)

    def add(self, table: TemplateTable, strings: StringDictionary) -> None:
        """Adds rows. Those of them that are equal are one set."""
        numbers: dict[tuple[object, ...], int] = {}
        sets = [numbers.setdefault(self._values(row), self.count + len(numbers)) for row in table.rows]
        for name, kind in self.types.items():
            column, more = self.columns[name], column_of([row[name] for row in table.rows], kind, strings)
            values, nulls = (
                np.concatenate(both) for both in ((column.values, more.values), (column.nulls, more.nulls))
            )
            self.columns[name] = Column(kind, values, nulls)
        ids = np.empty(len(table.rows), object)
        ids[:] = [row["id"] for row in table.rows]
        self.ids = np.concatenate([self.ids, ids])
        self.set_of = np.concatenate([self.set_of, np.array(sets, np.int64)])
        self._arrange()

    def remove(self, ids: Iterable[Scalar]) -> Ints:
        """Removes rows. Returns the new number of each set; -1 where no row is left of it."""
        removed, before = set(ids), self.count
        kept = np.array([row_id not in removed for row_id in self.ids.tolist()], np.bool_)
        self.columns = {name: column.take(kept) for name, column in self.columns.items()}
        left, self.set_of = np.unique(self.set_of[kept], return_inverse=True)
        self.ids = self.ids[kept]
        self._arrange()
        numbers = np.full(before, -1, np.int64)
        numbers[left] = np.arange(len(left))
        return numbers

    def restore(self, recorded: object) -> None:
        """Takes over which rows are one set from a snapshot."""
        sets = indices(recorded, max(1, len(self.ids)), "the rows of a correlator", (len(self.ids),))
        require(len(np.unique(sets)) == sets.max(initial=-1) + 1, "the rows of a correlator")
        self.set_of = sets.copy()
        self._arrange()
        for column, own in zip(self.columns.values(), self.by_set.values(), strict=True):
            equal = (column.nulls & own.nulls[sets]) | (column.values.view(np.int64) == own.values.view(np.int64)[sets])
            require(bool(equal.all()), "the rows of a correlator")

    def _values(self, row: Mapping[str, Scalar]) -> tuple[object, ...]:
        """The values of a row, by which it is equal to others: not 0.0 to -0.0."""
        return tuple(value.hex() if isinstance(value := row[name], float) else value for name in self.types)

    def _arrange(self) -> None:
        self.count = int(self.set_of.max(initial=-1)) + 1
        self._rows = np.argsort(self.set_of, kind="stable")
        self._starts = np.searchsorted(self.set_of[self._rows], np.arange(self.count + 1))
        first = self._rows[self._starts[:-1]]
        #: The values of each set, by parameter.
        self.by_set = {name: Column(c.kind, c.values[first], c.nulls[first]) for name, c in self.columns.items()}
        self.indexed = IndexedRows(self.ids)
        self._rank: Ints | None = None

    def rows_of(self, sets: Ints, event: Ints) -> tuple[Ints, Ints]:
        """The rows of the set of each token, by events and then by the ids of rows: which token, and the row."""
        if self._rank is None:
            self._rank = np.empty(len(self.ids), np.int64)
            self._rank[self.indexed.by_id] = np.arange(len(self.ids))
        counts = (self._starts[1:] - self._starts[:-1])[sets]
        token = np.repeat(np.arange(len(sets)), counts)
        offset = np.arange(len(token)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = self._rows[self._starts[sets][token] + offset]
        by = np.lexsort((self._rank[row], event[token]))  # stable: the tokens of a row stay in order
        return token[by], row[by]


def _dtype(kind: Type) -> type[np.float64 | np.int64]:
    return np.float64 if kind is Type.FLOAT else np.int64

"""The FOR EACH tables of an engine, whose rows can be added and removed while events are processed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arguments.streams import read_tables
from foretell.arguments.table_budget import TableBudget
from foretell.arguments.validation import bad_argument
from foretell.arrays import Ints
from foretell.errors import InputError, suggestion
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, numpy_of, table_from_bytes, table_to_bytes
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable, are_distinct, read_more_rows
from foretell.events.ingest.typed_table import arrow_schema, table_of_scalars
from foretell.events.types import ATTRIBUTE_TYPES, Scalar, Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.limits import Limits
from foretell.machine.row_ids import ids_of_scalars
from foretell.machine.row_store import RowStore
from foretell.storage.recorded_values import require

#: So many additions are kept apart before they are joined.
_MOST_PARTS = 1024

#: A store of ids alone has no columns of texts.
_NO_TEXTS = StringDictionary()

#: In a larger table no id is looked for that an unknown one might have meant.
_MOST_SUGGESTED = 10_000


class LiveTable:
    """A table whose rows come and go.

    Rows that are added are parts of their own at first: ever fewer and larger ones, each about twice as long as the
    next. Removed ones stay in their part, and have a mark, until `template` puts all parts together.
    """

    def __init__(self, name: str, table: TemplateTable) -> None:
        self.name = name
        self.types: Mapping[str, Type] = table.types
        self._begin(table)

    def _begin(self, table: TemplateTable) -> None:
        self._parts: list[pa.Table] = [table.columns]
        self._store: RowStore | None = None  # of the ids: made when rows come or go
        self._template: TemplateTable | None = table
        self._bytes = table.nbytes

    def __len__(self) -> int:
        return self._parts[0].num_rows if self._store is None else self._store.living

    @property
    def nbytes(self) -> int:
        """About the memory of all rows."""
        return self._bytes + (0 if self._store is None else self._store.nbytes)

    def template(self) -> TemplateTable:
        """The rows as they are now."""
        if self._template is None:
            whole, store = self._whole(), self._ids
            self._template = whole if store.living == len(whole) else whole.take(store.numbers)
        return self._template

    def _whole(self) -> TemplateTable:
        """All rows, also those that are removed, by their numbers."""
        if len(self._parts) > 1:
            self._parts = [pa.concat_tables(self._parts).combine_chunks()]
        return TemplateTable(self.types, self._parts[0])

    @property
    def _ids(self) -> RowStore:
        if self._store is None:
            self._store = RowStore.of(self._whole(), {}, _NO_TEXTS, 0)
        return self._store

    def rows_of(self, ids: ArrowArray) -> Ints:
        """The numbers of the rows with these ids; -1 where there is none."""
        store = self._ids
        rows = store.ids.rows(ids)
        rows[rows >= 0] = np.where(store.alive[rows[rows >= 0]], rows[rows >= 0], -1)
        return rows

    def read_new(self, rows: object, budget: TableBudget) -> TemplateTable:
        """Read rows to add; their ids must be new."""
        if not self.types:
            hint = "unsubscribe the statements that are FOR EACH of it, and subscribe again with rows"
            raise InputError("bad-table", f"{self.name}: the table has no columns", hint=hint)
        table = read_more_rows(budget.limited(rows, self.name), self.name, self.types)
        budget.require(table, self.name)
        known = self.rows_of(table.ids) >= 0
        if known.any():
            row_id = table.take(np.flatnonzero(known)[:1]).rows[0]["id"]
            hint = f"call remove_rows({self.name!r}, [{row_id!r}]) first"
            raise InputError("bad-table", f"{self.name}: the id {row_id!r} exists already", hint=hint)
        return table

    def require_ids(self, ids: object) -> ArrowArray:
        """The ids of rows to remove, each once; an unknown one is an error."""
        plain = ids.to_pylist() if isinstance(ids, pa.Array | pa.ChunkedArray) else ids
        plain = plain.tolist() if isinstance(plain, np.ndarray) else plain
        if isinstance(plain, str) or not isinstance(plain, Iterable):
            raise bad_argument("ids", "a list of the rows' ids", ids, hint=f"remove_rows({self.name!r}, [id, ...])")
        row_ids = list(plain)
        found, fits = ids_of_scalars(row_ids, self.types.get("id", Type.STRING))
        rows = self.rows_of(found)
        known = fits & (rows >= 0)
        if not known.all():
            row_id = row_ids[int(np.argmin(known))]
            hint = ""
            if len(self) <= _MOST_SUGGESTED:
                hint = suggestion(str(row_id), map(str, self.template().scalars("id") if self.types else ()))
            raise InputError("unknown-row", f"{self.name}: there is no row with the id {row_id!r}", hint=hint)
        if len(rows) == 1:
            return found
        _, first = np.unique(rows, return_index=True)
        return found if len(first) == len(rows) else found.take(arrow_of(np.sort(first)))

    def add(self, rows: TemplateTable) -> None:
        if not len(rows):
            return
        self._ids.add(rows, _NO_TEXTS, 0)
        self._parts.append(rows.columns)
        self._template = None
        self._bytes += rows.nbytes
        if len(self._parts) > _MOST_PARTS:
            self._join_parts()

    def _join_parts(self) -> None:
        """Joins the small parts, and then each with the one before it that is not twice as long."""
        first, length = len(self._parts), 0
        while first and self._parts[first - 1].num_rows < 2 * max(length, _MOST_PARTS):
            first -= 1
            length += self._parts[first].num_rows
        self._parts[first:] = [pa.concat_tables(self._parts[first:]).combine_chunks()]

    def remove(self, ids: ArrowArray) -> None:
        if not len(ids):
            return
        self._ids.remove(ids)
        self._template = None
        if self._ids.crowded:
            self._begin(self.template())

    def changes_to(self, wanted: LiveTable) -> tuple[ArrowArray, TemplateTable]:
        """The ids of the rows to remove and the rows to add, so that the table is as wanted. A row with changed values
        is a new row."""
        others = wanted.template()
        if not self.types or not wanted.types:
            return self._ids.ids.take(self._ids.numbers), others
        place = self.rows_of(others.ids)
        common = np.flatnonzero(place >= 0)
        mine, theirs = self._whole().take(place[common]), others.take(common)
        same = np.ones(len(common), np.bool_)
        for name in self.types:
            same &= _equal(mine.columns.column(name), theirs.columns.column(name))
        goes, comes = self._ids.alive.copy(), np.ones(len(others), np.bool_)
        goes[place[common[same]]] = comes[common[same]] = False
        return self._ids.ids.take(np.flatnonzero(goes)), others.take(np.flatnonzero(comes))

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        types = {str(column): kind.value for column, kind in self.types.items()}
        return {"types": types, "rows": table_to_bytes(self.template().columns)}

    @classmethod
    def restore(cls, name: str, state: Mapping[str, Any]) -> LiveTable:
        types = {column: Type(kind) for column, kind in state["types"].items()}
        require(set(types.values()) <= set(ATTRIBUTE_TYPES), "the table's rows")
        columns = _recorded(state["rows"]) if "rows" in state else _early_columns(state["columns"], types)
        require(columns.schema.equals(arrow_schema(types)), "the table's rows")
        if types:
            require(columns.column("id").null_count == 0, "rows without an id")
            require(are_distinct(columns.column("id")), "rows with equal ids")
        return cls(name, TemplateTable(types, columns))


def _recorded(data: object) -> pa.Table:
    """The rows in a snapshot. Arrow itself trusts what it reads."""
    require(isinstance(data, bytes), "the table's rows")
    assert isinstance(data, bytes)
    table = table_from_bytes(data)
    table.validate(full=True)
    return table


def _early_columns(columns: Mapping[str, list[Scalar]], types: Mapping[str, Type]) -> pa.Table:
    """The rows of early snapshots, which have the values of each column."""
    require(list(types) == list(columns), "the table's rows")
    require(len(set(map(len, columns.values()))) <= 1, "the table's rows")
    for column, kind in types.items():
        require(all(map(_has_type, columns[column], repeat(kind))), "the table's values")
    return table_of_scalars(columns, types)


def _has_type(value: object, kind: Type) -> bool:
    """Whether a recorded value of a table is of a type; a TIMESTAMP is its microseconds."""
    if value is None:
        return True
    match kind:
        case Type.BOOL:
            return isinstance(value, bool)
        case Type.STRING:
            return isinstance(value, str)
        case Type.FLOAT:
            return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is int and -(2**63) <= value < 2**63


def _equal(first: ArrowArray, second: ArrowArray) -> Any:
    """Whether values are equal, or both NULL."""
    equal = pc.if_else(pc.is_null(first), pc.is_null(second), pc.equal(first, second))
    return numpy_of(pc.if_else(pc.is_null(equal), pc.is_valid(equal), equal))


def live_tables(names: Iterable[str], tables: Mapping[str, object], limits: Limits) -> dict[str, LiveTable]:
    """Read the tables that statements are FOR EACH row of."""
    return {name: LiveTable(name, table) for name, table in read_tables(names, tables, limits).items()}

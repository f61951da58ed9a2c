"""The FOR EACH tables of an engine, whose rows can be added and removed while events are processed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.arguments.streams import read_tables
from foretell.arguments.validation import bad_argument
from foretell.errors import InputError, suggestion
from foretell.events.ingest.template_tables import TemplateTable, read_more_rows
from foretell.events.types import ATTRIBUTE_TYPES, Scalar, Type
from foretell.storage.recorded_values import require


@dataclass
class LiveTable:
    """A table's rows by their ids."""

    name: str
    types: Mapping[str, Type]
    rows: dict[Scalar, dict[str, Scalar]]

    @classmethod
    def of(cls, name: str, table: TemplateTable) -> LiveTable:
        return cls(name, table.types, {row["id"]: row for row in table.rows})

    def template(self) -> TemplateTable:
        return TemplateTable(self.types, list(self.rows.values()))

    def read_new(self, rows: object) -> TemplateTable:
        """Read rows to add; their ids must be new."""
        if not self.types:
            hint = "unsubscribe the statements that are FOR EACH of it, and subscribe again with rows"
            raise InputError("bad-table", f"{self.name}: the table has no columns", hint=hint)
        table = read_more_rows(rows, self.name, self.types)
        for row in table.rows:
            if row["id"] in self.rows:
                hint = f"call remove_rows({self.name!r}, [{row['id']!r}]) first"
                raise InputError("bad-table", f"{self.name}: the id {row['id']!r} exists already", hint=hint)
        return table

    def require_ids(self, ids: object) -> list[Scalar]:
        """The ids of rows to remove, each once; an unknown one is an error."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise bad_argument("ids", "a list of the rows' ids", ids, hint=f"remove_rows({self.name!r}, [id, ...])")
        row_ids = list(ids)
        for row_id in row_ids:
            if not isinstance(row_id, bool | int | float | str) or row_id not in self.rows:
                hint = suggestion(str(row_id), map(str, self.rows))
                raise InputError("unknown-row", f"{self.name}: there is no row with the id {row_id!r}", hint=hint)
        return list(dict.fromkeys(row_ids))

    def add(self, rows: TemplateTable) -> None:
        self.rows |= {row["id"]: row for row in rows.rows}

    def remove(self, ids: Iterable[Scalar]) -> None:
        for row_id in ids:
            del self.rows[row_id]

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        columns = {str(column): [row[column] for row in self.rows.values()] for column in self.types}
        return {"types": {str(column): kind.value for column, kind in self.types.items()}, "columns": columns}

    @classmethod
    def restore(cls, name: str, state: Mapping[str, Any]) -> LiveTable:
        types = {column: Type(kind) for column, kind in state["types"].items()}
        require(
            list(types) == list(state["columns"]) and set(types.values()) <= set(ATTRIBUTE_TYPES), "the table's rows"
        )
        for column, kind in types.items():
            require(all(_has_type(value, kind) for value in state["columns"][column]), "the table's values")
        values = zip(*state["columns"].values(), strict=True)
        table = cls.of(name, TemplateTable(types, [dict(zip(types, row, strict=True)) for row in values]))
        require(not types or len(table.rows) == len(state["columns"]["id"]), "rows with equal ids")
        return table


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


def live_tables(names: Iterable[str], tables: Mapping[str, object]) -> dict[str, LiveTable]:
    """Read the tables that statements are FOR EACH row of."""
    return {name: LiveTable.of(name, table) for name, table in read_tables(names, tables).items()}

"""The FOR EACH tables of an engine: their rows come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.arguments.validation import bad_argument
from foretell.errors import InputError, suggestion
from foretell.events.ingest.reader import TemplateTable, read_more_rows
from foretell.events.types import Scalar, Type


@dataclass
class LiveTable:
    """A table by the ids of its rows."""

    name: str
    types: Mapping[str, Type]
    rows: dict[Scalar, dict[str, Scalar]]

    @classmethod
    def of(cls, name: str, loaded: TemplateTable) -> LiveTable:
        return cls(name, loaded.types, {row["id"]: row for row in loaded.rows})

    def loaded(self) -> TemplateTable:
        return TemplateTable(self.types, list(self.rows.values()))

    def new(self, rows: object) -> TemplateTable:
        """Rows that may be added."""
        if not self.types:
            hint = "unsubscribe what is FOR EACH of it, and subscribe again with rows"
            raise InputError("bad-table", f"{self.name}: the table was given without columns", hint=hint)
        loaded = read_more_rows(rows, self.name, self.types)
        for row in loaded.rows:
            if row["id"] in self.rows:
                hint = f"remove_rows({self.name!r}, [{row['id']!r}]) first"
                raise InputError("bad-table", f"{self.name}: the id {row['id']!r} is there already", hint=hint)
        return loaded

    def leaving(self, ids: object) -> list[Scalar]:
        """The ids of rows that may go, each once."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise bad_argument("ids", "a list of the rows' ids", ids, hint=f"remove_rows({self.name!r}, [id, ...])")
        found = list(ids)
        for one in found:
            if not isinstance(one, bool | int | float | str) or one not in self.rows:
                hint = suggestion(str(one), map(str, self.rows))
                raise InputError("unknown-row", f"{self.name}: there is no row with the id {one!r}", hint=hint)
        return list(dict.fromkeys(found))

    def add(self, rows: TemplateTable) -> None:
        self.rows |= {row["id"]: row for row in rows.rows}

    def remove(self, ids: Iterable[Scalar]) -> None:
        for one in ids:
            del self.rows[one]

    # ── to be written down ──

    def state(self) -> dict[str, Any]:
        columns = {str(column): [row[column] for row in self.rows.values()] for column in self.types}
        return {"types": {str(column): kind.value for column, kind in self.types.items()}, "columns": columns}

    @classmethod
    def restore(cls, name: str, state: Mapping[str, Any]) -> LiveTable:
        types = {column: Type(kind) for column, kind in state["types"].items()}
        values = zip(*state["columns"].values(), strict=True)
        return cls.of(name, TemplateTable(types, [dict(zip(types, row, strict=True)) for row in values]))

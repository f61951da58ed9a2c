"""Rows of a template that run one by one: their values as columns, and the rows by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary


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

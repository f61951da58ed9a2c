"""The few values of a column that decide its type: a guess over those of all parts is the guess over all data.

Parts of one source can so be looked at apart, each in its own task, and their types still be settled over everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.python_columns import PythonColumn, deciding_values
from foretell.events.ingest.raw_columns import RawColumn, RawTable, RowOrigin
from foretell.events.ingest.text_columns import TextColumn, deciding_texts
from foretell.events.types import Type


class TypeEvidence(msgspec.Struct, frozen=True):
    """What one file shows: its columns in order, what decides their types, and how many rows it has."""

    source: str
    names: list[str]
    values: dict[str, list[Any]]
    rows: int
    rejected: int
    texts: bool

    def __add__(self, later: TypeEvidence) -> TypeEvidence:
        """The same file a little further."""
        names = list(dict.fromkeys([*self.names, *later.names]))
        values = {
            n: self.values.get(n, []) + later.values.get(n, []) for n in names if n in {*self.values, *later.values}
        }
        return TypeEvidence(
            self.source, names, values, self.rows + later.rows, self.rejected + later.rejected, self.texts
        )


def evidence_of(source: str, gathered: RawTable, *, texts: bool) -> TypeEvidence:
    decide: Callable[[Any], list[Any]] = (
        (lambda c: deciding_texts(c.texts)) if texts else lambda c: deciding_values(c.values)
    )
    values = {name: decide(column) for name, column in gathered.columns.items()}
    return TypeEvidence(source, list(gathered.names), values, gathered.rows, len(gathered.rejected), texts)


def table_from_evidence(witnesses: Iterable[TypeEvidence]) -> RawTable:
    """The data of all files, as far as types are concerned."""
    files = list(witnesses)
    names = list(dict.fromkeys(name for file in files for name in file.names))
    values = {name: [value for file in files for value in file.values.get(name, [])] for name in names}
    texts = any(file.texts for file in files)
    columns: dict[str, RawColumn] = {name: _column(name, some, texts) for name, some in values.items()}
    parts = [RowOrigin(file.source, range(file.rows), str) for file in files]
    return RawTable(columns, names, parts, (), absent_is_null=not texts or not names)


def _column(name: str, values: list[Any], texts: bool) -> RawColumn:
    if not texts:
        return PythonColumn(name, values)
    return TextColumn(name, arrow_of_values(values, Type.STRING) if values else pa.nulls(0, pa.string()))

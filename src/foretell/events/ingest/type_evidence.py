"""Type evidence: the few values of a column that decide its type.

Inference over the evidence of all files gives the same types as inference over all their data. So Spark's tasks can
read the files of a source separately.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.python_columns import PythonColumn, deciding_values
from foretell.events.ingest.raw_columns import RawColumn, RawTable, RowOrigin
from foretell.events.ingest.text_columns import TextColumn, deciding_texts
from foretell.events.types import Type


class TypeEvidence(msgspec.Struct, frozen=True):
    """The evidence of one file: its columns in order, the values that decide their types, and the number of rows."""

    source: str
    names: list[str]
    values: dict[str, list[Any]]
    rows: int
    rejected: int
    texts: bool

    def __add__(self, later: TypeEvidence) -> TypeEvidence:
        """Merge with the evidence of a later part of the same file."""
        names = list(dict.fromkeys([*self.names, *later.names]))
        values = {
            n: self.values.get(n, []) + later.values.get(n, []) for n in names if n in {*self.values, *later.values}
        }
        return TypeEvidence(
            self.source, names, values, self.rows + later.rows, self.rejected + later.rejected, self.texts
        )


def evidence_of(source: str, raw: RawTable, *, texts: bool) -> TypeEvidence:
    values = {name: _deciding(column) for name, column in raw.columns.items()}
    return TypeEvidence(source, list(raw.names), values, raw.rows, len(raw.rejected), texts)


def _deciding(column: Any) -> list[Any]:
    return deciding_values(column.values) if isinstance(column, PythonColumn) else deciding_texts(column.as_texts())


def table_from_evidence(evidence: Iterable[TypeEvidence]) -> RawTable:
    """A table of the deciding values of all files, for inference."""
    files = list(evidence)
    names = list(dict.fromkeys(name for file in files for name in file.names))
    values = {name: [value for file in files for value in file.values.get(name, [])] for name in names}
    texts = any(file.texts for file in files)
    columns: dict[str, RawColumn] = {name: _column(name, deciding, texts) for name, deciding in values.items()}
    origins = [RowOrigin(file.source, range(file.rows), str) for file in files]
    return RawTable(columns, names, origins, (), absent_is_null=not texts or not names)


def _column(name: str, values: list[Any], texts: bool) -> RawColumn:
    if not texts:
        return PythonColumn(name, values)
    return TextColumn(name, arrow_of_values(values, Type.STRING) if values else pa.nulls(0, pa.string()))

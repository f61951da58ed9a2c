"""Type evidence: the few values of a column that decide its type.

Inference over the evidence of all files gives the same types as inference over all their data. So Spark's tasks can
read the files of a source separately.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.json_columns import JsonColumn
from foretell.events.ingest.python_columns import PythonColumn, deciding_values
from foretell.events.ingest.raw_columns import RawColumn, RawTable, RowOrigin
from foretell.events.ingest.stray_texts import StrayTexts, stray_texts
from foretell.events.ingest.text_columns import TextColumn, deciding_texts
from foretell.events.types import Type


class TypeEvidence(msgspec.Struct, frozen=True):
    """The evidence of one file: its columns in order, the values that decide their types, and the number of rows.

    `strays` has the stray texts of a CSV file's columns, None for a column of texts.
    """

    source: str
    names: list[str]
    values: dict[str, list[Any]]
    rows: int
    rejected: int
    texts: bool
    strays: dict[str, StrayTexts | None] = {}
    notes: tuple[str, ...] = ()

    def __add__(self, later: TypeEvidence) -> TypeEvidence:
        """Merge with the evidence of a later part of the same file."""
        names = list(dict.fromkeys([*self.names, *later.names]))
        values = {
            n: self.values.get(n, []) + later.values.get(n, []) for n in names if n in {*self.values, *later.values}
        }
        return TypeEvidence(
            self.source,
            names,
            values,
            self.rows + later.rows,
            self.rejected + later.rejected,
            self.texts,
            _merged_strays([self, later]),
            notes=tuple(dict.fromkeys([*self.notes, *later.notes])),
        )


def evidence_of(source: str, raw: RawTable, *, texts: bool, identifiers: Collection[str] = ()) -> TypeEvidence:
    """The evidence of a file; columns of `identifiers` are numbers only where no two texts become one."""
    # A name that comes from a statement carries its place there; `str` drops it.
    raw = replace(raw, columns={str(n): c for n, c in raw.columns.items()}, names=list(map(str, raw.names)))
    values = {name: _deciding(column, is_id=name in identifiers) for name, column in raw.columns.items()}
    strays = {n: stray_texts(c.texts, raw.place) for n, c in raw.columns.items() if isinstance(c, TextColumn)}
    return TypeEvidence(source, list(raw.names), values, raw.rows, len(raw.rejected), texts, strays, raw.notes)


def _deciding(column: RawColumn, *, is_id: bool) -> list[Any]:
    column = column.python if isinstance(column, JsonColumn) else column
    if isinstance(column, PythonColumn):
        return deciding_values(column.values)
    return list(deciding_texts(column.as_texts(), is_id=is_id))


def table_from_evidence(evidence: Iterable[TypeEvidence]) -> RawTable:
    """A table of the deciding values of all files, for inference."""
    files = list(evidence)
    names = list(dict.fromkeys(name for file in files for name in file.names))
    values = {name: [value for file in files for value in file.values.get(name, [])] for name in names}
    texts = any(file.texts for file in files)
    columns: dict[str, RawColumn] = {name: _column(name, deciding, texts) for name, deciding in values.items()}
    origins = [RowOrigin(f.source, range(f.rows), str, (f.names or None) if f.texts else None) for f in files]
    notes = tuple(dict.fromkeys(note for file in files for note in file.notes))
    return RawTable(columns, names, origins, (), absent_is_null=not texts or not names, notes=notes)


def merged_strays(evidence: Iterable[TypeEvidence]) -> dict[str, StrayTexts]:
    """The stray texts of the columns that are of numbers but for these, in all files."""
    return {name: found for name, found in _merged_strays(evidence).items() if found is not None}


def _merged_strays(evidence: Iterable[TypeEvidence]) -> dict[str, StrayTexts | None]:
    merged: dict[str, StrayTexts | None] = {}
    for file in evidence:
        for name, found in file.strays.items():
            before = merged.get(name, found)
            merged[name] = found if name not in merged else None if before is None or found is None else before + found
    return merged


def _column(name: str, values: list[Any], texts: bool) -> RawColumn:
    if not texts:
        return PythonColumn(name, values)
    return TextColumn(name, arrow_of_values(values, Type.STRING) if values else pa.nulls(0, pa.string()))

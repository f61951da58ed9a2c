"""Raw columns in their types: what the readers of events and of FOR EACH tables share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.null_markers import NO_MARKERS, NullMarkers
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, RawTable, TypedColumn
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.types import Scalar, Type


def infer_type(raw: RawTable, name: str) -> Type | None:
    """A column's type by its values. NULLs alone show none: such a column is STRING, as an untyped NULL is in SQL."""
    kind = raw.columns[name].infer_type() if name in raw.columns else Type.NULL
    return Type.STRING if kind is Type.NULL else kind


def infer_event_type(raw: RawTable, name: str, *, is_id: bool) -> Type | None:
    """The same for a column of events: among other types, texts that are usual markers of missing values do not make
    it STRING, and an identifier is a number only where no two of them could become one."""
    kind, column = infer_type(raw, name), raw.columns.get(name)
    if type(column) is not TextColumn:
        return kind
    if kind is Type.STRING:
        kind = column.infer_type_without_markers()
    if is_id and kind is not None and kind.numeric and not column.spells_numbers_alike(kind):
        return Type.STRING
    return kind


def cast_columns(raw: RawTable, types: Mapping[str, Type], markers: NullMarkers = NO_MARKERS) -> dict[str, TypedColumn]:
    """The columns of these types; one that the table does not have is NULL, and so are numbers that are markers."""
    return {name: _cast_column(raw, name, kind, markers) for name, kind in types.items()}


def _cast_column(raw: RawTable, name: str, kind: Type, markers: NullMarkers) -> TypedColumn:
    if name not in raw.columns:
        return TypedColumn(pa.nulls(raw.rows, ARROW_TYPES[kind]), {})
    column = raw.columns[name].cast(kind)
    if kind.numeric and markers.numbers:
        return replace(column, values=markers.without_numbers(column.values))
    return column


def first_reasons(columns: Iterable[TypedColumn]) -> dict[int, str]:
    """Why each malformed row is malformed: of several reasons that of the first column."""
    reasons: dict[int, str] = {}
    for column in columns:
        reasons = {**column.misfits, **reasons}
    return reasons


def arrow_table(columns: Mapping[str, TypedColumn], types: Mapping[str, Type]) -> pa.Table:
    return pa.table([column.values for column in columns.values()], schema=arrow_schema(types))


def table_of_scalars(columns: Mapping[str, Sequence[Scalar]], types: Mapping[str, Type]) -> pa.Table:
    """Plain scalars of these types, timestamps as microseconds."""
    return pa.Table.from_arrays(
        [arrow_of_values(columns[name], kind) for name, kind in types.items()], schema=arrow_schema(types)
    )


def arrow_schema(types: Mapping[str, Type]) -> pa.Schema:
    return pa.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])


def scalar_rows(table: pa.Table) -> Iterator[dict[str, Scalar]]:
    """The table's rows as dicts of plain scalars, timestamps as microseconds."""
    columns = [plain_scalars(column) for column in table.columns]
    names = table.column_names
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def plain_scalars(column: ArrowArray) -> list[Scalar]:
    """The values of a column as plain scalars, timestamps as microseconds."""
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return cast(list[Scalar], plain.to_pylist())

"""Raw columns in their types: what the readers of events and of FOR EACH tables share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import pyarrow as pa

from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, RawTable, TypedColumn
from foretell.events.types import Scalar, Type


def infer_type(raw: RawTable, name: str) -> Type | None:
    """A column's type by its values. NULLs alone show none: such a column is STRING, as an untyped NULL is in SQL."""
    kind = raw.columns[name].infer_type() if name in raw.columns else Type.NULL
    return Type.STRING if kind is Type.NULL else kind


def cast_columns(raw: RawTable, types: Mapping[str, Type]) -> dict[str, TypedColumn]:
    """The columns of these types; one that the table does not have is NULL."""
    return {name: _cast_column(raw, name, kind) for name, kind in types.items()}


def _cast_column(raw: RawTable, name: str, kind: Type) -> TypedColumn:
    if name not in raw.columns:
        return TypedColumn(pa.nulls(raw.rows, ARROW_TYPES[kind]), {})
    return raw.columns[name].cast(kind)


def first_reasons(columns: Iterable[TypedColumn]) -> dict[int, str]:
    """Why each malformed row is malformed: of several reasons that of the first column."""
    reasons: dict[int, str] = {}
    for column in columns:
        reasons = {**column.misfits, **reasons}
    return reasons


def arrow_table(columns: Mapping[str, TypedColumn], types: Mapping[str, Type]) -> pa.Table:
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])
    return pa.table([column.values for column in columns.values()], schema=schema)


def scalar_rows(table: pa.Table) -> Iterator[dict[str, Scalar]]:
    """The table's rows as dicts of plain scalars, timestamps as microseconds."""
    columns = [_scalars(column) for column in table.columns]
    names = table.column_names
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _scalars(column: ArrowArray) -> list[Scalar]:
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return cast(list[Scalar], plain.to_pylist())

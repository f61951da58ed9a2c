"""FOR EACH tables: each row is a subscription, so a malformed one is an error and not quarantined."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.errors import InputError, suggestion
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, arrow_of_values, nulls_of, numpy_of, take_rows
from foretell.events.ingest.direct_rows import FITTING
from foretell.events.ingest.formats import read_raw
from foretell.events.ingest.raw_columns import ArrowArray, RawTable, RejectedRow, TypedColumn
from foretell.events.ingest.typed_table import (
    arrow_schema,
    arrow_table,
    cast_columns,
    first_reasons,
    infer_type,
    plain_scalars,
    scalar_rows,
)
from foretell.events.types import Scalar, Type
from foretell.records import record


@record
class TemplateTable:
    """The rows of a FOR EACH table as columns in Arrow."""

    types: Mapping[str, Type]
    columns: pa.Table

    def __len__(self) -> int:
        return self.columns.num_rows

    @property
    def nbytes(self) -> int:
        """The memory of the columns."""
        return self.columns.nbytes

    @property
    def ids(self) -> ArrowArray:
        return self.columns.column("id")

    @cached_property
    def rows(self) -> list[dict[str, Scalar]]:
        """The rows as dicts of plain scalars, timestamps as microseconds: for those who need them one by one."""
        return list(scalar_rows(self.columns))

    def scalars(self, name: str) -> list[Scalar]:
        """The values of a column as plain scalars."""
        return plain_scalars(self.columns.column(name))

    def row(self, number: int) -> dict[str, Scalar]:
        """A row as a dict of plain scalars, timestamps as microseconds."""
        (found,) = scalar_rows(self.columns.slice(number, 1))
        return found

    def take(self, rows: Ints) -> TemplateTable:
        """The rows with these numbers."""
        return TemplateTable(self.types, take_rows(self.columns, arrow_of(rows)))

    @classmethod
    def empty(cls, types: Mapping[str, Type] | None = None) -> TemplateTable:
        """A table without rows."""
        types = types or {}
        return cls(types, arrow_schema(types).empty_table())


def read_table(source: object, name: str) -> TemplateTable:
    """Read a FOR EACH table. Every row needs an `id` of its own."""
    raw = read_raw(source, name)
    if not raw.rows:
        for rejected in raw.rejected:
            raise _malformed_row(rejected)
        if not raw.names:
            return TemplateTable.empty()
    if "id" not in raw.names:
        raise InputError("bad-table", f"{name}: the table has no column 'id'", hint=suggestion("id", raw.names))
    types = {column: kind for column in raw.names if (kind := infer_type(raw, column)) is not None}
    if "id" not in types:
        raise InputError("bad-table", f"{name}: the column 'id' holds no scalars")
    return _typed(raw, types)


def read_more_rows(source: object, name: str, types: Mapping[str, Type]) -> TemplateTable:
    """Read more rows of a table whose columns are known."""
    direct = _fitting_rows(source, types) if type(source) is list else None
    if direct is not None:
        return direct
    raw = read_raw(source, name)
    for rejected in raw.rejected:
        raise _malformed_row(rejected)
    for column in raw.names:
        if column not in types:
            hint = suggestion(column, types)
            raise InputError("bad-table", f"{name}: the table has no column '{column}'", hint=hint)
    return _typed(raw, types)


def _fitting_rows(rows: list[Any], types: Mapping[str, Type]) -> TemplateTable | None:
    """Dicts whose values have the Python types of the columns; None where a value needs reading, or a row is malformed.

    A live engine gets row after row, and the general reader takes a hundred times as long for one.
    """
    if not all(type(row) is dict and row.keys() <= types.keys() for row in rows):
        return None
    columns = []
    for name, kind in types.items():
        values = [row.get(name) for row in rows]
        if kind not in FITTING or not FITTING[kind].issuperset(map(type, values)):
            return None
        try:
            columns.append(arrow_of_values(values, kind))
        except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
            return None
        if name == "id" and (columns[-1].null_count or len(set(values)) < len(values)):
            return None
    return TemplateTable(types, pa.Table.from_arrays(columns, schema=arrow_schema(types)))


def _typed(raw: RawTable, types: Mapping[str, Type]) -> TemplateTable:
    columns = cast_columns(raw, types)
    reasons = _id_reasons(columns["id"]) | first_reasons(columns.values())
    if reasons or raw.rejected:
        for rejected in raw.rejections(reasons):
            raise _malformed_row(rejected)
    return TemplateTable(types, arrow_table(columns, types))


def _id_reasons(ids: TypedColumn) -> dict[int, str]:
    """Why the first row without an id is malformed, and the first with an id that an earlier row has."""
    reasons: dict[int, str] = {}
    if ids.values.null_count:
        reasons[int(np.argmax(nulls_of(ids.values)))] = "no id"
    if not are_distinct(ids.values.drop_null()):
        seen: set[Scalar] = set()
        for position, value in enumerate(ids.values.to_pylist()):
            if value is not None and value in seen:
                reasons.setdefault(position, f"duplicate id {value!r}")
                break
            seen.add(value)
    return reasons


def are_distinct(ids: ArrowArray) -> bool:
    """Whether no two ids are equal."""
    if pa.types.is_floating(ids.type):
        ids = arrow_of(numpy_of(ids) + 0.0)  # -0.0 is the id 0.0
    elif pa.types.is_int64(ids.type) and _ascend(ids):
        return True
    return int(pc.count_distinct(ids).as_py()) == len(ids)


def _ascend(ids: ArrowArray) -> bool:
    """Whether each id is greater than the one before it, as those that somebody counted are."""
    numbers = numpy_of(ids)
    return bool((numbers[1:] > numbers[:-1]).all())


def _malformed_row(rejected: RejectedRow) -> InputError:
    return InputError("bad-table", f"{rejected.source}:{rejected.row}: {rejected.reason}")

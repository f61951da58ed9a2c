"""FOR EACH tables: each row is a subscription, so a malformed one is an error and not quarantined."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.errors import InputError, suggestion
from foretell.events.ingest.formats import read_raw
from foretell.events.ingest.raw_columns import RawTable, RejectedRow, TypedColumn
from foretell.events.ingest.typed_table import arrow_table, cast_columns, first_reasons, infer_type, scalar_rows
from foretell.events.types import Scalar, Type
from foretell.records import record


@record
class TemplateTable:
    """The rows of a FOR EACH table, timestamps as microseconds."""

    types: Mapping[str, Type]
    rows: list[dict[str, Scalar]]


def read_table(source: object, name: str) -> TemplateTable:
    """Read a FOR EACH table. Every row needs an `id` of its own."""
    raw = read_raw(source, name)
    if not raw.rows:
        for rejected in raw.rejected:
            raise _malformed_row(rejected)
        if not raw.names:
            return TemplateTable({}, [])
    if "id" not in raw.names:
        raise InputError("bad-table", f"{name}: the table has no column 'id'", hint=suggestion("id", raw.names))
    types = {column: kind for column in raw.names if (kind := infer_type(raw, column)) is not None}
    if "id" not in types:
        raise InputError("bad-table", f"{name}: the column 'id' holds no scalars")
    return _typed(raw, types)


def read_more_rows(source: object, name: str, types: Mapping[str, Type]) -> TemplateTable:
    """Read more rows of a table whose columns are known."""
    raw = read_raw(source, name)
    for rejected in raw.rejected:
        raise _malformed_row(rejected)
    for column in raw.names:
        if column not in types:
            hint = suggestion(column, types)
            raise InputError("bad-table", f"{name}: the table has no column '{column}'", hint=hint)
    return _typed(raw, types)


def _typed(raw: RawTable, types: Mapping[str, Type]) -> TemplateTable:
    columns = cast_columns(raw, types)
    for rejected in raw.rejections(_id_reasons(columns["id"]) | first_reasons(columns.values())):
        raise _malformed_row(rejected)
    return TemplateTable(types, list(scalar_rows(arrow_table(columns, types))))


def _id_reasons(ids: TypedColumn) -> dict[int, str]:
    reasons: dict[int, str] = {}
    seen: set[Scalar] = set()
    for position, value in enumerate(ids.values.to_pylist()):
        if value is None:
            reasons[position] = "no id"
        elif value in seen:
            reasons[position] = f"duplicate id {value!r}"
        seen.add(value)
    return reasons


def _malformed_row(rejected: RejectedRow) -> InputError:
    return InputError("bad-table", f"{rejected.source}:{rejected.row}: {rejected.reason}")

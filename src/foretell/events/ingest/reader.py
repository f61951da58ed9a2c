"""Events into one Arrow table of settled types. What is malformed is set aside with its reason (LANGUAGE section 8).

>>> rows = [{"time": 1, "price": 2}, {"time": 2, "price": "dear"}, {"price": 3.5}]
>>> loaded = read(rows, StreamDeclaration("ticks", {}, "time", open=True))
>>> loaded.table.to_pylist()
[{'time': 1, 'price': 2.0}]
>>> [(bad.row, bad.reason) for bad in loaded.bad]
[(2, "price: expected FLOAT, found 'dear'"), (3, 'no time')]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags
from foretell.errors import InputError, suggestion
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.event import Event, base_key
from foretell.events.ingest.formats import read_raw, read_raw_content
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, RawTable, RejectedRow, TypedColumn
from foretell.events.ingest.scalar_parsing import BEYOND_RANGE, MisfitError
from foretell.events.types import Scalar, Schema, Type, format_timestamp

NO_TIME = "no time"


@dataclass(frozen=True)
class StreamDeclaration:
    """What a STREAM statement or a call says of a stream before its data are seen.

    Time, id and order need not be among the attributes, nor need an attribute's type be known (UNKNOWN): these are
    read off the data. With `open`, so are attributes that are not listed.
    """

    stream: str
    attributes: Mapping[str, Type]
    time: str
    id: str | None = None
    order: str | None = None
    simultaneous: bool = False
    lateness: int | float = 0
    open: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns that are needed, in the schema's order."""
        parts = [name for name in (self.time, self.id, self.order) if name is not None]
        return list(dict.fromkeys([*self.attributes, *parts]))

    def declared(self, name: str) -> Type | None:
        found = self.attributes.get(name)
        return None if found is Type.UNKNOWN else found


@dataclass(frozen=True)
class QuarantinedEvent:
    """A malformed event: where it stood (line of a text file, else row, from 1), why it is bad, and what it was."""

    stream: str
    source: str
    row: int
    reason: str
    raw: str


@dataclass(frozen=True)
class EventBatch:
    """A stream's events in order of arrival, and those set aside; `total` counts both.

    `timed` tells whether the type of its time was declared or read off the data, not only taken for want of both.
    """

    stream: str
    schema: Schema
    table: pa.Table
    bad: tuple[QuarantinedEvent, ...]
    total: int
    open: bool = False
    timed: bool = True


def read(source: object, declaration: StreamDeclaration, *, strict: bool = False) -> EventBatch:
    """All events of `source`: a path, Arrow data, a frame, an iterable of dicts. With `strict` a bad one is fatal."""
    wanted = None if declaration.open else frozenset(declaration.columns)
    gathered = read_raw(source, declaration.stream, wanted)
    loaded = cast_events(gathered, declaration, _settle(gathered, declaration))
    if strict and loaded.bad:
        raise malformed_event(loaded.bad[0])
    return loaded


def malformed_event(bad: QuarantinedEvent) -> InputError:
    return InputError("bad-event", f"{bad.source}:{bad.row}: {bad.reason}")


def cast_events(gathered: RawTable, declaration: StreamDeclaration, types: Mapping[str, Type]) -> EventBatch:
    """What was gathered, in types that are settled. A column that is not there is NULL."""
    fitted = {name: _fit(gathered, name, kind) for name, kind in types.items()}
    reasons = _reasons(fitted, declaration.time)
    bad = tuple(_bad_event(declaration.stream, rejected) for rejected in gathered.rejections(reasons))
    table = _without(_table(fitted, types), reasons)
    timed = gathered.rows > 0 or declaration.declared(declaration.time) is not None
    return EventBatch(
        declaration.stream, _schema(declaration, types), table, bad, gathered.total, declaration.open, timed
    )


def infer_schema(gathered: RawTable, declaration: StreamDeclaration) -> Schema:
    """The schema that the events of a source have; of Arrow data the columns' types tell it, without a row."""
    return _schema(declaration, _settle(gathered, declaration))


def events_of(loaded: EventBatch, stream_rank: int) -> list[Event]:
    """The events one by one, for the reference evaluator. Timestamps are microseconds."""
    rows = enumerate(scalar_rows(loaded.table))
    return [_event(loaded, row, stream_rank, arrival) for arrival, row in rows]


def read_file(name: str, content: bytes, declaration: StreamDeclaration) -> EventBatch:
    """The events of a file that somebody has read; its name says what it is."""
    gathered = read_raw_content(name, content, frozenset(declaration.columns))
    return cast_events(gathered, declaration, _settle(gathered, declaration))


@dataclass(frozen=True)
class TemplateTable:
    """The rows of a FOR EACH table, timestamps as microseconds."""

    types: Mapping[str, Type]
    rows: list[dict[str, Scalar]]


def read_table(source: object, name: str) -> TemplateTable:
    """The rows of a FOR EACH table. A row that is malformed, or has no `id` of its own, is an error: it is no event."""
    gathered = read_raw(source, name)
    if not gathered.rows:
        for rejected in gathered.rejected:
            raise _bad_row(rejected)
        if not gathered.names:
            return TemplateTable({}, [])
    if "id" not in gathered.names:
        raise InputError("bad-table", f"{name}: the table has no column 'id'", hint=suggestion("id", gathered.names))
    types = {column: found for column in gathered.names if (found := _guess(gathered, column)) is not None}
    if "id" not in types:
        raise InputError("bad-table", f"{name}: the column 'id' holds no scalars")
    fitted = {column: _fit(gathered, column, kind) for column, kind in types.items()}
    for rejected in gathered.rejections(_id_reasons(fitted["id"]) | _first_reasons(fitted.values())):
        raise _bad_row(rejected)
    return TemplateTable(types, list(scalar_rows(_table(fitted, types))))


def read_more_rows(source: object, name: str, types: Mapping[str, Type]) -> TemplateTable:
    """More rows of a table whose columns are known."""
    gathered = read_raw(source, name)
    for rejected in gathered.rejected:
        raise _bad_row(rejected)
    for column in gathered.names:
        if column not in types:
            hint = suggestion(column, types)
            raise InputError("bad-table", f"{name}: the table has no column '{column}'", hint=hint)
    fitted = {column: _fit(gathered, column, kind) for column, kind in types.items()}
    for rejected in gathered.rejections(_id_reasons(fitted["id"]) | _first_reasons(fitted.values())):
        raise _bad_row(rejected)
    return TemplateTable(types, list(scalar_rows(_table(fitted, types))))


def _bad_row(rejected: RejectedRow) -> InputError:
    return InputError("bad-table", f"{rejected.source}:{rejected.row}: {rejected.reason}")


def scalar_rows(table: pa.Table) -> Iterator[dict[str, Scalar]]:
    """The table's rows as dicts of plain scalars, timestamps as microseconds."""
    columns = [_scalars(column) for column in table.columns]
    names = table.column_names
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _scalars(column: ArrowArray) -> list[Scalar]:
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return cast(list[Scalar], plain.to_pylist())


def _event(loaded: EventBatch, row: dict[str, Scalar], stream_rank: int, arrival: int) -> Event:
    schema = loaded.schema
    time = cast(int | float, row[cast(str, schema.time)])  # what was read has a time column, and a time in each row
    tie = None if schema.order is None else row[schema.order]
    name = None if schema.id is None else row[schema.id]
    if name is not None and schema.attributes[cast(str, schema.id)] is Type.TIMESTAMP:
        name = format_timestamp(cast(int, name))
    return Event(loaded.stream, row, time, time, base_key(time, tie, stream_rank, arrival), name)


def _settle(gathered: RawTable, declaration: StreamDeclaration) -> dict[str, Type]:
    """Every column's type: as declared, else as the data have it. Declared columns come first, as declared."""
    _check_columns(gathered, declaration)
    types: dict[str, Type] = {}
    # Columns found come where the data have them, also the time column, unless everything is declared.
    found = list(gathered.names) if declaration.open else []
    for name in dict.fromkeys([*declaration.attributes, *found, *declaration.columns]):
        kind = declaration.declared(name) or _read_off(gathered, name, declaration)
        if kind is not None:
            types[name] = kind
    if types[declaration.time] not in (Type.TIMESTAMP, Type.INT, Type.FLOAT):
        found_type = types[declaration.time].value
        raise InputError("wrong-type", f"{declaration.time}: a time is TIMESTAMP, INT or FLOAT, not {found_type}")
    return types


def _read_off(gathered: RawTable, name: str, declaration: StreamDeclaration) -> Type | None:
    is_time = name == declaration.time
    kind = _guess_time(gathered, name) if is_time else _guess(gathered, name)
    if kind is None and name in declaration.columns:
        if gathered.absent_is_null:
            return Type.STRING  # each of the values is then a bad event of its own
        raise InputError("wrong-type", f"{name}: the column's type cannot be {'a time' if is_time else 'an attribute'}")
    return kind


def _guess(gathered: RawTable, name: str) -> Type | None:
    """NULLs alone tell no type: such a column is STRING, as an untyped NULL is in SQL."""
    kind = gathered.columns[name].guess() if name in gathered.columns else Type.NULL
    return Type.STRING if kind is Type.NULL else kind


def _guess_time(gathered: RawTable, name: str) -> Type | None:
    kind = gathered.columns[name].guess_time() if name in gathered.columns else Type.NULL
    return Type.INT if kind is Type.NULL else kind


def _check_columns(gathered: RawTable, declaration: StreamDeclaration) -> None:
    """What must be there and is not. A JSON object without a declared attribute is still an event."""
    if gathered.absent_is_null and not gathered.rows:
        return
    for name in declaration.columns:
        may_be_absent = gathered.absent_is_null and name in declaration.attributes and name != declaration.time
        if name not in gathered.names and not may_be_absent:
            raise InputError(
                "missing-column", _missing(gathered, declaration, name), hint=suggestion(name, gathered.names)
            )


def _missing(gathered: RawTable, declaration: StreamDeclaration, name: str) -> str:
    source = gathered.parts[0].source if len(gathered.parts) == 1 else declaration.stream
    what = "time column" if name == declaration.time else "column"
    return f"{source}: no event has the {what} '{name}'" if gathered.absent_is_null else f"{source}: no {what} '{name}'"


def _fit(gathered: RawTable, name: str, kind: Type) -> TypedColumn:
    if name not in gathered.columns:
        return TypedColumn(pa.nulls(gathered.rows, ARROW_TYPES[kind]), {})
    return gathered.columns[name].fit(kind)


def _reasons(fitted: Mapping[str, TypedColumn], time: str) -> dict[int, str]:
    """Why each bad row is bad: of several reasons the time's, else that of the first column."""
    others = (column for name, column in fitted.items() if name != time)
    return _first_reasons([_timed(fitted[time], time), *others])


def _timed(fitted: TypedColumn, name: str) -> TypedColumn:
    """The time column, in which NULL and infinity are misfits too."""
    reasons = dict.fromkeys(_positions(nulls_of(fitted.values)), NO_TIME)
    if pa.types.is_floating(fitted.values.type):
        endless = _positions(np.isinf(numpy_of(fitted.values)) & ~nulls_of(fitted.values))
        reasons |= dict.fromkeys(endless, MisfitError(BEYOND_RANGE).reason(name))
    return TypedColumn(fitted.values, reasons | dict(fitted.misfits))


def _id_reasons(fitted: TypedColumn) -> dict[int, str]:
    reasons: dict[int, str] = {}
    seen: set[Scalar] = set()
    for position, value in enumerate(fitted.values.to_pylist()):
        if value is None:
            reasons[position] = "no id"
        elif value in seen:
            reasons[position] = f"the id {value!r} is there twice"
        seen.add(value)
    return reasons


def _first_reasons(columns: Iterable[TypedColumn]) -> dict[int, str]:
    reasons: dict[int, str] = {}
    for column in columns:
        reasons = {**column.misfits, **reasons}
    return reasons


def _positions(mask: Flags) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _table(fitted: Mapping[str, TypedColumn], types: Mapping[str, Type]) -> pa.Table:
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])
    return pa.table([column.values for column in fitted.values()], schema=schema)


def _without(table: pa.Table, reasons: Mapping[int, str]) -> pa.Table:
    if not reasons:
        return table
    good = np.ones(table.num_rows, dtype=bool)
    good[np.fromiter(reasons, dtype=np.int64, count=len(reasons))] = False
    return table.filter(arrow_of(good))


def _bad_event(stream: str, rejected: RejectedRow) -> QuarantinedEvent:
    return QuarantinedEvent(stream, rejected.source, rejected.row, rejected.reason, rejected.raw)


def _schema(declaration: StreamDeclaration, types: Mapping[str, Type]) -> Schema:
    return Schema(
        attributes=dict(types),
        time=declaration.time,
        id=declaration.id,
        order=declaration.order,
        simultaneous=declaration.simultaneous,
        lateness=declaration.lateness,
    )

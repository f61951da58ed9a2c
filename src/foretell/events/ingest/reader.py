"""Read events into one typed Arrow table.

A value that cannot be read is NULL, and counted by column and cause. An event without its time is quarantined with its
reason, and so is a record that cannot be parsed.

>>> rows = [{"time": 1, "price": 2}, {"time": 2, "price": "dear"}, {"price": 3.5}]
>>> batch = read(rows, StreamDeclaration("ticks", {}, "time", open=True))
>>> batch.table.to_pylist()
[{'time': 1, 'price': 2.0}, {'time': 2, 'price': None}]
>>> [(values.column, values.count, values.reason) for values in batch.nulled]
[('price', 1, "price: expected FLOAT, found 'dear'")]
>>> [(event.row, event.reason) for event in batch.quarantined]
[(3, 'no time')]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from typing import cast

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags
from foretell.errors import InputError
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.event import Event, base_key
from foretell.events.ingest.arrow_columns import ArrowColumn
from foretell.events.ingest.derived_attributes import NOTHING_DERIVED, DerivedAttributes
from foretell.events.ingest.folder_columns import with_folder_columns
from foretell.events.ingest.formats import read_raw, read_raw_content
from foretell.events.ingest.input_files import InputFile
from foretell.events.ingest.known_columns import KnownColumns
from foretell.events.ingest.missing_columns import check_columns
from foretell.events.ingest.nested_paths import path_of
from foretell.events.ingest.null_markers import NullMarkers, apply_null_markers
from foretell.events.ingest.nulled_values import NulledValues, marker_notes, nulled_values, unreadable_summary
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.quarantine import QuarantinedEvent, malformed_at, quarantine_summary
from foretell.events.ingest.raw_columns import RawColumn, RawTable, RejectedRow, TypedColumn
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions
from foretell.events.ingest.scalar_parsing import BEYOND_RANGE, MisfitError
from foretell.events.ingest.stray_texts import StrayTexts, stray_texts
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.ingest.time_candidates import time_column_of, time_note
from foretell.events.ingest.time_column import (
    JOINED,
    TimeColumn,
    epoch_notes,
    with_joined_time,
    with_readings,
    with_time_reading,
)
from foretell.events.ingest.time_forms import TimeReading, reading_of
from foretell.events.ingest.typed_table import arrow_table, cast_columns, first_reasons, infer_event_type, scalar_rows
from foretell.events.types import LAST_TIME, Scalar, Schema, Type, format_timestamp
from foretell.progress import begin_stage
from foretell.records import record

NO_TIME = "no time"


@record
class StreamDeclaration:
    """The declaration of a stream, by a STREAM statement or the caller, before its data are read.

    Time, id and order need not be among the attributes, nor need an attribute's type be known (UNKNOWN): these are
    inferred from the data. With `open`, so are attributes that are not listed. An empty `time` is one that the data
    must show. `times` is the reading of times, where the data that are read do not decide it. `keys` are the attributes
    by which statements divide the stream into lanes.
    """

    stream: str
    attributes: Mapping[str, Type]
    time: str
    id: str | None = None
    order: str | None = None
    simultaneous: bool = False
    lateness: int | float = 0
    open: bool = False
    read: ReadOptions = DEFAULT_OPTIONS
    derived: DerivedAttributes = NOTHING_DERIVED
    times: TimeReading | None = None
    keys: frozenset[str] = frozenset()

    @property
    def identifiers(self) -> frozenset[str]:
        """The columns of which two texts must not become one number: keys, and the ID."""
        return self.keys if self.id is None else self.keys | {self.id}

    @property
    def columns(self) -> list[str]:
        """The columns that are needed, in the schema's order."""
        roles = [name for name in (self.time, self.id, self.order) if name]
        return list(dict.fromkeys([*self.attributes, *roles]))

    @property
    def wanted(self) -> frozenset[str]:
        """The columns to read."""
        return frozenset([*self.columns, *(self.read.time_columns or ())])

    @property
    def timestamps(self) -> list[str]:
        """The columns that are declared as TIMESTAMP."""
        return [name for name, kind in self.attributes.items() if kind is Type.TIMESTAMP]

    def is_assembled(self, name: str, columns: Collection[str]) -> bool:
        """Whether a column is made of others when events with these columns are read: by a path, or by joining two."""
        joined = name == JOINED and self.read.time_columns is not None
        path = path_of(name)
        return joined or (name not in columns and path is not None and path[0] in columns)

    @property
    def guesses_epochs(self) -> bool:
        """Whether undeclared numbers of plausible size are times since 1970."""
        return self.declared_type(self.time) is None and not self.read.plain_times

    def with_plain_times(self) -> StreamDeclaration:
        """The declaration in which undeclared numbers are no times of 1970 and later."""
        return replace(self, read=replace(self.read, plain_times=True))

    def declared_type(self, name: str) -> Type | None:
        kind = self.attributes.get(name)
        return None if kind is Type.UNKNOWN else kind

    def schema(self, types: Mapping[str, Type]) -> Schema:
        """The schema of events whose own attributes have these types, with the derived attributes."""
        return Schema(
            attributes={**types, **self.derived.types(types)},
            time=self.time,
            id=self.id,
            order=self.order,
            simultaneous=self.simultaneous,
            lateness=self.lateness,
        )

    def settled(self, schema: Schema) -> StreamDeclaration:
        """The declaration with the types of a schema, so that all events are read with the same ones."""
        own = {name: kind for name, kind in schema.attributes.items() if name not in self.derived.names}
        return replace(self, attributes=own, time=self.time or str(schema.time), open=False)


@record
class EventBatch:
    """A stream's well-formed events in order of arrival, and the quarantined ones; `total` counts both.

    `time_known` is False where the type of the time was neither declared nor inferred, but only assumed. `nulled` has
    the values that are NULL because they could not be read, or are a usual marker of missing values. `notes` tell the
    user what was guessed. `times` is the reading of times that the options and the data have settled. `known` is what
    the reader has found out about the table; other tables have other ones.
    """

    stream: str
    schema: Schema
    table: pa.Table
    quarantined: tuple[QuarantinedEvent, ...]
    total: int
    open: bool = False
    time_known: bool = True
    nulled: tuple[NulledValues, ...] = ()
    notes: tuple[str, ...] = ()
    times: TimeReading | None = None
    known: KnownColumns = field(default_factory=KnownColumns, init=False, compare=False, repr=False)


# ── reading ──


def read(source: object, declaration: StreamDeclaration, *, strict: bool = False, whole: bool = True) -> EventBatch:
    """Read a path, Arrow data, a data frame or an iterable of dicts.

    With `strict` a value that cannot be read or a malformed event is an error. `whole` says that these are all events
    of the stream, so that an attribute which none of them has is missing.
    """
    wanted = None if declaration.open else declaration.wanted
    raw = read_raw(source, declaration.stream, wanted, declaration.read)
    return _events(raw, declaration, strict=strict, whole=whole)


def read_file(file: InputFile, content: bytes, declaration: StreamDeclaration) -> EventBatch:
    """The events of a file whose content is in memory; the ending of its name gives the format."""
    raw = read_raw_content(file.path, content, declaration.wanted, declaration.read)
    return _events(with_folder_columns(raw, [file]), declaration, strict=False, whole=False)


def _events(raw: RawTable, declaration: StreamDeclaration, *, strict: bool, whole: bool) -> EventBatch:
    begin_stage(f"converting {declaration.stream}")
    raw, declaration = with_time_column(apply_null_markers(raw, declaration.read.nulls), declaration)
    raw = with_times(raw, declaration)
    missing = missing_column_notes(raw, declaration, whole=whole)
    types = _infer_types(raw, declaration)
    batch = cast_events(raw, declaration, types, strict=strict)
    strays = {name: found for name in guessed_strings(types, declaration) if (found := _strays(raw, name))}
    schema = replace(batch.schema, remarks=string_remarks(strays, declaration))
    notes = (*missing, *batch.notes, *stray_notes(strays, declaration))
    return replace(batch, schema=schema, notes=notes, times=time_reading(raw, declaration))


def missing_column_notes(raw: RawTable, declaration: StreamDeclaration, *, whole: bool = True) -> tuple[str, ...]:
    """Raise where a column is missing; return notes where that is allowed."""
    required = declaration.columns
    if raw.absent_is_null and not whole:
        required = []  # they may come with later events
    return check_columns(
        raw,
        declaration.stream,
        required,
        declaration.time,
        is_open=declaration.open,
        allowed=declaration.read.missing_columns,
    )


def cast_events(
    raw: RawTable, declaration: StreamDeclaration, types: Mapping[str, Type], *, strict: bool = False
) -> EventBatch:
    """Cast raw columns to types, count the values that do not fit, and quarantine the rows without a time."""
    columns = cast_columns(raw, types, NullMarkers.of(declaration.read.nulls))
    if declaration.id in columns:
        columns[declaration.id] = _readable_ids(columns[declaration.id], raw.columns.get(declaration.id))
    time = declaration.time
    timed = {**columns, time: _time_misfits(columns[time], time)}
    if strict:
        _refuse_misfits(raw, timed, time)
    untimed = timed[time].misfits
    quarantined = tuple(_quarantined(declaration.stream, rejected) for rejected in raw.rejections(untimed))
    table = declaration.derived.extend(_without_rows(arrow_table(columns, types), untimed), types)
    time_known = (time in raw.columns and raw.rows > 0) or declaration.declared_type(time) is not None
    return EventBatch(
        declaration.stream,
        declaration.schema(types),
        table,
        quarantined,
        raw.total,
        declaration.open,
        time_known,
        nulled=nulled_values(raw, declaration.stream, timed, untimed),
        notes=(*raw.notes, *(note for column in columns.values() for note in column.notes)),
    )


def _readable_ids(column: TypedColumn, raw: RawColumn | None) -> TypedColumn:
    """IDs of Arrow data that are not UTF-8 keep the characters that are: without them an event would be named by its
    number in the lane, which Spark's tasks do not know once they have dropped other events."""
    if not column.misfits or not isinstance(raw, ArrowColumn) or not pa.types.is_string(column.values.type):
        return column
    names = column.values.to_pylist()
    for position in column.misfits:
        names[position] = str(raw.value(position))
    return TypedColumn(pa.chunked_array([pa.array(names, pa.string())]), {})


def refuse_misfits(batch: EventBatch) -> None:
    """Raise for the first malformed event of a batch, or value that could not be read."""
    places = [(event.row, event.source, event.reason) for event in batch.quarantined]
    places += [(values.row, values.source, values.reason) for values in batch.nulled]
    for row, source, reason in sorted(places, key=lambda place: place[0]):
        raise malformed_at(source, row, reason)


def _refuse_misfits(raw: RawTable, columns: Mapping[str, TypedColumn], time: str) -> None:
    """Raise for the first malformed event, or value that does not fit: of several in a row the time's, else that of
    the first column."""
    others = (column for name, column in columns.items() if name != time)
    for rejected in raw.rejections(first_reasons([columns[time], *others])):
        raise malformed_at(rejected.source, rejected.row, rejected.reason)


def with_time_column(raw: RawTable, declaration: StreamDeclaration) -> tuple[RawTable, StreamDeclaration]:
    """The declaration with its time column; where nobody has named it, the one that the data show, and a note on it."""
    if declaration.time:
        return raw, declaration
    time = time_column_of(raw, declaration.stream)
    note = time_note(declaration.stream, time)
    return replace(raw, notes=(*raw.notes, note)), replace(declaration, time=time)


def time_notes(declaration: StreamDeclaration, schema: Schema) -> tuple[str, ...]:
    """A note on a time column that only the schema shows."""
    return () if declaration.time else (time_note(declaration.stream, str(schema.time)),)


def with_times(raw: RawTable, declaration: StreamDeclaration) -> RawTable:
    """The table with the reading of its times, as it is settled, else by the read options and the data."""
    time, stream = declaration.time, declaration.stream
    raw = with_joined_time(raw, declaration.read, stream)
    if declaration.times is not None:
        return with_readings(raw, time, declaration.timestamps, declaration.times)
    raw, _ = with_time_reading(raw, time, declaration.timestamps, declaration.read, stream)
    if declaration.declared_type(time) is not None:
        return raw
    return replace(raw, notes=(*raw.notes, *epoch_notes(raw, time, stream)))


def time_reading(raw: RawTable, declaration: StreamDeclaration) -> TimeReading:
    """The reading of times that `with_times` settled."""
    column = raw.columns.get(declaration.time)
    return column.reading if isinstance(column, TimeColumn) else reading_of(declaration.read)


def infer_schema(raw: RawTable, declaration: StreamDeclaration) -> Schema:
    """The schema of a source's events; of Arrow data the column types show it, without a row."""
    missing_column_notes(raw, declaration)
    return declaration.schema(_infer_types(raw, declaration))


def reading_notes(batch: EventBatch) -> tuple[str, ...]:
    """Notes for the user on the guesses made when a batch was read."""
    return (*batch.notes, *marker_notes(batch.nulled)) if batch.nulled else batch.notes


def misfit_summary(batches: Iterable[EventBatch]) -> tuple[str, ...]:
    """Lines for the user on the values set to NULL and the events set aside when batches were read."""
    lines: list[str] = []
    for batch in batches:
        totals = [(batch.stream, batch.total)]
        lines += [*unreadable_summary(batch.nulled, totals), *quarantine_summary(batch.quarantined, totals)]
    return tuple(lines)


def events_of(batch: EventBatch, stream_rank: int) -> list[Event]:
    """The events as objects, for the reference evaluator. Timestamps are microseconds."""
    rows = enumerate(scalar_rows(batch.table))
    return [_event(batch, row, stream_rank, arrival) for arrival, row in rows]


def _event(batch: EventBatch, row: dict[str, Scalar], stream_rank: int, arrival: int) -> Event:
    schema = batch.schema
    time = cast(int | float, row[cast(str, schema.time)])  # a batch has a time column without NULLs
    tie = None if schema.order is None else row[schema.order]
    name = None if schema.id is None else row[schema.id]
    if name is not None and schema.attributes[cast(str, schema.id)] is Type.TIMESTAMP:
        name = format_timestamp(cast(int, name))
    return Event(batch.stream, row, time, time, base_key(time, tie, stream_rank, arrival), name)


# ── types ──


def _infer_types(raw: RawTable, declaration: StreamDeclaration) -> dict[str, Type]:
    """Every column's type: as declared, else as the data show. Declared columns come first, as declared."""
    _refuse_nested(raw, declaration)
    types: dict[str, Type] = {}
    # Undeclared columns come where the data have them, also the time column, unless everything is declared.
    undeclared = list(raw.names) if declaration.open else []
    for name in dict.fromkeys([*declaration.attributes, *undeclared, *declaration.columns]):
        kind = declaration.declared_type(name) or _infer_column_type(raw, name, declaration)
        if kind is not None:
            types[name] = kind
    time_type = types[declaration.time]
    if time_type not in (Type.TIMESTAMP, Type.INT, Type.FLOAT):
        raise InputError("wrong-type", f"{declaration.time}: a time is TIMESTAMP, INT or FLOAT, not {time_type.value}")
    return types


def _refuse_nested(raw: RawTable, declaration: StreamDeclaration) -> None:
    for name in declaration.columns:
        column = raw.columns.get(name)
        if isinstance(column, PythonColumn):
            column.refuse_nested(declaration.declared_type(name) or Type.STRING)


def _unusable_type(column: RawColumn, name: str, *, is_time: bool) -> InputError:
    column = column.column if isinstance(column, TimeColumn) else column
    kind = f" {column.chunks[0].type}" if isinstance(column, ArrowColumn) and column.chunks else ""
    role, wanted = ("a time", "a timestamp, a number or a text") if is_time else ("an attribute", "a text or a number")
    return InputError("wrong-type", f"{name}: the column's type{kind} cannot be {role}", hint=f"make it {wanted}")


def _infer_column_type(raw: RawTable, name: str, declaration: StreamDeclaration) -> Type | None:
    is_time, is_id = name == declaration.time, name in declaration.identifiers
    kind = _infer_time_type(raw, name) if is_time else infer_event_type(raw, name, is_id=is_id)
    if kind is None and name in declaration.columns:
        if raw.absent_is_null:
            return Type.STRING  # none of its values can then be read
        raise _unusable_type(raw.columns[name], name, is_time=is_time)
    return kind


def _infer_time_type(raw: RawTable, name: str) -> Type | None:
    kind = raw.columns[name].infer_time_type() if name in raw.columns else Type.NULL
    return Type.INT if kind is Type.NULL else kind


def guessed_strings(types: Mapping[str, Type], declaration: StreamDeclaration) -> list[str]:
    """The columns that the data have made STRING, other than the ID."""
    strings = (name for name, kind in types.items() if kind is Type.STRING and name != declaration.id)
    return [name for name in strings if declaration.declared_type(name) is None]


def _strays(raw: RawTable, name: str) -> StrayTexts | None:
    column = raw.columns.get(name)
    return stray_texts(column.texts, raw.place) if type(column) is TextColumn else None


def string_remarks(strays: Mapping[str, StrayTexts], declaration: StreamDeclaration) -> dict[str, str]:
    """Why columns are STRING, for errors that say they should be numbers."""
    surprising = {name: found for name, found in strays.items() if found.few or found.none}
    return {name: found.remark(name, declaration.stream, declaration.time) for name, found in surprising.items()}


def stray_notes(strays: Mapping[str, StrayTexts], declaration: StreamDeclaration) -> list[str]:
    """A note for each column that a few texts have made STRING; leading zeros are no surprise."""
    remarks = string_remarks(strays, declaration)
    return [f"{declaration.stream}: {remark}" for name, remark in remarks.items() if strays[name].others]


# ── quarantine ──


def _time_misfits(column: TypedColumn, name: str) -> TypedColumn:
    """The time column, in which NULL, infinity, and numbers to which a window cannot be added, are misfits too."""
    reasons = dict.fromkeys(_positions(nulls_of(column.values)), NO_TIME)
    if pa.types.is_floating(column.values.type):
        infinite = _positions(np.isinf(numpy_of(column.values)) & ~nulls_of(column.values))
        reasons |= dict.fromkeys(infinite, MisfitError(BEYOND_RANGE).reason(name))
    elif pa.types.is_int64(column.values.type):
        times = numpy_of(column.values)
        if len(times) and (times.min() < -LAST_TIME or times.max() > LAST_TIME):
            distant = _positions(((times < -LAST_TIME) | (times > LAST_TIME)) & ~nulls_of(column.values))
            reasons |= dict.fromkeys(distant, MisfitError(BEYOND_RANGE).reason(name))
    return TypedColumn(column.values, reasons | dict(column.misfits))


def _positions(mask: Flags) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _without_rows(table: pa.Table, reasons: Mapping[int, str]) -> pa.Table:
    if not reasons:
        return table
    keep = np.ones(table.num_rows, dtype=bool)
    keep[np.fromiter(reasons, dtype=np.int64, count=len(reasons))] = False
    return table.filter(arrow_of(keep))


def _quarantined(stream: str, rejected: RejectedRow) -> QuarantinedEvent:
    return QuarantinedEvent(stream, rejected.source, rejected.row, rejected.reason, rejected.raw)

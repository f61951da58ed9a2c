"""Time columns of a raw table: with the read options of times, and joined from two columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

import pyarrow as pa

from foretell.errors import InputError, column_suggestion
from foretell.events.arrow_compute import pc
from foretell.events.ingest.arrow_columns import ArrowColumn
from foretell.events.ingest.epoch_numbers import common_unit
from foretell.events.ingest.null_markers import NullMarkers
from foretell.events.ingest.raw_columns import ArrowArray, RawColumn, RawTable, TypedColumn
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.time_columns import chunks_of
from foretell.events.ingest.time_forms import TimeReading, settled_reading
from foretell.events.types import Type
from foretell.records import record

#: The name of a time column that is joined from two.
JOINED = "time"


@record
class TimeColumn:
    """A column with its reading of times."""

    column: RawColumn
    reading: TimeReading

    def infer_type(self) -> Type | None:
        return self.column.infer_type()

    def infer_time_type(self) -> Type | None:
        """TIMESTAMP for texts, for plausible epoch numbers, and for anything that has a format."""
        kind = self._kind
        if kind is None or kind is Type.NULL:
            return kind
        return Type.TIMESTAMP if self.reading.time_format is not None or self.unit is not None else kind

    @cached_property
    def _kind(self) -> Type | None:
        return self.column.infer_time_type()

    @cached_property
    def unit(self) -> str | None:
        """The unit of a column of epoch numbers; None where its numbers are plain or its times are texts."""
        if self.reading.time_format is not None or self.reading.plain or self._kind not in (Type.INT, Type.FLOAT):
            return None
        return common_unit(*self.column.number_bounds())

    def cast(self, wanted: Type) -> TypedColumn:
        return self.column.cast_times(self.reading) if wanted is Type.TIMESTAMP else self.column.cast(wanted)

    def cast_times(self, reading: TimeReading) -> TypedColumn:
        return self.column.cast_times(reading)

    def time_texts(self) -> list[str]:
        return self.column.time_texts()

    def number_bounds(self) -> tuple[float | Decimal | None, float | Decimal | None]:
        return self.column.number_bounds()

    def as_texts(self) -> ArrowArray:
        return self.column.as_texts()

    def without(self, markers: NullMarkers) -> TimeColumn:
        return TimeColumn(self.column.without(markers), self.reading)

    def value(self, position: int) -> object:
        return self.column.value(position)


def with_joined_time(raw: RawTable, options: ReadOptions, stream: str) -> RawTable:
    """The table with the time column that the options join from two columns."""
    if options.time_columns is None or (raw.absent_is_null and not raw.rows):
        return raw
    for name in options.time_columns:
        if name not in raw.names:
            message = f"{source_name(raw, stream)}: no column '{name}' for the time"
            raise InputError("missing-column", message, hint=column_suggestion(name, raw.names))
    if JOINED in raw.names and JOINED not in options.time_columns:
        joined = "+".join(options.time_columns)
        raise InputError(
            "time-twice",
            f"{source_name(raw, stream)}: there is a column '{JOINED}' already, and '{joined}' is named so too",
            hint=f"rename it, or use it: --time {stream}={JOINED}",
        )
    first, other = (raw.columns[name].as_texts() for name in options.time_columns)
    texts: ArrowArray = pc.binary_join_element_wise(first, other, " ")
    # Unlike a TextColumn, this shows its type also in a table without rows.
    column = ArrowColumn(JOINED, chunks_of(texts) or [pa.nulls(0, pa.string())])
    names = list(dict.fromkeys([*raw.names, JOINED]))
    return replace(raw, columns={**raw.columns, JOINED: column}, names=names)


def with_time_reading(
    raw: RawTable, time: str, timestamps: Iterable[str], options: ReadOptions, stream: str
) -> tuple[RawTable, TimeReading]:
    """The table with a reading for its time and its other declared timestamps, by the options and the data; notes on
    what the data decided."""
    names = [name for name in dict.fromkeys([time, *timestamps]) if name in raw.columns]
    texts = {name: raw.columns[name].time_texts() for name in names} if options.time_format is None else {}
    decided_by = next((name for name, found in texts.items() if found), time)
    evidence = [text for found in texts.values() for text in found]
    reading, notes = settled_reading(options, evidence, source_name(raw, stream), decided_by)
    return replace(with_readings(raw, time, names, reading), notes=(*raw.notes, *notes)), reading


def with_readings(raw: RawTable, time: str, timestamps: Iterable[str], reading: TimeReading) -> RawTable:
    """The table with a reading that is settled."""
    columns: Mapping[str, RawColumn] = {
        name: TimeColumn(raw.columns[name], reading if name == time else reading.unformatted)
        for name in dict.fromkeys([time, *timestamps])
        if name in raw.columns
    }
    return replace(raw, columns={**raw.columns, **columns})


def epoch_notes(raw: RawTable, time: str, stream: str) -> tuple[str, ...]:
    """A note on a time column whose numbers are read as times."""
    column = raw.columns.get(time)
    unit = column.unit if isinstance(column, TimeColumn) else None
    return () if unit is None else (epoch_note(source_name(raw, stream), time, unit),)


def epoch_note(source: str, time: str, unit: str) -> str:
    return f"{source}: {time} is read as {unit} since 1970; declare `{time} INT` to keep the number"


def source_name(raw: RawTable, stream: str) -> str:
    return raw.origins[0].source if len(raw.origins) == 1 else stream

"""Arrow columns, from tables, data frames and Parquet files. Only columns with misfits are read row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.errors import InputError
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, nan_to_null, nulls_of, numpy_of
from foretell.events.ingest.json_lines import row_text
from foretell.events.ingest.local_times import zone_of
from foretell.events.ingest.nested_columns import fields_of, is_list, with_nested_columns
from foretell.events.ingest.nested_paths import nested_value
from foretell.events.ingest.null_markers import NullMarkers
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType, RawTable, RowOrigin, TypedColumn
from foretell.events.ingest.scalar_parsing import (
    BEYOND_RANGE,
    LAST_MICROS,
    LEAST_MICROS,
    MisfitError,
    cast_each,
    convert,
)
from foretell.events.ingest.text_columns import parse_timestamps
from foretell.events.ingest.time_columns import deciding_times, parse_epochs
from foretell.events.ingest.time_forms import DEFAULT_READING, TimeReading
from foretell.events.types import Type
from foretell.records import record

#: The name that pandas gives to an index without one; it is no attribute.
_UNNAMED_INDEX = "__index_level_"
#: The types that can be cast to each type.
_FITS: Mapping[Type, frozenset[Type]] = {
    Type.BOOL: frozenset({Type.BOOL}),
    Type.INT: frozenset({Type.INT, Type.FLOAT}),
    Type.FLOAT: frozenset({Type.INT, Type.FLOAT}),
    Type.STRING: frozenset({Type.STRING}),
    Type.TIMESTAMP: frozenset({Type.TIMESTAMP, Type.STRING, Type.INT, Type.FLOAT}),
}
_MICROS_PER_UNIT = {
    "s": Fraction(1_000_000),
    "ms": Fraction(1_000),
    "us": Fraction(1),
    "ns": Fraction(1, 1_000),
    "day": Fraction(86_400_000_000),
}


@record
class ArrowColumn:
    """A column of chunks, which may differ in type where they come from different files."""

    name: str
    chunks: Sequence[ArrowArray]

    def infer_type(self) -> Type | None:
        """The type of all chunks; INT and FLOAT together are FLOAT."""
        kinds = {attribute_type(chunk.type) for chunk in self.chunks} - {Type.NULL}
        if kinds == {Type.INT, Type.FLOAT}:
            return Type.FLOAT
        if len(kinds) > 1:
            arrow_types = ", ".join(sorted({str(chunk.type) for chunk in self.chunks}))
            raise InputError("wrong-type", f"{self.name}: the column's type differs between files: {arrow_types}")
        return kinds.pop() if kinds else Type.NULL

    def infer_time_type(self) -> Type | None:
        kind = self.infer_type()
        if kind is Type.STRING:
            return Type.TIMESTAMP
        return kind if kind in (Type.INT, Type.FLOAT, Type.TIMESTAMP, Type.NULL) else None

    def cast(self, wanted: Type, reading: TimeReading = DEFAULT_READING) -> TypedColumn:
        values: list[ArrowArray] = []
        misfits: dict[int, str] = {}
        start = 0
        for chunk in self.chunks:
            column = _cast_chunk(chunk, self.name, wanted, reading)
            values.append(column.values)
            misfits.update((start + position, reason) for position, reason in column.misfits.items())
            start += len(chunk)
        return TypedColumn(pa.chunked_array(values, ARROW_TYPES[wanted]), misfits)

    def cast_times(self, reading: TimeReading) -> TypedColumn:
        return self.cast(Type.TIMESTAMP, reading)

    def time_texts(self) -> list[str]:
        texts = [_decoded(chunk).cast(pa.string()) for chunk in self._chunks_of(Type.STRING)]
        return deciding_times(_valid_texts(pa.chunked_array(texts, pa.string()))) if texts else []

    def number_bounds(self) -> tuple[float | None, float | None]:
        bounds: list[Any] = [pc.min_max(_decoded(chunk)).as_py() for chunk in self._chunks_of(Type.INT, Type.FLOAT)]
        least, greatest = ([b[end] for b in bounds if b[end] is not None] for end in ("min", "max"))
        return min(least, default=None), max(greatest, default=None)

    def as_texts(self) -> ArrowArray:
        return pa.chunked_array([_decoded(chunk).cast(pa.string()) for chunk in self.chunks], pa.string())

    def _chunks_of(self, *kinds: Type) -> list[ArrowArray]:
        return [chunk for chunk in self.chunks if attribute_type(chunk.type) in kinds and len(chunk)]

    def without(self, markers: NullMarkers) -> ArrowColumn:
        return ArrowColumn(self.name, [_without(chunk, markers) for chunk in self.chunks])

    def value(self, position: int) -> object:
        for chunk in self.chunks:
            if position < len(chunk):
                return _value(chunk[position])
            position -= len(chunk)
        return None


@record
class ArrowSource:
    """A table with its name, and the names of all its columns, also of those that were not read."""

    source: str
    table: pa.Table
    names: Sequence[str]


def arrow_source(source: str, table: pa.Table, names: Sequence[str], wanted: frozenset[str] | None) -> ArrowSource:
    """A table with the columns that are `wanted`, also nested ones."""
    nested = with_nested_columns(table, wanted)
    unread = [] if wanted is None else [name for name in table.column_names if name not in wanted]
    added = nested.column_names[table.num_columns :]
    return ArrowSource(source, nested.drop_columns(unread) if unread else nested, [*names, *added])


def combine_tables(sources: Sequence[ArrowSource]) -> RawTable:
    """The rows of all tables. A column that one of them lacks is NULL there."""
    names = [name for name in _distinct(source.names for source in sources) if not name.startswith(_UNNAMED_INDEX)]
    read = frozenset(name for source in sources for name in source.table.column_names)
    columns = {
        name: ArrowColumn(name, [chunk for source in sources for chunk in _chunks(source, name)])
        for name in names
        if name in read
    }
    return RawTable(columns, names, [_origin(source) for source in sources], (), absent_is_null=False)


def attribute_type(kind: ArrowType) -> Type | None:
    """The attribute type that holds values of an Arrow type; None where there is none."""
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return attribute_type(kind.value_type)
    for attribute, tests in (
        (Type.BOOL, (types.is_boolean,)),
        (Type.INT, (types.is_integer,)),
        (Type.FLOAT, (types.is_floating, types.is_decimal)),
        (Type.STRING, (types.is_string, types.is_large_string, types.is_string_view)),
        (Type.TIMESTAMP, (types.is_timestamp, types.is_date)),
        (Type.NULL, (types.is_null,)),
    ):
        if any(test(kind) for test in tests):
            return attribute
    return None


def _distinct(lists: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))


def _chunks(source: ArrowSource, name: str) -> Iterator[ArrowArray]:
    table = source.table
    if table.column_names.count(name) > 1:
        raise InputError("wrong-format", f"{source.source} has two columns '{name}'")
    if name in table.column_names:
        yield from table.column(name).chunks
    else:
        yield pa.nulls(table.num_rows)


def _origin(source: ArrowSource) -> RowOrigin:
    table = source.table
    numbers = range(1, table.num_rows + 1)
    return RowOrigin(source.source, numbers, lambda i: row_text(_row(table, i)), source.names)


def _row(table: pa.Table, position: int) -> dict[str, object]:
    return {name: _value(table.column(name)[position]) for name in table.column_names}


def _value(scalar: Any) -> object:
    """The scalar as a Python value; where Python cannot represent it, the stored value."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.cast(pa.binary()).as_py().decode("utf-8", "replace")
    except (OverflowError, ValueError):
        return scalar.value


def _valid_texts(texts: ArrowArray) -> ArrowArray:
    """The texts, or none of them where one is not UTF-8: such columns are read row by row."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return texts.slice(0, 0)
    return texts


def _cast_chunk(chunk: ArrowArray, name: str, wanted: Type, reading: TimeReading) -> TypedColumn:
    kind = attribute_type(chunk.type)
    if kind is Type.NULL:
        return TypedColumn(pa.nulls(len(chunk), ARROW_TYPES[wanted]), {})
    if pa.types.is_struct(chunk.type) or is_list(chunk.type):
        shape = "an object" if pa.types.is_struct(chunk.type) else "a list"
        raise nested_value(name, wanted, shape, fields_of(chunk.type, name))
    if kind not in _FITS[wanted]:
        raise InputError("wrong-type", f"{name}: expected {wanted.value}, but the column is {chunk.type}")
    plain = _decoded(chunk)
    if kind is Type.STRING:
        return _cast_strings(plain, name, wanted, reading)
    if wanted is Type.TIMESTAMP:
        return _cast_timestamps(plain, name, reading) if kind is wanted else _cast_epochs(plain, name, reading)
    return _cast_numbers(plain, name, wanted)


def _without(chunk: ArrowArray, markers: NullMarkers) -> ArrowArray:
    if pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type):
        return markers.without_numbers(chunk)
    if attribute_type(chunk.type) is not Type.STRING or not markers.texts:
        return chunk
    return markers.without_texts(_decoded(chunk).cast(pa.string()), markers.texts)


def _decoded(chunk: ArrowArray) -> ArrowArray:
    """The values of a column that holds codes for them."""
    if pa.types.is_dictionary(chunk.type):
        values = _decoded(chunk.dictionary)
        # polars' dictionaries are string views, for which Arrow has no `take`.
        return (values.cast(pa.string()) if pa.types.is_string_view(values.type) else values).take(chunk.indices)
    if pa.types.is_run_end_encoded(chunk.type):
        return _decoded(pc.call_function("run_end_decode", [chunk]))
    return chunk


def _cast_numbers(chunk: ArrowArray, name: str, wanted: Type) -> TypedColumn:
    if pa.types.is_floating(chunk.type):
        chunk = chunk.cast(pa.float64())
        chunk = nan_to_null(chunk)
    try:
        # A FLOAT may be rounded; an INT is exact or a misfit.
        return TypedColumn(chunk.cast(ARROW_TYPES[wanted], safe=wanted is not Type.FLOAT), {})
    except pa.ArrowInvalid:
        return cast_each(chunk.to_pylist(), name, wanted, lambda value: convert(value, wanted))


def _cast_epochs(chunk: ArrowArray, name: str, reading: TimeReading) -> TypedColumn:
    if reading.time_format is not None:
        return parse_timestamps(chunk.cast(pa.string()), name, reading)
    return parse_epochs(_cast_numbers(chunk, name, attribute_type(chunk.type) or Type.INT).values, name)


def _cast_strings(chunk: ArrowArray, name: str, wanted: Type, reading: TimeReading) -> TypedColumn:
    texts = chunk.cast(pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # not UTF-8
        return cast_each(texts.cast(pa.binary()).to_pylist(), name, wanted, lambda value: _utf8(value, wanted, reading))
    return TypedColumn(texts, {}) if wanted is Type.STRING else parse_timestamps(texts, name, reading)


def _utf8(value: bytes, wanted: Type, reading: TimeReading) -> bool | int | float | str | None:
    try:
        return convert(value.decode(), wanted, reading)
    except UnicodeDecodeError:
        raise MisfitError("not UTF-8") from None


def _cast_timestamps(chunk: ArrowArray, name: str, reading: TimeReading) -> TypedColumn:
    """Timestamps of any unit and zone as microseconds of UTC. Finer units are rounded down, as in texts."""
    per_unit = _MICROS_PER_UNIT[_unit(chunk.type)]
    ticks = _ticks(chunk)
    is_null = nulls_of(chunk)
    beyond = ~is_null & ((ticks < _ceil(LEAST_MICROS / per_unit)) | (ticks >= _ceil((LAST_MICROS + 1) / per_unit)))
    micros = np.where(beyond, 0, ticks) * per_unit.numerator // per_unit.denominator
    if reading.zone is not None and getattr(chunk.type, "tz", None) is None:
        micros = micros - zone_of(reading.zone).offsets(micros)
        beyond |= ~is_null & ((micros < LEAST_MICROS) | (micros > LAST_MICROS))
    values = arrow_of(micros, ARROW_TYPES[Type.TIMESTAMP], is_null | beyond)
    reason = MisfitError(BEYOND_RANGE).reason(name)
    return TypedColumn(values, {int(position): reason for position in np.flatnonzero(beyond)})


def _unit(kind: ArrowType) -> str:
    if pa.types.is_timestamp(kind):
        return str(kind.unit)
    return "day" if pa.types.is_date32(kind) else "ms"


def _ticks(chunk: ArrowArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    narrow = pa.int32() if pa.types.is_date32(chunk.type) else pa.int64()
    return np.where(nulls_of(chunk), 0, numpy_of(chunk.view(narrow).cast(pa.int64())))


def _ceil(value: Fraction) -> int:
    """The first tick at or after `value`; kept within 64 bits, as finer units cannot reach our limits at all."""
    return max(-(2**63), min(-((-value) // 1), 2**63 - 1))

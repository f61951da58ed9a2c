"""Columns of Python values, as JSON lines and iterables of dicts have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import cast

import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.nested_paths import ELEMENTS, leaf_paths, name_of, nested_value
from foretell.events.ingest.null_markers import USUAL_MARKERS, NullMarkers
from foretell.events.ingest.raw_columns import ArrowArray, TypedColumn, is_valid_unicode
from foretell.events.ingest.scalar_parsing import cast_each, convert, is_timestamp, unboxed
from foretell.events.ingest.text_columns import parse_timestamps
from foretell.events.ingest.time_columns import deciding_times, parse_epochs
from foretell.events.ingest.time_forms import DEFAULT_READING, TimeReading
from foretell.events.types import Scalar, Type
from foretell.records import record

_MARKER = "marker"
#: Where a column holds only these Python types (and None), it is cast as a whole, with the same result.
_CAST_AS_WHOLE: Mapping[Type, frozenset[type]] = {
    Type.BOOL: frozenset({bool}),
    Type.INT: frozenset({int}),
    Type.FLOAT: frozenset({int, float}),
    Type.STRING: frozenset({str}),
}

_NUMBERS = frozenset({int, float, bool})


@record
class PythonColumn:
    """A column of values, None where an event has no such attribute."""

    name: str
    values: Sequence[object]

    @cached_property
    def types(self) -> frozenset[type]:
        """The Python types of the values, apart from None."""
        return frozenset(map(type, self.values)) - {type(None)}

    def infer_type(self) -> Type | None:
        """The type of the first value; an INT is widened where a float comes later. A usual marker of missing values
        does not decide, unless there is nothing else."""
        kind = next((_type_of(value) for value in _plain(self.values) if not USUAL_MARKERS.has(value)), Type.NULL)
        if kind is Type.NULL and any(isinstance(value, str) for value in self.values):
            return Type.STRING
        return self._widened(kind) if kind is Type.INT else kind

    def infer_time_type(self) -> Type:
        """The type of the first value that can be a time; malformed values before it do not decide."""
        kind = next((t for t in map(_time_type_of, _plain(self.values)) if t is not None), None)
        if kind is None:
            return Type.TIMESTAMP if any(isinstance(value, str) for value in self.values) else Type.INT
        return self._widened(kind) if kind is Type.INT else kind

    def _widened(self, kind: Type) -> Type:
        if self.types <= {int}:
            return kind
        return Type.FLOAT if any(_type_of(value) is Type.FLOAT for value in _plain(self.values)) else kind

    def refuse_nested(self, wanted: Type) -> None:
        """Raise for a column whose values are objects or lists, all of them."""
        value = next(_plain(self.values), None)
        if isinstance(value, Mapping | list) and all(isinstance(v, Mapping | list) for v in _plain(self.values)):
            shape = "an object" if isinstance(value, Mapping) else "a list"
            raise nested_value(self.name, wanted, shape, map(name_of, leaf_paths(value, (self.name,))))

    def cast(self, wanted: Type) -> TypedColumn:
        if wanted is Type.TIMESTAMP:
            return self.cast_times(DEFAULT_READING)
        if self.types <= _CAST_AS_WHOLE[wanted]:
            try:
                return self._cast_as_whole(wanted)
            except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
                pass  # some value does not fit: cast one by one to find it
        return cast_each(self.values, self.name, wanted, lambda value: convert(value, wanted))

    def _cast_as_whole(self, wanted: Type) -> TypedColumn:
        values = cast(Sequence[Scalar], self.values)
        return TypedColumn(arrow_of_values(values, wanted), {})

    def cast_times(self, reading: TimeReading) -> TypedColumn:
        values = cast(Sequence[Scalar], self.values)
        try:
            if self.types <= {str}:
                return parse_timestamps(arrow_of_values(values, Type.STRING), self.name, reading)
            if self.types in (frozenset({int}), frozenset({float})) and reading.time_format is None:
                kind = Type.INT if int in self.types else Type.FLOAT
                return parse_epochs(arrow_of_values(values, kind), self.name)
        except (OverflowError, UnicodeEncodeError):
            pass  # some value does not fit: cast one by one to find it
        return cast_each(self.values, self.name, Type.TIMESTAMP, lambda v: convert(v, Type.TIMESTAMP, reading))

    def time_texts(self) -> list[str]:
        texts = [value for value in self.values if isinstance(value, str)] if self.types - _NUMBERS else []
        try:
            return deciding_times(arrow_of_values(texts, Type.STRING)) if texts else []
        except UnicodeEncodeError:
            return PythonColumn(self.name, [text for text in texts if is_valid_unicode(text)]).time_texts()

    def number_bounds(self) -> tuple[float | Decimal | None, float | Decimal | None]:
        if self.types <= {int}:
            whole = cast(Sequence[int], [value for value in self.values if value is not None])
            return (min(whole), max(whole)) if whole else (None, None)
        plain = _plain(self.values)
        numbers = [v for v in plain if isinstance(v, int | float | Decimal) and not isinstance(v, bool)]
        return (min(numbers), max(numbers)) if numbers else (None, None)

    def as_texts(self) -> ArrowArray:
        plain = (unboxed(value) for value in self.values)
        texts = [None if value is None else str(value).encode("utf-8", "replace").decode() for value in plain]
        return arrow_of_values(texts, Type.STRING)

    def without(self, markers: NullMarkers) -> PythonColumn:
        return PythonColumn(self.name, [None if markers.has(unboxed(value)) else value for value in self.values])

    def value(self, position: int) -> object:
        return self.values[position]


def deciding_values(values: Sequence[object]) -> list[object]:
    """The values that decide the inferred type: the first of each type, the first text that is no marker of missing
    values, the first text that can be a time, the least and the greatest number, and the texts that decide how times
    are read. A value that no attribute can hold is represented by its outline."""
    deciding: dict[object, object] = {}
    for value in _plain(values):
        kind = _type_of(value)
        is_marker = kind is Type.STRING and USUAL_MARKERS.has(value)
        deciding.setdefault(_MARKER if is_marker else kind, _outline(value) if kind is None else value)
        if kind is Type.STRING and Type.TIMESTAMP not in deciding and _time_type_of(value) is not None:
            deciding[Type.TIMESTAMP] = value
    column = PythonColumn("", values)
    bounds = [bound for bound in column.number_bounds() if bound is not None]
    return [*deciding.values(), *bounds, *column.time_texts()]


def _outline(value: object) -> object:
    """The fields of an object, or the first elements of a list, without their values."""
    if isinstance(value, Mapping):
        return {str(name): 0 for name in value}
    return [0] * min(len(value), ELEMENTS) if isinstance(value, list) else []


def _plain(values: Iterable[object]) -> Iterator[object]:
    return (plain for plain in map(unboxed, values) if plain is not None)


def _type_of(value: object) -> Type | None:
    match value:
        case bool():
            return Type.BOOL
        case int():
            return Type.INT
        case float() | Decimal():
            return Type.FLOAT
        case str():
            return Type.STRING
        case date():  # a datetime is one too
            return Type.TIMESTAMP
    return None


def _time_type_of(value: object) -> Type | None:
    if isinstance(value, str):
        return Type.TIMESTAMP if is_timestamp(value) else None
    kind = _type_of(value)
    return kind if kind in (Type.INT, Type.FLOAT, Type.TIMESTAMP) else None

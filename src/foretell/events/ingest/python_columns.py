"""Columns of Python values, as JSON lines and iterables of dicts have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import cast

import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.raw_columns import TypedColumn
from foretell.events.ingest.scalar_parsing import cast_each, convert, is_timestamp, unboxed
from foretell.events.ingest.text_columns import parse_timestamps
from foretell.events.types import Scalar, Type

#: Where a column holds only these Python types (and None), it is cast as a whole, with the same result.
_CAST_AS_WHOLE: Mapping[Type, frozenset[type]] = {
    Type.BOOL: frozenset({bool}),
    Type.INT: frozenset({int}),
    Type.FLOAT: frozenset({int, float}),
    Type.STRING: frozenset({str}),
    Type.TIMESTAMP: frozenset({str}),
}


@dataclass(frozen=True)
class PythonColumn:
    """A column of values, None where an event has no such attribute."""

    name: str
    values: Sequence[object]

    def infer_type(self) -> Type | None:
        """The type of the first value; an INT is widened where a float comes later."""
        kind = next((_type_of(value) for value in _plain(self.values)), Type.NULL)
        return self._widened(kind) if kind is Type.INT else kind

    def infer_time_type(self) -> Type:
        """The type of the first value that can be a time; malformed values before it do not decide."""
        kind = next((t for t in map(_time_type_of, _plain(self.values)) if t is not None), None)
        if kind is None:
            return Type.TIMESTAMP if any(isinstance(value, str) for value in self.values) else Type.INT
        return self._widened(kind) if kind is Type.INT else kind

    def _widened(self, kind: Type) -> Type:
        if set(map(type, self.values)) <= {int, type(None)}:
            return kind
        return Type.FLOAT if any(_type_of(value) is Type.FLOAT for value in _plain(self.values)) else kind

    def cast(self, wanted: Type) -> TypedColumn:
        if set(map(type, self.values)) - {type(None)} <= _CAST_AS_WHOLE[wanted]:
            try:
                return self._cast_as_whole(wanted)
            except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
                pass  # some value does not fit: cast one by one to find it
        return cast_each(self.values, self.name, wanted, lambda value: convert(value, wanted))

    def _cast_as_whole(self, wanted: Type) -> TypedColumn:
        values = cast(Sequence[Scalar], self.values)
        if wanted is Type.TIMESTAMP:
            return parse_timestamps(arrow_of_values(values, Type.STRING), self.name)
        return TypedColumn(arrow_of_values(values, wanted), {})


def deciding_values(values: Sequence[object]) -> list[object]:
    """The values that decide the inferred type: the first of each type, and the first text that can be a time. A value
    that no attribute can hold is represented by []."""
    deciding: dict[object, object] = {}
    for value in _plain(values):
        kind = _type_of(value)
        deciding.setdefault(kind, [] if kind is None else value)
        if kind is Type.STRING and Type.TIMESTAMP not in deciding and _time_type_of(value) is not None:
            deciding[Type.TIMESTAMP] = value
    return list(deciding.values())


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

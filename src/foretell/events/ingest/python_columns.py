"""Columns of Python values, as JSON lines and iterables of dicts give them."""

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

#: Where a column holds only these (and None), Arrow converts it whole, to the same result.
_QUICK: Mapping[Type, frozenset[type]] = {
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
        found = next((_type_of(value) for value in _plain(self.values)), Type.NULL)
        return self._widened(found) if found is Type.INT else found

    def infer_time_type(self) -> Type:
        """As the first value that can be a time says. Rubbish before it must not decide for all that follow."""
        found = next((t for t in map(_time_type_of, _plain(self.values)) if t is not None), None)
        if found is None:
            return Type.TIMESTAMP if any(isinstance(value, str) for value in self.values) else Type.INT
        return self._widened(found) if found is Type.INT else found

    def _widened(self, found: Type) -> Type:
        kinds = set(map(type, self.values))
        if kinds <= {int, type(None)}:
            return found
        return Type.FLOAT if any(_type_of(value) is Type.FLOAT for value in _plain(self.values)) else found

    def cast(self, wanted: Type) -> TypedColumn:
        if set(map(type, self.values)) - {type(None)} <= _QUICK[wanted]:
            try:
                return self._cast_whole(wanted)
            except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
                pass  # some value does not fit: find out which
        return cast_each(self.values, self.name, wanted, lambda value: convert(value, wanted))

    def _cast_whole(self, wanted: Type) -> TypedColumn:
        values = cast(Sequence[Scalar], self.values)
        if wanted is Type.TIMESTAMP:
            return parse_timestamps(arrow_of_values(values, Type.STRING), self.name)
        return TypedColumn(arrow_of_values(values, wanted), {})


def deciding_values(values: Sequence[object]) -> list[object]:
    """Those that a guess goes by: the first of each kind, the first that can be a time, and one that is none."""
    found: dict[object, object] = {}
    for value in _plain(values):
        kind = _type_of(value)
        found.setdefault(kind, [] if kind is None else value)
        if kind is Type.STRING and Type.TIMESTAMP not in found and _time_type_of(value) is not None:
            found[Type.TIMESTAMP] = value
    return list(found.values())


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
    found = _type_of(value)
    return found if found in (Type.INT, Type.FLOAT, Type.TIMESTAMP) else None

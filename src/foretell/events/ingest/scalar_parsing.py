"""Cast one value to one type, or say why it does not fit. Casts of whole columns must agree with this."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TypeVar

import numpy as np

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.epoch_numbers import epoch_micros
from foretell.events.ingest.raw_columns import TypedColumn, is_valid_unicode
from foretell.events.ingest.time_forms import DEFAULT_READING, TimeReading
from foretell.events.types import Scalar, Type, parse_timestamp

LEAST_MICROS = parse_timestamp("0001-01-01T00:00:00")
LAST_MICROS = parse_timestamp("9999-12-31T23:59:59.999999")
LEAST_INT, LAST_INT = -(2**63), 2**63 - 1
SHOWN_LENGTH = 60

# Numbers in ASCII digits; Python's own int() and float() also accept underscores and other scripts' digits.
INT_TEXT = r"[+-]?[0-9]+"
FLOAT_TEXT = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|[+-]?inf(?:inity)?)"
BOOL_TEXT = r"(?i:true|false)"

Value = TypeVar("Value")

_INT = re.compile(INT_TEXT)
_FLOAT = re.compile(FLOAT_TEXT)


class MisfitError(Exception):
    """A value does not fit a type."""

    def reason(self, name: str) -> str:
        """The reason for the attribute `name`: 'price: expected FLOAT, found …', 'time beyond range'."""
        text = str(self)
        return f"{name} {text}" if text == BEYOND_RANGE else f"{name}: {text}"


BEYOND_RANGE = "beyond range"
_ANY_YEAR = TimeReading(year=2000)


def convert(value: object, wanted: Type, reading: TimeReading = DEFAULT_READING) -> Scalar:
    """A Python or JSON value in the type `wanted`; NaN is NULL. A timestamp becomes microseconds."""
    plain = unboxed(value)
    if plain is None:
        return None
    return _timestamp(plain, reading) if wanted is Type.TIMESTAMP else _CONVERTERS[wanted](plain)


def convert_text(text: str, wanted: Type) -> Scalar:
    """The text of a CSV field in the type `wanted`."""
    return convert(text, wanted) if wanted is Type.TIMESTAMP else _TEXT_CONVERTERS[wanted](text)


def cast_each(
    values: Iterable[Value | None], name: str, wanted: Type, converter: Callable[[Value], Scalar]
) -> TypedColumn:
    """Cast values one by one, with a reason for each that does not fit."""
    scalars: list[Scalar] = []
    misfits: dict[int, str] = {}
    for position, value in enumerate(values):
        try:
            scalars.append(None if value is None else converter(value))
        except MisfitError as misfit:
            misfits[position] = misfit.reason(name)
            scalars.append(None)
    return TypedColumn(arrow_of_values(scalars, wanted), misfits)


def is_timestamp(text: str) -> bool:
    """Whether a text can be a time, whatever decides its day and its year."""
    return _ANY_YEAR.is_time(text)


def unboxed(value: object) -> object:
    """The plain Python value of a NumPy scalar; None for NaN and for pandas' NA and NaT."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | Decimal) and math.isnan(value):
        return None
    # pandas must not be imported for this, so its two singletons are recognised by name.
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def display_value(value: object) -> str:
    """A value as messages show it, shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = value if isinstance(value, str) else _written(value)
    cut = text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 1] + "…"
    return repr(cut) if isinstance(value, str) else cut


def _written(value: object) -> str:
    try:
        return str(value) if isinstance(value, date | Decimal) else repr(value)
    except ValueError:  # Python refuses to format integers of many thousand digits
        return "a very long number"


def _expected(wanted: Type, value: object) -> MisfitError:
    return MisfitError(f"expected {wanted.value}, found {display_value(value)}")


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _expected(Type.BOOL, value)


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _expected(Type.INT, value)
    if not isinstance(value, int) and (not math.isfinite(value) or value != int(value)):
        raise _expected(Type.INT, value)
    if not LEAST_INT <= value <= LAST_INT:
        raise MisfitError(f"{display_value(value)} does not fit INT")
    return int(value)


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _expected(Type.FLOAT, value)
    try:
        return float(value)
    except OverflowError:
        raise MisfitError(f"{display_value(value)} does not fit FLOAT") from None


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _expected(Type.STRING, value)
    if not is_valid_unicode(value):
        raise MisfitError("not valid Unicode")
    return value


def _timestamp(value: object, reading: TimeReading) -> int:
    return _within_range(_micros(value, reading))


def _micros(value: object, reading: TimeReading) -> int:
    if isinstance(value, datetime):
        return reading.moment(value)
    if isinstance(value, date):
        return reading.midnight(value)
    micros = None
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        if reading.time_format is None:
            micros = epoch_micros(value)
        else:
            value = str(value)  # such as 20240301 for %Y%m%d
    if isinstance(value, str):
        with suppress(ValueError):
            micros = reading.parse(value)
    if micros is None:
        raise _expected(Type.TIMESTAMP, value)
    return micros


def _within_range(micros: int) -> int:
    if not LEAST_MICROS <= micros <= LAST_MICROS:
        raise MisfitError(BEYOND_RANGE)
    return micros


def _bool_text(text: str) -> bool:
    folded = text.strip().lower()
    if folded in ("true", "false"):
        return folded == "true"
    raise _expected(Type.BOOL, text)


def _int_text(text: str) -> int:
    stripped = text.strip()
    if not _INT.fullmatch(stripped):
        # '1.0' is the INT 1, as in JSON.
        return _int(_number(stripped, Type.INT, text))
    number = Decimal(stripped)  # unlike int(), without a limit on the number of digits
    if not LEAST_INT <= number <= LAST_INT:
        raise MisfitError(f"{display_value(number)} does not fit INT")
    return int(number)


def _float_text(text: str) -> float | None:
    number = _number(text.strip(), Type.FLOAT, text)
    return None if math.isnan(number) else number


def _number(stripped: str, wanted: Type, text: str) -> float:
    if not _FLOAT.fullmatch(stripped):
        raise _expected(wanted, text)
    number = float(stripped)
    if wanted is Type.INT and (not math.isfinite(number) or not number.is_integer()):
        raise _expected(wanted, text)
    return number


_CONVERTERS: Mapping[Type, Callable[[object], Scalar]] = {
    Type.BOOL: _bool,
    Type.INT: _int,
    Type.FLOAT: _float,
    Type.STRING: _string,
}

_TEXT_CONVERTERS: Mapping[Type, Callable[[str], Scalar]] = {
    Type.BOOL: _bool_text,
    Type.INT: _int_text,
    Type.FLOAT: _float_text,
    Type.STRING: _string,
}

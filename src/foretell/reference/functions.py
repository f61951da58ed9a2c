"""Functions of the language on Python values: None is NULL, a TIMESTAMP is a datetime, a duration a timedelta."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from foretell.events.regular_expressions import matching
from foretell.events.types import Scalar

Value = Scalar | datetime | timedelta


def fits(result: Value) -> Value:
    """The result where it fits its type, else NULL."""
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        return None
    if isinstance(result, float) and not math.isfinite(result):
        return None
    if isinstance(result, timedelta) and not -(2**63) <= result // timedelta(microseconds=1) < 2**63:
        return None
    return result


def call(function: str, arguments: list[Value]) -> Value:
    """The value of a call: NULL where an argument is (but for coalesce), and where the result does not exist."""
    if function == "coalesce":
        return next((a for a in arguments if a is not None), None)
    if any(a is None for a in arguments):
        return None
    try:
        return fits(_FUNCTIONS[function](*arguments))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _substr(text: str, start: int, length: int | None = None) -> str:
    """The first character is number 1, the last one -1; 0 is the first too. Before the first there are none."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def _round(number: int | float, digits: int = 0) -> int | float:
    """Half away from 0, as the number is written in decimals."""
    if isinstance(number, float):
        return _rounded_float(number, digits)
    if digits >= 0:
        return number
    return int(Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def _rounded_float(number: float, digits: int) -> float:
    """The whole number of units nearest to a number, where half a unit is the float nearest to it (decision 0002)."""
    unit = 10.0 ** abs(digits)
    size = abs(number)
    count = size * unit if digits >= 0 else size / unit
    if not count < 2.0**52:
        return number
    whole = math.floor(count)
    half = (2 * whole + 1) / (2 * unit) if digits >= 0 else (whole + 0.5) * unit
    whole += size >= half
    return math.copysign(whole / unit if digits >= 0 else whole * unit, number) + 0.0


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _calendar_field(name: str) -> Callable[..., int]:
    def field(time: datetime, zone: str = "UTC") -> int:
        local = time.astimezone(_zone(zone))
        return local.weekday() if name == "weekday" else int(getattr(local, name))

    return field


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "regexp_like": lambda text, pattern: matching([text], pattern)[0],
    "substr": _substr,
    "lower": str.lower,
    "upper": str.upper,
    "length": len,
    "abs": abs,
    "sqrt": math.sqrt,
    "pow": math.pow,
    "ln": math.log,
    "exp": math.exp,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    **{name: _calendar_field(name) for name in ("year", "month", "day", "hour", "minute", "weekday")},
}

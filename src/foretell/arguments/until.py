"""A point in time as a caller hands it in, in the unit of the streams' time.

`until` of a run is the time to which it continues after the last event; `since` and `until` of training and backtests
select events (see `arguments.period`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Set
from datetime import date, datetime
from decimal import Decimal

from foretell.arguments.validation import describe
from foretell.errors import InputError
from foretell.events.ingest.scalar_parsing import INT_TEXT, MisfitError, convert, convert_text, unboxed
from foretell.events.types import LAST_TIME, Type

TimeLike = str | int | float | date | datetime


def parse_until(until: object, time_types: Set[Type], name: str = "until") -> int | float | None:
    """`time_types` are those of the streams; there are none before the first event where none is declared. `name` is
    the argument's."""
    if until is None:
        return None
    timestamps = Type.TIMESTAMP in time_types
    if timestamps and time_types != {Type.TIMESTAMP}:
        raise InputError(
            f"bad-{name}",
            f"{name}: some streams have timestamps and others plain numbers as time, so no value fits all of them",
            hint="run the statements on each kind of time separately",
        )
    time = None if timestamps else _number(until)
    if time is None and (timestamps or not time_types):
        time = _timestamp(until)
    if time is not None and Type.FLOAT not in time_types and time_types and abs(time) > LAST_TIME:
        raise InputError(f"bad-{name}", f"{name}: {time} is beyond the range of whole times, ±{LAST_TIME:,}")
    if time is None:
        expected, hint = _expected(timestamps)
        raise InputError(f"bad-{name}", f"{name}: expected {expected}, found {describe(until)}", hint=hint)
    return time


def _expected(timestamps: bool) -> tuple[str, str]:
    if timestamps:
        return (
            "a date and time",
            "give an ISO text such as '2026-03-01T10:00:00', or a datetime; the last year is 9999",
        )
    return "a number", "give a finite number, as the streams' time is one"


def _number(until: object) -> int | float | None:
    try:
        if isinstance(until, str):
            whole = re.fullmatch(INT_TEXT, until.strip())
            number = convert_text(until, Type.INT if whole else Type.FLOAT)
        else:
            number = convert(until, Type.FLOAT if isinstance(unboxed(until), float | Decimal) else Type.INT)
    except MisfitError:
        return None
    return number if isinstance(number, int | float) and math.isfinite(number) else None


def _timestamp(until: object) -> int | None:
    try:
        micros = convert(until, Type.TIMESTAMP)
    except MisfitError:
        return None
    return micros if isinstance(micros, int) else None

"""Until when time goes on after the last event, in the unit of the streams' time."""

from __future__ import annotations

import math
import re
from collections.abc import Set
from decimal import Decimal

from foretell.arguments.validation import describe
from foretell.errors import InputError
from foretell.events.ingest.scalar_parsing import INT_TEXT, MisfitError, convert, convert_text, unboxed
from foretell.events.types import Type


def parse_until(until: object, kinds: Set[Type]) -> int | float | None:
    """`kinds` are those of the streams' times; there are none where no stream has shown an event yet."""
    if until is None:
        return None
    timestamps = Type.TIMESTAMP in kinds
    if timestamps and kinds != {Type.TIMESTAMP}:
        raise InputError(
            "bad-until",
            "until: some streams have timestamps and others plain numbers as time, and it cannot be both",
            hint="run the statements about the ones and the others apart",
        )
    found = None if timestamps else _number(until)
    if found is None and (timestamps or not kinds):
        found = _timestamp(until)
    if found is None:
        wanted, hint = _wanted(timestamps)
        raise InputError("bad-until", f"until: expected {wanted}, found {describe(until)}", hint=hint)
    return found


def _wanted(timestamps: bool) -> tuple[str, str]:
    if timestamps:
        return "a date and time", "an ISO text such as '2026-03-01T10:00:00', or a datetime; the last year is 9999"
    return "a number", "the streams' time is a plain number, and a finite one is wanted"


def _number(until: object) -> int | float | None:
    try:
        if isinstance(until, str):
            whole = re.fullmatch(INT_TEXT, until.strip())
            found = convert_text(until, Type.INT if whole else Type.FLOAT)
        else:
            found = convert(until, Type.FLOAT if isinstance(unboxed(until), float | Decimal) else Type.INT)
    except MisfitError:
        return None
    return found if isinstance(found, int | float) and math.isfinite(found) else None


def _timestamp(until: object) -> int | None:
    try:
        found = convert(until, Type.TIMESTAMP)
    except MisfitError:
        return None
    return found if isinstance(found, int) else None

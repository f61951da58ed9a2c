"""Python values as literals of the language."""

from __future__ import annotations

import math
import numbers
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from foretell.events.types import EPOCH
from foretell.language import tree
from foretell.language.builder.errors import builder_error

Plain: TypeAlias = bool | int | float | str | datetime | timedelta | None


def literal_tree(value: object) -> tree.Expression:
    """The literal of a Python value. A datetime without a zone is UTC, as in the text."""
    match value:
        case None | bool():
            return tree.Literal(value)
        case str():
            return tree.Literal(str.__str__(value))  # an enumeration's value
        case numbers.Real():
            return tree.Literal(number(value))
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return tree.Moment((moment - EPOCH) // timedelta(microseconds=1))
        case timedelta():
            return span_of(value)
        case list() | tuple() | set() | frozenset():
            raise builder_error(
                "not-a-literal", f"a {_kind(value)} is not one value", "write x.in_(*options) for a choice"
            )
    hint = "use a bool, int, float, str, datetime, timedelta or None"
    raise builder_error("not-a-literal", f"a value of type '{_kind(value)}' cannot be used in a condition", hint)


def _kind(value: object) -> str:
    return type(value).__qualname__


def number(value: object) -> int | float:
    """A finite number of 64 bits; NumPy numbers are accepted."""
    match value:
        case bool():
            pass
        case numbers.Integral():
            if abs(int(value)) >= 2**63:
                raise builder_error("too-large", f"{value} does not fit in 64 bits")
            return int(value)
        case numbers.Real():
            if not math.isfinite(value):
                raise builder_error("not-finite", f"{float(value)} is not a finite number")
            return float(value)
    raise builder_error("not-a-number", f"expected a number, found {value!r}")


def span_of(length: timedelta) -> tree.Span:
    """A timedelta in the largest unit that gives a whole number.

    >>> span_of(timedelta(minutes=90)), span_of(timedelta(days=14))
    (Span(amount=90, unit='min'), Span(amount=2, unit='weeks'))
    """
    micros = length // timedelta(microseconds=1)
    if micros == 0:
        return tree.Span(0, "s")
    unit = next(unit for unit in reversed(tree.UNITS) if micros % tree.UNITS[unit] == 0)
    return span(micros // tree.UNITS[unit], unit)


def span(amount: object, unit: str) -> tree.Span:
    length = tree.Span(number(amount), unit)
    if abs(length.amount * tree.UNITS[unit]) >= 2**63:
        raise builder_error("too-large", f"{amount} {unit} does not fit in 64 bits of microseconds")
    return length


def whole(value: object, subject: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise builder_error("not-whole", f"{subject} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def probability(value: object) -> float:
    if not isinstance(value, bool) and isinstance(value, numbers.Real) and 0.0 <= float(value) <= 1.0:
        return float(value)
    raise builder_error("not-probability", f"{value!r} is not a probability between 0 and 1")


def name(text: object, subject: str) -> str:
    if not isinstance(text, str) or not text:
        raise builder_error("not-a-name", f"expected the name of {subject}, found {text!r}")
    return str.__str__(text)

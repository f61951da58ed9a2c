"""Lengths of time."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from foretell.language import tree
from foretell.language.builder.errors import mistake
from foretell.language.builder.expressions import ExpressionBuilder, value_tree
from foretell.language.builder.literals import span


class Length(ExpressionBuilder):
    """A length of time with its unit."""


#: A plain number is a length where the stream's time is one.
LengthOfTime: TypeAlias = Length | timedelta | int | float


def microseconds(amount: int | float) -> Length:
    return _length(amount, "us")


def milliseconds(amount: int | float) -> Length:
    return _length(amount, "ms")


def seconds(amount: int | float) -> Length:
    return _length(amount, "s")


def minutes(amount: int | float) -> Length:
    return _length(amount, "min")


def hours(amount: int | float) -> Length:
    return _length(amount, "hours")


def days(amount: int | float) -> Length:
    return _length(amount, "days")


def weeks(amount: int | float) -> Length:
    return _length(amount, "weeks")


def _length(amount: int | float, unit: str) -> Length:
    return Length(span(amount, unit))


def length_tree(length: object, where: str) -> tree.Span | tree.Literal:
    """A length of time as WITHIN takes it: with a unit, or a plain number where time is one."""
    node = value_tree(length)
    match node:
        case tree.Span(amount=amount) | tree.Literal(value=int() | float() as amount) if not isinstance(amount, bool):
            if amount >= 0:
                return node
            raise mistake("negative-length", f"{where} takes a length of time, found {length!r}")
    raise mistake("not-a-length", f"{where} takes a length of time, found {length!r}", "minutes(5), or a timedelta")

"""Durations with a unit."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from foretell.language import tree
from foretell.language.builder.errors import builder_error
from foretell.language.builder.expressions import ExpressionBuilder, value_tree
from foretell.language.builder.literals import span


class DurationBuilder(ExpressionBuilder):
    """A duration with its unit."""


#: A plain number is a duration where the stream's time is a number.
DurationLike: TypeAlias = DurationBuilder | timedelta | int | float


def microseconds(amount: int | float) -> DurationBuilder:
    return _duration(amount, "us")


def milliseconds(amount: int | float) -> DurationBuilder:
    return _duration(amount, "ms")


def seconds(amount: int | float) -> DurationBuilder:
    return _duration(amount, "s")


def minutes(amount: int | float) -> DurationBuilder:
    return _duration(amount, "min")


def hours(amount: int | float) -> DurationBuilder:
    return _duration(amount, "hours")


def days(amount: int | float) -> DurationBuilder:
    return _duration(amount, "days")


def weeks(amount: int | float) -> DurationBuilder:
    return _duration(amount, "weeks")


def _duration(amount: int | float, unit: str) -> DurationBuilder:
    return DurationBuilder(span(amount, unit))


def duration_tree(length: object, where: str) -> tree.Span | tree.Literal:
    """A duration as WITHIN takes it: with a unit, or a plain number where time is a number."""
    node = value_tree(length)
    match node:
        case tree.Span(amount=amount) | tree.Literal(value=int() | float() as amount) if not isinstance(amount, bool):
            if amount >= 0:
                return node
            raise builder_error("negative-length", f"{where} takes a duration of at least 0, not {length!r}")
    raise builder_error(
        "not-a-length", f"{where} takes a duration, not {length!r}", "write minutes(5), or pass a timedelta"
    )

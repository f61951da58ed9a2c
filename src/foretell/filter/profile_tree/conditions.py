"""Conditions of a profile on one attribute, as ranges of its values: equality, comparisons, BETWEEN, IN.

>>> among([3, 1]).ranges
(ValueRange(low=3, high=3, low_open=False, high_open=False), ValueRange(low=1, high=1, low_open=False, high_open=False))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from foretell.records import record

#: A text, or a number of the attribute's type: TIMESTAMP in microseconds, BOOL as 0 and 1.
Constant: TypeAlias = bool | int | float | str


@record
class ValueRange:
    """The values from `low` to `high`; None where there is no bound."""

    low: Constant | None
    high: Constant | None
    low_open: bool = False
    high_open: bool = False


@record
class ValueCondition:
    """A condition that is true where the value is in one of the ranges. A NULL never is."""

    ranges: tuple[ValueRange, ...]


def equal(value: Constant) -> ValueCondition:
    return ValueCondition((ValueRange(value, value),))


def among(values: Iterable[Constant]) -> ValueCondition:
    return ValueCondition(tuple(ValueRange(value, value) for value in values))


def between(low: Constant, high: Constant) -> ValueCondition:
    return ValueCondition((ValueRange(low, high),))


def at_least(low: Constant) -> ValueCondition:
    return ValueCondition((ValueRange(low, None),))


def above(low: Constant) -> ValueCondition:
    return ValueCondition((ValueRange(low, None, low_open=True),))


def at_most(high: Constant) -> ValueCondition:
    return ValueCondition((ValueRange(None, high),))


def below(high: Constant) -> ValueCondition:
    return ValueCondition((ValueRange(None, high, high_open=True),))


def unequal(value: Constant) -> ValueCondition:
    """The two ranges beside the value, as section 7.2.1 translates inequality tests."""
    return ValueCondition((ValueRange(None, value, high_open=True), ValueRange(value, None, low_open=True)))

"""Arithmetic of TIMESTAMP and DURATION columns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_INT, LEAST_MICROS
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.evaluate.numbers import int_arithmetic, quotient, scalar


def time_arithmetic(operator: str, left: Column, right: Column) -> Column:
    match left.kind, operator, right.kind:
        case (Type.DURATION, "/", Type.DURATION):
            return quotient(left, right)
        case (Type.TIMESTAMP, "-", Type.TIMESTAMP) | (Type.DURATION, "+" | "-", Type.DURATION):
            return int_arithmetic(operator, left, right, Type.DURATION)
        case (_, "+" | "-", _):
            return _within_calendar(int_arithmetic(operator, left, right, Type.TIMESTAMP))
        case (_, "*", Type.DURATION):
            left, right = right, left
    if operator == "*" and right.kind is Type.INT:
        return int_arithmetic(operator, left, right, Type.DURATION)
    return _scaled(operator, left, right)


def _within_calendar(column: Column) -> Column:
    """NULL outside the years 1 to 9999."""
    outside = (column.values < LEAST_MICROS) | (column.values > LAST_MICROS)
    return Column(column.kind, column.values, column.nulls | outside)


def _scaled(operator: str, duration: Column, factor: Column) -> Column:
    """A DURATION times or by a number: exact, then rounded half to even to the microsecond.

    The result in floats is off by less than 2**-50 of itself. Where that error cannot reach the half-way point,
    rounding it is right; the other rows, among them all that are half-way, are computed exactly.
    """
    micros, number = duration.values, factor.values
    near = micros * number.astype(np.float64) if operator == "*" else micros / number
    whole = np.rint(near)
    certain = 0.5 - np.abs(near - whole) > np.abs(near) * 2.0**-50
    nulls = duration.nulls | factor.nulls | ~np.isfinite(number) | ((number == 0) & (operator == "/"))
    values = np.where(certain, whole, 0).astype(np.int64)
    for row in np.flatnonzero(~nulls & ~certain):
        exact = _exactly_scaled(operator, scalar(micros, row), scalar(number, row))
        fits = LEAST_INT <= exact < -LEAST_INT
        values[row], nulls[row] = (exact, False) if fits else (0, True)
    return Column(Type.DURATION, values, nulls)


def _exactly_scaled(operator: str, micros: int, factor: int | float) -> int:
    return round(micros * Fraction(factor) if operator == "*" else micros / Fraction(factor))

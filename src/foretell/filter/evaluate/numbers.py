"""Arithmetic of INT and FLOAT columns. A result that does not fit, or a division by zero, is NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.events.ingest.scalar_parsing import LEAST_INT
from foretell.events.types import Type
from foretell.filter.column import Column, ColumnValues

_EXACT = 2**53  #: every integer up to here is a float


def float_arithmetic(operator: str, left: Column, right: Column) -> Column:
    values = _FLOAT_OPERATORS[operator](left.values, right.values)
    nulls = left.nulls | right.nulls | ~np.isfinite(values)
    return Column(Type.FLOAT, values, nulls | (right.values == 0) if operator in "/%" else nulls)


_FLOAT_OPERATORS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "%": np.fmod,
}


def int_arithmetic(operator: str, left: Column, right: Column, kind: Type) -> Column:
    """`+`, `-`, `*` and `%` of 64-bit integers; `kind` is the type of the result."""
    values, overflows = _INT_OPERATORS[operator](left.values, right.values)
    return Column(kind, values, overflows | left.nulls | right.nulls)


def _add(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    # The sum wrapped round if both sides have one sign and the result has the other (Hacker's Delight, 2-13).
    total = left + right
    return total, ((left ^ total) & (right ^ total)) < 0


def _subtract(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    difference = left - right
    return difference, ((left ^ right) & (left ^ difference)) < 0


def _multiply(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    # The float product is near enough to tell how often the product wrapped round: not at all leaves its sign, once
    # turns it, and beyond that the size alone tells.
    product = left * right
    near = left.astype(np.float64) * right.astype(np.float64)
    sign_changed = (product < 0) != (near < 0)
    size = np.abs(near)
    return product, (size > 1.5 * 2.0**63) | ((size > 2.0**62) & sign_changed)


def _remainder(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    # The least INT divided by -1 has no quotient in C; divided by 1 it leaves the same remainder.
    by_zero = right == 0
    return np.fmod(left, np.where(by_zero | (right == -1), 1, right)), by_zero


_INT_OPERATORS: Mapping[str, Callable[[Ints, Ints], tuple[Ints, Flags]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "%": _remainder,
}


def quotient(left: Column, right: Column) -> Column:
    """The float nearest to the exact quotient of two integers, as in Python, not that of their nearest floats."""
    nulls = left.nulls | right.nulls | (right.values == 0)
    values = left.values / right.values
    for row in np.flatnonzero(~nulls & (_is_inexact(left.values) | _is_inexact(right.values))):
        values[row] = scalar(left.values, row) / scalar(right.values, row)
    return Column(Type.FLOAT, values, nulls)


def _is_inexact(values: Ints) -> Flags:
    inexact: Flags = (values > _EXACT) | (values < -_EXACT)
    return inexact


def scalar(values: ColumnValues, row: Any) -> Any:
    """One value as a Python number; a constant has the same value in every row."""
    return values[row if len(values) > 1 else 0].item()


def negative(column: Column) -> Column:
    return _with_sign(column, np.negative)


def absolute(column: Column) -> Column:
    return _with_sign(column, np.absolute)


def _with_sign(column: Column, change: Callable[[ColumnValues], ColumnValues]) -> Column:
    """The column with its sign changed. The least integer has no opposite, and results must be finite."""
    values = change(column.values)
    lost = ~np.isfinite(values) if column.kind is Type.FLOAT else column.values == LEAST_INT
    return Column(column.kind, values, column.nulls | lost)

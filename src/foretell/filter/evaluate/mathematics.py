"""Mathematical functions of INT and FLOAT columns. A result that does not exist, or does not fit, is NULL."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, as_float, null_constant

_MOST_COUNT = 2.0**52  #: up to here every float has a half between it and the next whole number


def square_root(column: Column) -> Column:
    return _finite(np.sqrt(as_float(column).values), column)


def exponential(column: Column) -> Column:
    return _finite(_kernels().exponentials(_plain(column)), column)


def logarithm(column: Column) -> Column:
    return _finite(_kernels().logarithms(_plain(column)), column)


def power(base: Column, exponent: Column) -> Column:
    values = _kernels().powers(_plain(base), _plain(exponent))
    return Column(Type.FLOAT, values, base.nulls | exponent.nulls | ~np.isfinite(values))


def floor(column: Column) -> Column:
    return _whole(np.floor(column.values), column) if column.kind is Type.FLOAT else column


def ceiling(column: Column) -> Column:
    return _whole(np.ceil(column.values), column) if column.kind is Type.FLOAT else column


def rounded(column: Column, digits: int) -> Column:
    """Half is rounded away from 0."""
    if column.kind is Type.FLOAT:
        return _finite(_rounded_floats(column.values, digits), column)
    return column if digits >= 0 else _rounded_ints(column, 10**-digits)


def _rounded_floats(values: Floats, digits: int) -> Floats:
    """The whole number of units nearest to each number; half a unit is the float nearest to it (decision 0002)."""
    unit, sizes = 10.0 ** abs(digits), np.abs(values)
    counts = sizes * unit if digits >= 0 else sizes / unit
    whole = np.floor(counts)
    half = (2 * whole + 1) / (2 * unit) if digits >= 0 else (whole + 0.5) * unit
    whole = whole + (sizes >= half)
    result = np.copysign(whole / unit if digits >= 0 else whole * unit, values) + 0.0
    return np.where(counts < _MOST_COUNT, result, values)


def _rounded_ints(column: Column, unit: int) -> Column:
    rest = np.fmod(column.values, unit)
    lower: Ints = column.values - rest
    step = np.where(np.abs(rest) >= unit // 2, np.where(rest < 0, -unit, unit), 0)
    result = lower + step
    wrapped = ((lower ^ result) & (step ^ result)) < 0
    return Column(Type.INT, result, column.nulls | wrapped)


def _whole(values: Floats, column: Column) -> Column:
    fits = (values >= -(2.0**63)) & (values < 2.0**63)
    return Column(Type.INT, np.where(fits, values, 0).astype(np.int64), column.nulls | ~fits)


def _finite(values: Floats, column: Column) -> Column:
    if column.kind is Type.NULL:
        return null_constant(Type.FLOAT)
    return Column(Type.FLOAT, values, column.nulls | ~np.isfinite(values))


def _plain(column: Column) -> Floats:
    return np.ascontiguousarray(as_float(column).values)


def _kernels() -> Any:
    # Few statements need them: a start does not load Numba for them.
    from foretell.filter.evaluate import float_kernels

    return float_kernels

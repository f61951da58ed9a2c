"""Three-valued logic and comparisons over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from foretell.arrays import Flags
from foretell.events.types import Type
from foretell.filter.column import Column, ColumnValues, as_float, may_be_null, null_constant
from foretell.filter.evaluate.texts import ranks
from foretell.filter.string_dictionary import StringDictionary


def conjunction(left: Column, right: Column) -> Column:
    if not may_be_null(left.nulls) and not may_be_null(right.nulls):
        return Column(Type.BOOL, flags_of(left.values) & flags_of(right.values), _either_null(left.nulls, right.nulls))
    false = _is_false(left) | _is_false(right)
    nulls = (left.nulls | right.nulls) & ~false
    return Column(Type.BOOL, ~(false | nulls), nulls)


def disjunction(left: Column, right: Column) -> Column:
    return negation(conjunction(negation(left), negation(right)))


def negation(truth: Column) -> Column:
    return Column(Type.BOOL, ~flags_of(truth.values), truth.nulls)


def flags_of(values: ColumnValues) -> Flags:
    """The values of a BOOL column as flags: 0 and 1, or flags already, which NumPy would widen to compare them."""
    flags: Flags = values if values.dtype == np.bool_ else values != 0
    return flags


def negated_if(negated: bool, truth: Column) -> Column:
    return negation(truth) if negated else truth


def _is_false(truth: Column) -> Flags:
    return ~flags_of(truth.values) & ~truth.nulls


COMPARISONS: Mapping[str, Callable[[ColumnValues, ColumnValues], Flags]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compare(operator: str, left: Column, right: Column, strings: StringDictionary) -> Column:
    if left.kind is Type.NULL or right.kind is Type.NULL:
        return null_constant(Type.BOOL)
    if left.kind is not right.kind and Type.FLOAT in (left.kind, right.kind):
        left, right = as_float(left), as_float(right)
    left_values, right_values = left.values, right.values
    if left.kind is Type.STRING and operator not in ("=", "<>"):
        left_values, right_values = ranks(left_values, right_values, strings)
    return Column(Type.BOOL, COMPARISONS[operator](left_values, right_values), _either_null(left.nulls, right.nulls))


def _either_null(left: Flags, right: Flags) -> Flags:
    """Where either side is NULL. If one side never is, the mask of the other serves without a copy."""
    if left is right:
        return left
    if len(right) in (1, len(left)) and not may_be_null(right):
        return left
    if len(left) in (1, len(right)) and not may_be_null(left):
        return right
    return left | right

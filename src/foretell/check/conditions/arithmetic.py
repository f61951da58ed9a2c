"""Arithmetic and comparisons as formulas.

INT is exact, with NULL where a result does not fit 64 bits; so are points in time and durations, in microseconds. FLOAT
is a real number, and the result of an operation any number that rounding can make of the exact result: within one unit
of the last place, and on the same side of 0 and of each operand, because rounding is monotonic. A product or a quotient
of two unknown numbers is left to z3, which may give up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import z3

from foretell.check.conditions.facts import LEAST_INT, MOST_FLOAT, MOST_INT, Facts, real
from foretell.check.conditions.values import NULL, Formula, SqlValue, Term, both, either, truth
from foretell.events.types import Type

_STEP = real(Fraction(1, 2**53))
_LEAST = real(Fraction(1, 2**1074))
_MOST_FLOAT = real(MOST_FLOAT)
_WHOLE = 2**53
#: The microseconds of the years 1 to 9999.
FIRST_MOMENT, LAST_MOMENT = -62135596800000000, 253402300799999999
_FITTING: Mapping[Type, tuple[int, int]] = {
    Type.INT: (LEAST_INT, MOST_INT),
    Type.DURATION: (LEAST_INT, MOST_INT),
    Type.TIMESTAMP: (FIRST_MOMENT, LAST_MOMENT),
}
_COMPARISONS: Mapping[str, Callable[[Term, Term], Formula]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def size(number: Term) -> Term:
    return z3.If(number >= 0, number, -number)


def comparison(sign: str, left: SqlValue, right: SqlValue, facts: Facts) -> SqlValue:
    """A comparison; NULL where a side is. An INT beside a FLOAT is converted."""
    if Type.NULL in (left.kind, right.kind):
        return truth(z3.BoolVal(False), z3.BoolVal(True))
    null = either(left.null, right.null)
    if left.kind is not right.kind:
        left, right = _beside(left, right, facts), _beside(right, left, facts)
    first, second = left.value, right.value
    if left.kind is Type.BOOL and sign not in ("=", "<>"):
        first, second = z3.If(first, 1, 0), z3.If(second, 1, 0)
    compared = _COMPARISONS[sign](first, second)
    return truth(z3.simplify(compared) if _is_number(first) and _is_number(second) else compared, null)


def _is_number(term: Term) -> bool:
    return bool(z3.is_int_value(term) or z3.is_rational_value(term))


def _beside(value: SqlValue, other: SqlValue, facts: Facts) -> SqlValue:
    """An INT as FLOAT. Beside a small constant no rounding can change the order."""
    if value.kind is not Type.INT:
        return value
    constant = other.value
    if z3.is_rational_value(constant) and abs(constant.as_fraction()) < _WHOLE:
        return SqlValue(Type.FLOAT, z3.ToReal(value.value), value.null)
    return as_float(value, facts)


def as_float(value: SqlValue, facts: Facts) -> SqlValue:
    """An INT as FLOAT: exact up to 2^53, rounded beyond."""
    if value.kind is not Type.INT:
        return value
    exact = z3.ToReal(value.value)
    if z3.is_int_value(value.value):
        return SqlValue(Type.FLOAT, real(float(value.value.as_long())), value.null)
    result = z3.Function("FLOAT", z3.IntSort(), z3.RealSort())(value.value)
    facts.certain.append(z3.Implies(size(exact) <= _WHOLE, result == exact))
    facts.certain.append(size(result - exact) <= size(exact) * _STEP)
    facts.hints.append(size(exact) <= _WHOLE)
    return SqlValue(Type.FLOAT, result, value.null)


def rounded(exact: Term, null: Formula, operands: tuple[Term, ...], facts: Facts) -> SqlValue:
    """The FLOAT nearest to an exact result; NULL where it or an operand is beyond all FLOATs."""
    exact = z3.simplify(exact)
    if z3.is_rational_value(exact) and abs(exact.as_fraction()) <= MOST_FLOAT:
        return SqlValue(Type.FLOAT, real(float(exact.as_fraction())), null)
    result, overflow = facts.fresh(Type.FLOAT, z3.RealSort()), facts.fresh_flag()
    facts.certain.append(size(result - exact) <= size(exact) * _STEP + _LEAST)
    for operand in (real(0), *operands):
        facts.certain.append(z3.Implies(exact >= operand, result >= operand))
        facts.certain.append(z3.Implies(exact <= operand, result <= operand))
    beyond = [size(number) >= _MOST_FLOAT for number in (exact, *operands)]
    facts.certain.append(z3.Implies(overflow, z3.Or(beyond)))
    facts.hints += [result == exact, z3.Not(overflow)]
    return SqlValue(Type.FLOAT, result, either(null, overflow))


def fitting(kind: Type, value: Term, null: Formula) -> SqlValue:
    """A whole number, NULL where it does not fit its type."""
    low, high = _FITTING[kind]
    if z3.is_int_value(value) and low <= value.as_long() <= high:
        return SqlValue(kind, value, null)
    return SqlValue(kind, value, either(null, value < low, value > high))


_TIMED = (Type.TIMESTAMP, Type.DURATION)


def calculates(sign: str, left: Type, right: Type) -> bool:
    """Whether the types of two operands fit; those that are assumed may not."""
    if Type.NULL in (left, right) or (left.numeric and right.numeric):
        return True
    if sign in "+-":
        return left in _TIMED and right in _TIMED
    return Type.DURATION in (left, right) and all(kind.numeric or kind is Type.DURATION for kind in (left, right))


def arithmetic(sign: str, left: SqlValue, right: SqlValue, facts: Facts) -> SqlValue:
    """`+ - * / %`: NULL where a side is NULL, where the divisor is 0, and where the result does not fit."""
    if Type.NULL in (left.kind, right.kind):
        return NULL
    null = either(left.null, right.null)
    if left.kind.numeric and right.kind.numeric:
        if sign == "%":
            return _remainder(left, right, null, facts)
        if sign != "/" and Type.FLOAT not in (left.kind, right.kind):
            return fitting(Type.INT, _exact(sign, left.value, right.value), null)
        return _of_floats(sign, as_float(left, facts), as_float(right, facts), null, facts)
    return _of_times(sign, left, right, null, facts)


def _exact(sign: str, left: Term, right: Term) -> Term:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    return left / right


def _of_floats(sign: str, left: SqlValue, right: SqlValue, null: Formula, facts: Facts) -> SqlValue:
    operands: tuple[Term, ...] = (left.value, right.value)
    if sign == "/":
        null = either(null, right.value == 0)
        operands = (left.value,)
    return rounded(_exact(sign, left.value, right.value), null, operands, facts)


def _of_times(sign: str, left: SqlValue, right: SqlValue, null: Formula, facts: Facts) -> SqlValue:
    """Arithmetic with points in time and durations."""
    if sign in "+-":
        point = Type.TIMESTAMP in (left.kind, right.kind) and left.kind is not right.kind
        kind = Type.TIMESTAMP if point else Type.DURATION
        return fitting(kind, _exact(sign, left.value, right.value), null)
    if sign == "/" and right.kind is Type.DURATION:
        exact = z3.ToReal(left.value) / z3.ToReal(right.value)
        return rounded(exact, either(null, right.value == 0), (), facts)
    if Type.FLOAT not in (left.kind, right.kind) and sign == "*":
        return fitting(Type.DURATION, left.value * right.value, null)
    if sign == "/":
        null = either(null, right.value == 0)
    exact = _exact(sign, _as_real(left), _as_real(right))
    result = facts.fresh(Type.DURATION, z3.RealSort())
    facts.certain.append(2 * size(z3.ToReal(result) - exact) <= 1)
    infinite = (size(side.value) > _MOST_FLOAT for side in (left, right) if side.kind is Type.FLOAT)
    return fitting(Type.DURATION, result, either(null, *infinite))


def _as_real(value: SqlValue) -> Term:
    return value.value if value.kind is Type.FLOAT else z3.ToReal(value.value)


def _remainder(left: SqlValue, right: SqlValue, null: Formula, facts: Facts) -> SqlValue:
    """The remainder, with the sign of the dividend."""
    if left.kind is right.kind is Type.INT:
        part = size(left.value) % size(right.value)
        value = z3.If(left.value >= 0, part, -part)
        return SqlValue(Type.INT, value, either(null, right.value == 0))
    first, second = as_float(left, facts), as_float(right, facts)
    result, times = facts.fresh(Type.FLOAT, z3.RealSort()), facts.fresh(Type.INT, z3.RealSort())
    exact = both(
        first.value == z3.ToReal(times) * second.value + result,
        size(result) < size(second.value),
        z3.If(first.value >= 0, result >= 0, result <= 0),
    )
    finite = both(size(first.value) <= _MOST_FLOAT, size(second.value) <= _MOST_FLOAT)
    facts.certain.append(z3.Implies(both(finite, second.value != 0), exact))
    # Of an infinite dividend the remainder is NULL, of an infinite divisor it is the dividend.
    null = either(null, second.value == 0, size(first.value) > _MOST_FLOAT)
    facts.hints.append(finite)
    return SqlValue(Type.FLOAT, result, null)


def opposite(operand: SqlValue, facts: Facts) -> SqlValue:
    """`-x`, which is `x * -1`."""
    if operand.kind is Type.NULL:
        return NULL
    if operand.kind in (Type.BOOL, Type.STRING):
        return SqlValue(Type.FLOAT, facts.fresh(Type.FLOAT, z3.RealSort()), facts.fresh_flag())
    if operand.kind is Type.FLOAT:
        infinite = size(operand.value) > _MOST_FLOAT
        return SqlValue(Type.FLOAT, -operand.value, either(operand.null, infinite))
    return fitting(operand.kind, -operand.value, operand.null)

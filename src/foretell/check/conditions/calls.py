"""Functions as formulas.

Exact: abs, floor, ceil, hour, minute and weekday of UTC, length, substr and the tests of texts (as sequences). Of the
others only facts are known that rounding cannot break: the range of a calendar field, the sign of a root. They are
functions all the same: equal arguments give equal results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import z3

from foretell.check.conditions.arithmetic import as_float, fitting, size
from foretell.check.conditions.facts import MOST_FLOAT, Facts, real
from foretell.check.conditions.texts import TextTheory
from foretell.check.conditions.values import NULL, Formula, SqlValue, Term, either, truth
from foretell.events.types import Type
from foretell.language.functions import CALENDAR_FIELDS, CASE_FUNCTIONS, TEXT_TESTS

_HOUR, _MINUTE, _DAY = 3_600_000_000, 60_000_000, 86_400_000_000
_YEAR = 31_556_952_000_000  # the average of 400 years
_EXACT_FIELDS: Mapping[str, Callable[[Term], Term]] = {
    "hour": lambda time: (time / _HOUR) % 24,
    "minute": lambda time: (time / _MINUTE) % 60,
    "weekday": lambda time: (time / _DAY + 3) % 7,  # 1970-01-01 was a Thursday
}
_FIELD_RANGES = {
    "year": (1, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "weekday": (0, 6),
}


_BOOLEAN = (*TEXT_TESTS, "regexp_like")
_TEXTS = (*CASE_FUNCTIONS, "substr")


def accepts(function: str, values: Sequence[SqlValue]) -> bool:
    """Whether arguments have the types that a function takes; those that are assumed may not."""
    first, kinds = values[0].kind, {value.kind for value in values} - {Type.NULL}
    if not kinds:
        return True
    if function == "substr":
        return first is Type.STRING and all(value.kind is Type.INT for value in values[1:])
    if function in CALENDAR_FIELDS:
        return first is Type.TIMESTAMP
    if function in (*_BOOLEAN, *_TEXTS, "length"):
        return kinds == {Type.STRING}
    return all(kind.numeric for kind in kinds) or (function == "abs" and kinds == {Type.DURATION})


def result_type(function: str) -> Type:
    if function in _BOOLEAN:
        return Type.BOOL
    return Type.STRING if function in _TEXTS else Type.INT if function in ("length", *CALENDAR_FIELDS) else Type.FLOAT


def call_value(function: str, values: Sequence[SqlValue], constant: object, texts: TextTheory) -> SqlValue:
    """The value of a call. `constant` is its second argument where that is a literal."""
    if any(value.kind is Type.NULL for value in values):
        return NULL
    null = either(*(value.null for value in values))
    terms = tuple(value.value for value in values)
    if function in TEXT_TESTS:
        return truth(texts.test(function, *terms), null)
    if function in CASE_FUNCTIONS:
        return SqlValue(Type.STRING, texts.cased(function, *terms), null)
    if function == "length":
        return SqlValue(Type.INT, texts.length(*terms), null)
    if function == "substr":
        return SqlValue(Type.STRING, texts.substring(terms[0], terms[1:]), null)
    if function == "regexp_like":
        return truth(texts.regular(terms[0], str(constant)), null)
    if function in CALENDAR_FIELDS:
        return _calendar_field(function, terms, null, texts)
    return _numeric(function, values, null, constant, texts.facts)


def _calendar_field(function: str, terms: tuple[Term, ...], null: Formula, texts: TextTheory) -> SqlValue:
    if len(terms) == 1 and function in _EXACT_FIELDS:
        return SqlValue(Type.INT, _EXACT_FIELDS[function](terms[0]), null)
    result = texts.unknown(function, terms, z3.IntSort())
    low, high = _FIELD_RANGES[function]
    texts.facts.certain += [result >= low, result <= high]
    if function in ("year", "month"):
        _tie_to_date(terms, texts.facts)
    return SqlValue(Type.INT, result, null)


def _tie_to_date(terms: tuple[Term, ...], facts: Facts) -> None:
    """A year is where its time lies between two New Years, give or take two days for leap years and zones. A hint puts
    the time into the middle of the year and month."""
    sorts = [term.sort() for term in terms]
    year, month = (z3.Function(name, *sorts, z3.IntSort())(*terms) for name in ("year", "month"))
    passed = terms[0] - (year - 1970) * _YEAR
    facts.certain += [passed >= -2 * _DAY, passed <= _YEAR + 2 * _DAY]
    middle = (month - 1) * (_YEAR // 12) + _YEAR // 24
    facts.hints += [passed >= middle - 5 * _DAY, passed <= middle + 5 * _DAY, month >= 1, month <= 12]


def _numeric(function: str, values: Sequence[SqlValue], null: Formula, constant: object, facts: Facts) -> SqlValue:
    first = values[0]
    match function:
        case "abs" if first.kind is not Type.FLOAT:
            return fitting(first.kind, size(first.value), null)
        case "abs":
            return SqlValue(Type.FLOAT, size(first.value), either(null, _is_infinite(first)))
        case "floor" | "ceil" | "round" if first.kind is Type.INT:
            return _rounded_int(first, null, function, constant, facts)
        case "floor":
            return fitting(Type.INT, z3.ToInt(first.value), null)
        case "ceil":
            return fitting(Type.INT, -z3.ToInt(-first.value), null)
        case "round":
            return _rounded_float(first, null, constant, facts)
    return _unknown_number(function, [as_float(value, facts) for value in values], null, facts)


def _is_infinite(value: SqlValue) -> Formula:
    return size(value.value) > real(MOST_FLOAT)


def _rounded_int(value: SqlValue, null: Formula, function: str, constant: object, facts: Facts) -> SqlValue:
    digits = constant if function == "round" and isinstance(constant, int) else 0
    if digits >= 0:
        return SqlValue(Type.INT, value.value, null)
    unit = 10**-digits
    count = z3.Function(f"round {digits}", z3.IntSort(), z3.IntSort())(value.value)
    facts.certain.append(2 * size(unit * count - value.value) <= unit)
    return fitting(Type.INT, unit * count, null)


def _rounded_float(value: SqlValue, null: Formula, constant: object, facts: Facts) -> SqlValue:
    """A number at most half a unit away, give or take a rounding."""
    digits = constant if isinstance(constant, int) else 0
    unit = Fraction(10) ** -digits
    result = z3.Function(f"round {digits}", z3.RealSort(), z3.RealSort())(value.value)
    slack = size(value.value) * real(Fraction(1, 2**50))
    facts.certain.append(size(result - value.value) <= real(unit * Fraction(51, 100)) + slack)
    whole = z3.ToInt(value.value / real(unit) + real(Fraction(1, 2)))
    facts.hints += [result == z3.ToReal(whole) * real(unit), value.value >= 0]
    return SqlValue(Type.FLOAT, result, either(null, _is_infinite(value)))


def _unknown_number(function: str, values: Sequence[SqlValue], null: Formula, facts: Facts) -> SqlValue:
    """sqrt, pow, ln and exp."""
    terms = [value.value for value in values]
    sorts = [z3.RealSort()] * len(terms)
    result = z3.Function(function, *sorts, z3.RealSort())(*terms)
    missing = z3.Function(f"{function} is null", *sorts, z3.BoolSort())(*terms)
    facts.approximate(function)
    match function:
        case "sqrt":
            facts.certain += [
                z3.Implies(terms[0] < 0, missing),
                result >= 0,
                z3.Implies(terms[0] >= 1, z3.And(result >= 1, result <= terms[0])),
            ]
            facts.hints += [z3.Implies(terms[0] >= 0, z3.And(result * result == terms[0], z3.Not(missing)))]
        case "exp":
            facts.certain += [result >= 0, z3.Implies(terms[0] >= 0, z3.Or(missing, result >= 1))]
        case "ln":
            facts.certain += [
                z3.Implies(terms[0] <= 0, missing),
                z3.Implies(terms[0] >= 1, result >= 0),
                z3.Implies(terms[0] <= 1, z3.Or(missing, result <= 0)),
            ]
    return SqlValue(Type.FLOAT, result, either(null, missing))

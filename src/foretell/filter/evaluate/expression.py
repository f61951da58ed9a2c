"""Evaluation of whole expressions: operators are applied here, leaves come from the caller.

A constant is a column of one row, which NumPy broadcasts: a part that does not depend on the row is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from foretell.arrays import Flags
from foretell.events.types import Type
from foretell.filter.column import Column, as_float, constant, dtype_of, may_be_null, null_constant
from foretell.filter.evaluate import mathematics, numbers, texts
from foretell.filter.evaluate.calendar_fields import calendar_field
from foretell.filter.evaluate.logic import (
    COMPARISONS,
    compare,
    conjunction,
    disjunction,
    flags_of,
    negated_if,
    negation,
)
from foretell.filter.evaluate.times import time_arithmetic
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.functions import CALENDAR_FIELDS
from foretell.language.tree import Expression

T = TypeVar("T", int, str)

#: Resolves a leaf (an attribute, a time, a parameter…) to its column; None if the leaf is unknown there.
LeafResolver: TypeAlias = Callable[[Expression], Column | None]


def evaluate(expression: Expression, resolve: LeafResolver, strings: StringDictionary, count: int) -> Column:
    """The value of an expression in each of `count` rows."""
    return prepared(expression).values(resolve, strings, count)


class _Rows(NamedTuple):
    """The rows that expressions are evaluated in."""

    resolve: LeafResolver
    strings: StringDictionary


#: Gives the column of an expression. BOOL columns are NumPy's own while operators are applied, and 0 and 1 at the end.
_Evaluation: TypeAlias = Callable[[_Rows], Column]


class PreparedExpression:
    """An expression, and how it is evaluated. This is found out once: on small batches it takes longer than the
    evaluation. Equal expressions are prepared once, so that their values are found by identity."""

    __slots__ = ("_evaluation", "_only_compares", "expression")

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self._evaluation = _evaluation(expression)
        self._only_compares = all(map(_compares, expression.walk()))  # nothing of which NumPy would warn

    def values(self, resolve: LeafResolver, strings: StringDictionary, count: int) -> Column:
        """The value in each of `count` rows."""
        column = self._column(resolve, strings)
        dtype = dtype_of(column.kind)
        values = column.values if column.values.dtype is dtype else column.values.astype(dtype)
        if len(values) == count:
            return Column(column.kind, values, column.nulls)
        return Column(column.kind, np.full(count, values), np.full(count, column.nulls))

    def truth(self, resolve: LeafResolver, strings: StringDictionary, count: int) -> Flags:
        """The rows, out of `count`, in which a condition is true: neither false nor NULL."""
        column = self._column(resolve, strings)
        true = flags_of(column.values)
        if may_be_null(column.nulls):
            true = true & ~column.nulls
        return true if len(true) == count else np.full(count, true)

    def _column(self, resolve: LeafResolver, strings: StringDictionary) -> Column:
        if self._only_compares:
            return self._evaluation(_Rows(resolve, strings))
        with np.errstate(all="ignore"):  # operators look for results that do not exist themselves
            return self._evaluation(_Rows(resolve, strings))


prepared = lru_cache(maxsize=4096)(PreparedExpression)


def _compares(node: object) -> bool:
    if isinstance(node, tree.Binary):
        return node.operator in COMPARISONS or node.operator in ("AND", "OR")
    return not isinstance(node, tree.Unary | tree.Call | tree.Case)


def _evaluation(expression: Expression) -> _Evaluation:
    match expression:
        case tree.Binary(operator=operator, left=left, right=right):
            return _binary(operator, _evaluation(left), _evaluation(right))
        case tree.Literal(value=literal):
            return _literal(literal)
        case tree.Span(micros=micros):
            return _always(constant(Type.DURATION, micros))
        case tree.Moment(micros=micros):
            return _always(constant(Type.TIMESTAMP, micros))
        case tree.Unary(operator=operator, operand=operand):
            return _applied(negation if operator == "NOT" else numbers.negative, _evaluation(operand))
        case tree.In(value=inner, options=options, negated=negated):
            return _in(_evaluation(inner), [_evaluation(option) for option in options], negated)
        case tree.Between(value=inner, low=low, high=high, negated=negated):
            return _between(_evaluation(inner), _evaluation(low), _evaluation(high), negated)
        case tree.Like(value=inner, pattern=pattern, negated=negated):
            return _like(_evaluation(inner), _evaluation(pattern), negated)
        case tree.IsNull(value=inner, negated=negated):
            return _applied(partial(_is_null, negated), _evaluation(inner))
        case tree.Case(conditions=conditions, results=results):
            return _case([_evaluation(c) for c in conditions], [_evaluation(r) for r in results])
        case tree.Call(function=function, arguments=arguments):
            return _call(function, arguments)
    return _leaf(expression)


def _leaf(leaf: Expression) -> _Evaluation:
    def evaluation(rows: _Rows) -> Column:
        column = rows.resolve(leaf)
        if column is None:
            raise ValueError(f"cannot evaluate {leaf}: these rows have no such value")
        return Column(Type.BOOL, flags_of(column.values), column.nulls) if column.kind is Type.BOOL else column

    return evaluation


def _always(column: Column) -> _Evaluation:
    return lambda rows: column


def _applied(function: Callable[[Column], Column], operand: _Evaluation) -> _Evaluation:
    return lambda rows: function(operand(rows))


def _literal(value: bool | int | float | str | None) -> _Evaluation:
    match value:
        case None:
            return _always(null_constant(Type.NULL))
        case bool():
            return _always(constant(Type.BOOL, value))
        case int():
            return _always(constant(Type.INT, value))
        case float():
            return _always(constant(Type.FLOAT, value))
    return lambda rows: constant(Type.STRING, rows.strings.code(value))


def _binary(operator: str, left: _Evaluation, right: _Evaluation) -> _Evaluation:
    if operator in ("AND", "OR"):
        joined = conjunction if operator == "AND" else disjunction
        return lambda rows: joined(left(rows), right(rows))
    if operator in COMPARISONS:
        return lambda rows: compare(operator, left(rows), right(rows), rows.strings)
    return lambda rows: _arithmetic(operator, left(rows), right(rows))


def _in(inner: _Evaluation, options: list[_Evaluation], negated: bool) -> _Evaluation:
    def evaluation(rows: _Rows) -> Column:
        value = inner(rows)
        equal = (compare("=", value, option(rows), rows.strings) for option in options)
        return negated_if(negated, reduce(disjunction, equal, constant(Type.BOOL, False)))

    return evaluation


def _between(inner: _Evaluation, low: _Evaluation, high: _Evaluation, negated: bool) -> _Evaluation:
    def evaluation(rows: _Rows) -> Column:
        value = inner(rows)
        above = compare(">=", value, low(rows), rows.strings)
        below = compare("<=", value, high(rows), rows.strings)
        return negated_if(negated, conjunction(above, below))

    return evaluation


def _like(inner: _Evaluation, pattern: _Evaluation, negated: bool) -> _Evaluation:
    return lambda rows: negated_if(negated, texts.like(inner(rows), pattern(rows), rows.strings))


def _is_null(negated: bool, column: Column) -> Column:
    nulls = column.nulls
    return Column(Type.BOOL, ~nulls if negated else nulls, np.zeros(len(nulls), np.bool_))


def _case(conditions: list[_Evaluation], results: list[_Evaluation]) -> _Evaluation:
    def evaluation(rows: _Rows) -> Column:
        """From the last branch to the first, each covers the rows in which its condition is true."""
        *values, otherwise = _of_one_type([result(rows) for result in results])
        for condition, value in zip(reversed(conditions), reversed(values), strict=True):
            truth = condition(rows)
            otherwise = _chosen((truth.values != 0) & ~truth.nulls, value, otherwise)
        return otherwise

    return evaluation


def _call(function: str, arguments: tuple[Expression, ...]) -> _Evaluation:
    first, *others = evaluations = [_evaluation(argument) for argument in arguments]
    match function, arguments:
        case "regexp_like", (_, tree.Literal(value=str(pattern))):
            return lambda rows: texts.regexp_like(first(rows), pattern, rows.strings)
        case "round", (_, *digits):
            return _applied(partial(mathematics.rounded, digits=_constant(digits, int) or 0), first)
        case _, (_, *zone) if function in CALENDAR_FIELDS:
            name = _constant(zone, str)
            return lambda rows: calendar_field(function, first(rows), name)
        case "coalesce", _:
            return lambda rows: reduce(_first_present, _of_one_type([argument(rows) for argument in evaluations]))
        case "pow", _:
            return lambda rows: mathematics.power(first(rows), others[0](rows))
        case "substr", _:
            return _substring(first, *others)
    if function in _NUMERIC_FUNCTIONS:
        return _applied(_NUMERIC_FUNCTIONS[function], first)
    if function in _TEXT_FUNCTIONS:
        return lambda rows: _TEXT_FUNCTIONS[function](first(rows), rows.strings)
    return lambda rows: _TEXT_TESTS[function](first(rows), others[0](rows), rows.strings)


def _substring(text: _Evaluation, start: _Evaluation, length: _Evaluation | None = None) -> _Evaluation:
    return lambda rows: texts.substring(text(rows), start(rows), None if length is None else length(rows), rows.strings)


def _constant(arguments: Sequence[Expression], kind: type[T]) -> T | None:
    """The value of an argument that must be a constant; None where there is none."""
    values = [argument.value for argument in arguments if isinstance(argument, tree.Literal)]
    return values[0] if values and isinstance(values[0], kind) else None


_NUMERIC_FUNCTIONS: Mapping[str, Callable[[Column], Column]] = {
    "abs": numbers.absolute,
    "sqrt": mathematics.square_root,
    "ln": mathematics.logarithm,
    "exp": mathematics.exponential,
    "floor": mathematics.floor,
    "ceil": mathematics.ceiling,
}
_TEXT_FUNCTIONS: Mapping[str, Callable[[Column, StringDictionary], Column]] = {
    "length": texts.length,
    "lower": texts.lower,
    "upper": texts.upper,
}
_TEXT_TESTS: Mapping[str, Callable[[Column, Column, StringDictionary], Column]] = {
    "contains": texts.contains,
    "starts_with": texts.starts_with,
    "ends_with": texts.ends_with,
}


def _arithmetic(operator: str, left: Column, right: Column) -> Column:
    kinds = (left.kind, right.kind)
    if Type.NULL in kinds:
        return null_constant(Type.NULL)
    if Type.DURATION in kinds or Type.TIMESTAMP in kinds:
        return time_arithmetic(operator, left, right)
    if Type.FLOAT in kinds:
        return numbers.float_arithmetic(operator, as_float(left), as_float(right))
    if operator == "/":
        return numbers.quotient(left, right)
    return numbers.int_arithmetic(operator, left, right, Type.INT)


def _of_one_type(columns: list[Column]) -> list[Column]:
    """The columns in the type that they have in common: NULL in that of the others, INT beside FLOAT as FLOAT."""
    kinds = [column.kind for column in columns if column.kind is not Type.NULL]
    if not kinds:
        return columns
    kind = Type.FLOAT if Type.FLOAT in kinds else kinds[0]
    typed = [null_constant(kind) if column.kind is Type.NULL else column for column in columns]
    return [as_float(column) for column in typed] if kind is Type.FLOAT else typed


def _chosen(flags: Flags, first: Column, second: Column) -> Column:
    """The values of the first column where a flag is set, else those of the second."""
    values = np.where(flags, first.values, second.values)
    return Column(first.kind, values, np.where(flags, first.nulls, second.nulls))


def _first_present(first: Column, second: Column) -> Column:
    return Column(first.kind, np.where(first.nulls, second.values, first.values), first.nulls & second.nulls)

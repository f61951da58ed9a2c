"""Evaluation of whole expressions: operators are applied here, leaves come from the caller.

A constant is a column of one row, which NumPy broadcasts: a part that does not depend on the row is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import TypeAlias, TypeVar

import numpy as np

from foretell.arrays import Flags
from foretell.events.types import Type
from foretell.filter.column import Column, as_float, constant, dtype_of, may_be_null, null_constant
from foretell.filter.evaluate import mathematics, numbers, texts
from foretell.filter.evaluate.calendar_fields import calendar_field
from foretell.filter.evaluate.logic import COMPARISONS, compare, conjunction, disjunction, negated_if, negation
from foretell.filter.evaluate.times import time_arithmetic
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.functions import CALENDAR_FIELDS
from foretell.language.tree import Expression
from foretell.records import record

T = TypeVar("T", int, str)

#: Resolves a leaf (an attribute, a time, a parameter…) to its column; None if the leaf is unknown there.
LeafResolver: TypeAlias = Callable[[Expression], Column | None]


def evaluate(expression: Expression, resolve: LeafResolver, strings: StringDictionary, count: int) -> Column:
    """The value of an expression in each of `count` rows."""
    column = _value(expression, resolve, strings)
    values = column.values.astype(dtype_of(column.kind), copy=False)
    if len(values) == count:
        return Column(column.kind, values, column.nulls)
    return Column(column.kind, np.full(count, values), np.full(count, column.nulls))


def truth(condition: Expression, resolve: LeafResolver, strings: StringDictionary, count: int) -> Flags:
    """The rows, out of `count`, in which a condition is true: neither false nor NULL."""
    column = _value(condition, resolve, strings)
    true = column.values if column.values.dtype == np.bool_ else column.values != 0
    if may_be_null(column.nulls):
        true = true & ~column.nulls
    return true if len(true) == count else np.full(count, true)


def _value(expression: Expression, resolve: LeafResolver, strings: StringDictionary) -> Column:
    if _only_compares(expression):
        return _Evaluator(resolve, strings).value(expression)
    with np.errstate(all="ignore"):  # operators look for results that do not exist themselves
        return _Evaluator(resolve, strings).value(expression)


#: Everything else is a leaf.
_OPERATORS = frozenset(
    {
        tree.Literal,
        tree.Span,
        tree.Moment,
        tree.Unary,
        tree.Binary,
        tree.In,
        tree.Between,
        tree.Like,
        tree.IsNull,
        tree.Case,
        tree.Call,
    }
)


@lru_cache(maxsize=4096)
def _only_compares(expression: Expression) -> bool:
    """Whether nothing is computed of which NumPy would warn."""
    for node in expression.walk():
        if isinstance(node, tree.Unary | tree.Call | tree.Case):
            return False
        if isinstance(node, tree.Binary) and node.operator not in (*COMPARISONS, "AND", "OR"):
            return False
    return True


@record
class _Evaluator:
    """BOOL columns are NumPy's own while operators are applied, and 0 and 1 again at the end."""

    resolve: LeafResolver
    strings: StringDictionary

    def value(self, expression: Expression) -> Column:
        if type(expression) not in _OPERATORS:
            return self._leaf(expression)
        match expression:
            case tree.Binary(operator=operator, left=left, right=right):
                return self._binary(operator, self.value(left), self.value(right))
            case tree.Literal(value=literal):
                return self._literal(literal)
            case tree.Span(micros=micros):
                return constant(Type.DURATION, micros)
            case tree.Moment(micros=micros):
                return constant(Type.TIMESTAMP, micros)
            case tree.Unary(operator="NOT", operand=operand):
                return negation(self.value(operand))
            case tree.Unary(operand=operand):
                return numbers.negative(self.value(operand))
            case tree.In(value=inner, options=options, negated=negated):
                value = self.value(inner)
                equal = (compare("=", value, self.value(option), self.strings) for option in options)
                return negated_if(negated, reduce(disjunction, equal, constant(Type.BOOL, False)))
            case tree.Between(value=inner, low=low, high=high, negated=negated):
                value = self.value(inner)
                above = compare(">=", value, self.value(low), self.strings)
                below = compare("<=", value, self.value(high), self.strings)
                return negated_if(negated, conjunction(above, below))
            case tree.Like(value=inner, pattern=pattern, negated=negated):
                return negated_if(negated, texts.like(self.value(inner), self.value(pattern), self.strings))
            case tree.IsNull(value=inner, negated=negated):
                nulls = self.value(inner).nulls
                return Column(Type.BOOL, ~nulls if negated else nulls, np.zeros(len(nulls), np.bool_))
            case tree.Case():
                return self._case(expression)
            case tree.Call(function=function, arguments=arguments):
                return self._call(function, arguments)
        raise AssertionError(expression)

    def _leaf(self, leaf: Expression) -> Column:
        column = self.resolve(leaf)
        if column is None:
            raise ValueError(f"cannot evaluate {leaf}: these rows have no such value")
        return Column(Type.BOOL, column.values != 0, column.nulls) if column.kind is Type.BOOL else column

    def _literal(self, value: bool | int | float | str | None) -> Column:
        match value:
            case None:
                return null_constant(Type.NULL)
            case bool():
                return constant(Type.BOOL, value)
            case int():
                return constant(Type.INT, value)
            case float():
                return constant(Type.FLOAT, value)
        return constant(Type.STRING, self.strings.code(value))

    def _binary(self, operator: str, left: Column, right: Column) -> Column:
        match operator:
            case "AND":
                return conjunction(left, right)
            case "OR":
                return disjunction(left, right)
        if operator in COMPARISONS:
            return compare(operator, left, right, self.strings)
        return _arithmetic(operator, left, right)

    def _case(self, case: tree.Case) -> Column:
        """From the last branch to the first, each covers the rows in which its condition is true."""
        *values, otherwise = _of_one_type([self.value(result) for result in case.results])
        for condition, value in zip(reversed(case.conditions), reversed(values), strict=True):
            truth = self.value(condition)
            otherwise = _chosen((truth.values != 0) & ~truth.nulls, value, otherwise)
        return otherwise

    def _call(self, function: str, arguments: tuple[Expression, ...]) -> Column:
        match function, arguments:
            case "regexp_like", (text, tree.Literal(value=str(pattern))):
                return texts.regexp_like(self.value(text), pattern, self.strings)
            case "round", (number, *digits):
                return mathematics.rounded(self.value(number), _constant(digits, int) or 0)
            case _, (time, *zone) if function in CALENDAR_FIELDS:
                return calendar_field(function, self.value(time), _constant(zone, str))
        return self._of_columns(function, [self.value(argument) for argument in arguments])

    def _of_columns(self, function: str, columns: list[Column]) -> Column:
        match function, columns:
            case "coalesce", _:
                return reduce(_first_present, _of_one_type(columns))
            case "pow", (base, exponent):
                return mathematics.power(base, exponent)
            case "substr", (text, start, *length):
                return texts.substring(text, start, length[0] if length else None, self.strings)
            case _, (number,) if function in _NUMERIC_FUNCTIONS:
                return _NUMERIC_FUNCTIONS[function](number)
            case _, (text,):
                return _TEXT_FUNCTIONS[function](text, self.strings)
            case _, (text, part):
                return _TEXT_TESTS[function](text, part, self.strings)
        raise AssertionError(function)


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

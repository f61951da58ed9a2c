"""SQL values as formulas: a value, and whether it is NULL. BOOL values follow three-valued logic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import z3

from foretell.events.types import Type
from foretell.records import record

#: A formula of sort Bool.
Formula: TypeAlias = z3.BoolRef
#: A term of any sort.
Term: TypeAlias = z3.ExprRef

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)


@record
class SqlValue:
    """The value of an expression. `value` says nothing where `null` holds."""

    kind: Type
    value: Term
    null: Formula

    @property
    def is_true(self) -> Formula:
        """Whether a condition holds: neither false nor NULL."""
        return both(negation(self.null), self.value)

    @property
    def is_false(self) -> Formula:
        return both(negation(self.null), negation(self.value))


NULL = SqlValue(Type.NULL, FALSE, TRUE)


def truth(formula: Formula, null: Formula = FALSE) -> SqlValue:
    return SqlValue(Type.BOOL, formula, null)


def both(*formulas: Formula) -> Formula:
    return all_of(formulas)


def either(*formulas: Formula) -> Formula:
    return any_of(formulas)


def all_of(formulas: Iterable[Formula]) -> Formula:
    """The conjunction, without its constant parts."""
    parts = [formula for formula in formulas if not z3.is_true(formula)]
    if any(map(z3.is_false, parts)):
        return FALSE
    return parts[0] if len(parts) == 1 else z3.And(parts) if parts else TRUE


def any_of(formulas: Iterable[Formula]) -> Formula:
    """The disjunction, without its constant parts."""
    parts = [formula for formula in formulas if not z3.is_false(formula)]
    if any(map(z3.is_true, parts)):
        return TRUE
    return parts[0] if len(parts) == 1 else z3.Or(parts) if parts else FALSE


def negation(formula: Formula) -> Formula:
    if z3.is_true(formula):
        return FALSE
    if z3.is_false(formula):
        return TRUE
    return z3.Not(formula)


def choice(formula: Formula, then: Term, otherwise: Term) -> Term:
    if z3.is_true(formula):
        return then
    if z3.is_false(formula):
        return otherwise
    return z3.If(formula, then, otherwise)


def conjunction_of(left: SqlValue, right: SqlValue) -> SqlValue:
    """AND: false where a side is false, else NULL where a side is NULL."""
    value = both(left.is_true, right.is_true)
    null = both(either(left.null, right.null), negation(left.is_false), negation(right.is_false))
    return truth(value, null)


def disjunction_of(left: SqlValue, right: SqlValue) -> SqlValue:
    """OR: true where a side is true, else NULL where a side is NULL."""
    value = either(left.is_true, right.is_true)
    return truth(value, both(either(left.null, right.null), negation(value)))


def negation_of(operand: SqlValue) -> SqlValue:
    return truth(negation(operand.value), operand.null)


def first_known(values: Iterable[SqlValue], kind: Type) -> SqlValue:
    """The first value that is not NULL; all are of one kind."""
    *earlier, last = values
    for found in reversed(earlier):
        last = SqlValue(kind, choice(found.null, last.value, found.value), both(found.null, last.null))
    return last

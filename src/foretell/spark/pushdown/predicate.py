"""Predicate pushdown: static conditions, translated for Spark's optimizer and for Parquet statistics.

No dialect has our meaning of every condition: NaN is NULL here, and a condition on NULL is neither true nor false. So a
dialect is asked for a condition that holds at least wherever ours is true (or, under NOT, false). Untranslatable parts
are dropped from a conjunction, and make a whole disjunction untranslatable. Our own rules evaluate the remaining events
again (quenching.py): a pushed-down predicate may keep too many events, but never too few.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.spark.pushdown.quenching import acceptable

T = TypeVar("T")

#: A predicate with more values and operators than this takes longer than it saves.
MOST_NODES = 500

_INVERSE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne
}  # fmt: skip


@dataclass(frozen=True)
class AttributeOperand:
    """An attribute that the events of a stream have, with the type that the statement gives it."""

    name: str
    kind: Type


@dataclass(frozen=True)
class ConstantOperand:
    """A constant; a TIMESTAMP is its microseconds. None is NULL, and so is an attribute that the stream lacks."""

    value: bool | int | float | str | None


PredicateOperand: TypeAlias = AttributeOperand | ConstantOperand

_NULL = ConstantOperand(None)
_INT_LIMIT = 1 << 63  #: every INT is less than this


class PredicateDialect(Protocol[T]):
    """Translates conditions into predicates of type T; None stands for an untranslatable condition."""

    def always(self, holds: bool, /) -> T: ...
    def both(self, left: T, right: T, /) -> T: ...
    def either(self, left: T, right: T, /) -> T: ...

    def compare(self, sign: str, left: AttributeOperand, right: PredicateOperand, /) -> T | None:
        """Numbers are compared as FLOATs if one of them is a FLOAT; NULL never compares."""

    def is_known(self, attribute: AttributeOperand, wanted: bool, /) -> T | None:
        """Whether an attribute is not NULL."""

    def flag(self, attribute: AttributeOperand, wanted: bool, /) -> T | None:
        """Whether a BOOL has the wanted value, and is not NULL."""


def pushed_down_predicate(
    stream: str,
    attributes: Collection[str],
    statements: Sequence[CheckedSubscription],
    identified: Collection[str],
    dialect: PredicateDialect[T],
    derived: Collection[str] = (),
) -> T | None:
    """Return a predicate that holds for every event that may matter to one of the statements; None if any may.

    `attributes` are those that the stored events have; those that LET derives from them are `derived`.
    """
    alternatives: dict[object, T] = {}
    size = 0
    for statement in statements:
        if stream not in map(str, statement.tree.streams):
            continue
        translation = _Translation(statement, stream, attributes, derived, dialect)
        for conditions in acceptable(statement, identified) or ((),):
            if (statement.tree.streams, conditions) not in alternatives:
                size += sum(1 for condition in conditions for _ in condition.walk())
                translated = list(translation.all_of(conditions)) if size <= MOST_NODES else []
                if not translated:
                    return None
                alternatives[statement.tree.streams, conditions] = reduce(dialect.both, translated)
    return reduce(dialect.either, alternatives.values()) if alternatives else None


@dataclass(frozen=True)
class _Translation(Generic[T]):
    """Translates the conditions of a statement on the events of one stream."""

    statement: CheckedSubscription
    stream: str
    attributes: Collection[str]
    derived: Collection[str]
    dialect: PredicateDialect[T]

    def all_of(self, conditions: Iterable[tree.Expression]) -> Iterable[T]:
        translated = (self.implied(condition, True) for condition in conditions)
        return (predicate for predicate in translated if predicate is not None)

    def implied(self, condition: tree.Expression, wanted: bool) -> T | None:
        """Return a predicate that holds wherever a condition has the wanted truth value."""
        dialect = self.dialect
        match condition:
            case tree.Binary(operator="AND" | "OR" as connective, left=left, right=right):
                sides = [self.implied(left, wanted), self.implied(right, wanted)]
                translated = [side for side in sides if side is not None]
                if (connective == "AND") == wanted:
                    return reduce(dialect.both, translated) if translated else None
                return reduce(dialect.either, translated) if len(translated) == 2 else None
            case tree.Unary(operator="NOT", operand=operand):
                return self.implied(operand, not wanted)
            case tree.Binary(operator=sign, left=left, right=right) if sign in _COMPARE:
                return self._compare(sign if wanted else _INVERSE[sign], self._operand(left), self._operand(right))
            case tree.Between(value=value, low=low, high=high, negated=negated):
                inside = tree.Binary("AND", tree.Binary(">=", value, low), tree.Binary("<=", value, high))
                return self.implied(inside, wanted != negated)
            case tree.In(value=value, options=options, negated=negated) if options:
                equal = [tree.Binary("=", value, option) for option in options]
                any_equal = reduce(lambda left, right: tree.Binary("OR", left, right), equal)
                return self.implied(any_equal, wanted != negated)
            case tree.IsNull(value=value, negated=negated):
                tested = self._operand(value)
                if tested == _NULL:
                    return dialect.always(wanted != negated)
                return dialect.is_known(tested, wanted == negated) if isinstance(tested, AttributeOperand) else None
            case tree.Attribute():
                tested = self._operand(condition)
                if isinstance(tested, AttributeOperand) and tested.kind is Type.BOOL:
                    return dialect.flag(tested, wanted)
            case tree.Literal(value=bool(value)):
                return dialect.always(value == wanted)
        return None

    def _operand(self, value: tree.Expression) -> PredicateOperand | None:
        match value:
            case tree.Literal(value=constant) if not isinstance(constant, int) or abs(constant) < _INT_LIMIT:
                return ConstantOperand(constant)
            case tree.Unary(operator="-", operand=tree.Literal(value=int() | float() as number)):
                return ConstantOperand(-number) if abs(number) < _INT_LIMIT else None
            case tree.Moment(micros=micros):
                return ConstantOperand(micros)
            case tree.StreamOf(event=tree.This()):
                return ConstantOperand(self.stream)
            case tree.Attribute(event=tree.This(), name=name) if str(name) in self.derived:
                return None
            case tree.Attribute(event=tree.This(), name=name) if str(name) in self.attributes:
                return AttributeOperand(str(name), self.statement.attributes[name])
            case tree.Attribute(event=tree.This()):
                return _NULL
        return None

    def _compare(self, sign: str, left: PredicateOperand | None, right: PredicateOperand | None) -> T | None:
        if _NULL in (left, right):
            return self.dialect.always(False)
        match left, right:
            case AttributeOperand(), AttributeOperand() | ConstantOperand():
                return self.dialect.compare(sign, left, right)
            case ConstantOperand(), AttributeOperand():
                return self.dialect.compare(tree.MIRRORED_COMPARISON[sign], right, left)
            case ConstantOperand(value=first), ConstantOperand(value=second):
                return self.dialect.always(_COMPARE[sign](first, second)) if type(first) is type(second) else None
        return None


def as_float(left: AttributeOperand, right: PredicateOperand) -> bool:
    """Return whether numbers are compared as FLOATs."""
    is_float = right.kind is Type.FLOAT if isinstance(right, AttributeOperand) else isinstance(right.value, float)
    return left.kind is Type.FLOAT or is_float


class TextDialect:
    """Predicates as text, for `explain`."""

    def always(self, holds: bool) -> str:
        return str(holds).upper()

    def both(self, left: str, right: str) -> str:
        return f"{_bracketed(left)} AND {_bracketed(right)}"

    def either(self, left: str, right: str) -> str:
        return left if right in left.split(" OR ") else f"{left} OR {right}"

    def compare(self, sign: str, left: AttributeOperand, right: PredicateOperand) -> str:
        return f"{left.name} {sign} {_text(right, left.kind)}"

    def is_known(self, attribute: AttributeOperand, wanted: bool) -> str:
        return f"{attribute.name} IS {'NOT ' if wanted else ''}NULL"

    def flag(self, attribute: AttributeOperand, wanted: bool) -> str:
        return attribute.name if wanted else f"NOT {attribute.name}"


def _bracketed(text: str) -> str:
    return f"({text})" if " OR " in text else text


def _text(value: PredicateOperand, kind: Type) -> str:
    if isinstance(value, AttributeOperand):
        return value.name
    if kind is Type.TIMESTAMP and isinstance(value.value, int):
        return expression_text(tree.Moment(value.value))
    return expression_text(tree.Literal(value.value))

"""Static conditions in the words of others, who can drop events sooner than we: Spark's own plan, Parquet's statistics.

Nobody else has our meaning of everything: NaN is NULL here, and what NULL makes of a condition is neither true nor
false. So a condition is not translated as it stands. What is asked for is one that surely holds wherever ours is true
(or, under a NOT, false); parts that have no words fall out of a conjunction, and take a disjunction with them. What
passes is judged again by our own rules (quenching.py): a sieve may let too much through, but never too little.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.spark.pushdown.quenching import acceptable

T = TypeVar("T")

#: A sieve of more values and operators than these takes longer than it saves.
MOST = 500

_INVERSE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne
}  # fmt: skip


@dataclass(frozen=True)
class AttributeOperand:
    """An attribute that the events of a stream have, of the type that the statement takes it for."""

    name: str
    kind: Type


@dataclass(frozen=True)
class ConstantOperand:
    """TIMESTAMPs as microseconds; None is NULL, as is an attribute that the stream does not have."""

    value: bool | int | float | str | None


_NULL = ConstantOperand(None)
_BEYOND = 1 << 63  #: no INT is so great


class PredicateDialect(Protocol[T]):
    """A language that can say some conditions. None where it cannot: then nothing is dropped for its sake."""

    def always(self, holds: bool, /) -> T: ...
    def both(self, one: T, other: T, /) -> T: ...
    def either(self, one: T, other: T, /) -> T: ...

    def compare(self, sign: str, left: AttributeOperand, right: AttributeOperand | ConstantOperand, /) -> T | None:
        """Numbers are compared as FLOATs if one of them is a FLOAT; NULL is never compared."""

    def known(self, one: AttributeOperand, wanted: bool, /) -> T | None:
        """Whether an attribute is not NULL."""

    def flag(self, one: AttributeOperand, wanted: bool, /) -> T | None:
        """Whether a BOOL is as wanted, and not NULL."""


def pushed_down_predicate(
    stream: str,
    attributes: Collection[str],
    statements: Sequence[CheckedSubscription],
    named: Collection[str],
    words: PredicateDialect[T],
) -> T | None:
    """What every event of a stream satisfies that may matter to one of the statements; None where any event may."""
    ways: dict[object, T] = {}
    size = 0
    for statement in statements:
        if stream not in map(str, statement.tree.streams):
            continue
        translate = _Translation(statement, stream, attributes, words)
        for together in acceptable(statement, named) or ((),):
            if (statement.tree.streams, together) not in ways:
                size += sum(1 for condition in together for _ in condition.walk())
                said = list(translate.all_of(together)) if size <= MOST else []
                if not said:
                    return None
                ways[statement.tree.streams, together] = reduce(words.both, said)
    return reduce(words.either, ways.values()) if ways else None


@dataclass(frozen=True)
class _Translation(Generic[T]):
    """The conditions of a statement, as far as they speak of the events of one stream."""

    statement: CheckedSubscription
    stream: str
    attributes: Collection[str]
    words: PredicateDialect[T]

    def all_of(self, conditions: Iterable[tree.Expression]) -> Iterable[T]:
        return (said for condition in conditions if (said := self.surely(condition, True)) is not None)

    def surely(self, condition: tree.Expression, wanted: bool) -> T | None:
        """What holds wherever a condition is true, or where false is wanted, false."""
        words = self.words
        match condition:
            case tree.Binary(operator="AND" | "OR" as word, left=left, right=right):
                sides = [self.surely(left, wanted), self.surely(right, wanted)]
                said = [one for one in sides if one is not None]
                if (word == "AND") == wanted:
                    return reduce(words.both, said) if said else None
                return reduce(words.either, said) if len(said) == 2 else None
            case tree.Unary(operator="NOT", operand=operand):
                return self.surely(operand, not wanted)
            case tree.Binary(operator=sign, left=left, right=right) if sign in _COMPARE:
                return self._compare(sign if wanted else _INVERSE[sign], self._operand(left), self._operand(right))
            case tree.Between(value=value, low=low, high=high, negated=negated):
                inside = tree.Binary("AND", tree.Binary(">=", value, low), tree.Binary("<=", value, high))
                return self.surely(inside, wanted != negated)
            case tree.In(value=value, options=options, negated=negated) if options:
                each = [tree.Binary("=", value, option) for option in options]
                return self.surely(reduce(lambda one, other: tree.Binary("OR", one, other), each), wanted != negated)
            case tree.IsNull(value=value, negated=negated):
                one = self._operand(value)
                if one == _NULL:
                    return words.always(wanted != negated)
                return words.known(one, wanted == negated) if isinstance(one, AttributeOperand) else None
            case tree.Attribute():
                one = self._operand(condition)
                return words.flag(one, wanted) if isinstance(one, AttributeOperand) and one.kind is Type.BOOL else None
            case tree.Literal(value=bool(value)):
                return words.always(value == wanted)
        return None

    def _operand(self, value: tree.Expression) -> AttributeOperand | ConstantOperand | None:
        match value:
            case tree.Literal(value=constant) if not isinstance(constant, int) or abs(constant) < _BEYOND:
                return ConstantOperand(constant)
            case tree.Unary(operator="-", operand=tree.Literal(value=int() | float() as number)):
                return ConstantOperand(-number) if abs(number) < _BEYOND else None
            case tree.Moment(micros=micros):
                return ConstantOperand(micros)
            case tree.StreamOf(event=tree.This()):
                return ConstantOperand(self.stream)
            case tree.Attribute(event=tree.This(), name=name) if str(name) in self.attributes:
                return AttributeOperand(str(name), self.statement.attributes[name])
            case tree.Attribute(event=tree.This()):
                return _NULL
        return None

    def _compare(
        self,
        sign: str,
        left: AttributeOperand | ConstantOperand | None,
        right: AttributeOperand | ConstantOperand | None,
    ) -> T | None:
        if _NULL in (left, right):
            return self.words.always(False)
        match left, right:
            case AttributeOperand(), AttributeOperand() | ConstantOperand():
                return self.words.compare(sign, left, right)
            case ConstantOperand(), AttributeOperand():
                return self.words.compare(tree.MIRRORED_COMPARISON[sign], right, left)
            case ConstantOperand(value=one), ConstantOperand(value=other):
                return self.words.always(_COMPARE[sign](one, other)) if type(one) is type(other) else None
        return None


def as_float(left: AttributeOperand, right: AttributeOperand | ConstantOperand) -> bool:
    """Whether numbers are compared as FLOATs."""
    other = right.kind is Type.FLOAT if isinstance(right, AttributeOperand) else isinstance(right.value, float)
    return left.kind is Type.FLOAT or other


class TextDialect:
    """What a sieve says, for people."""

    def always(self, holds: bool) -> str:
        return str(holds).upper()

    def both(self, one: str, other: str) -> str:
        return f"{_bracketed(one)} AND {_bracketed(other)}"

    def either(self, one: str, other: str) -> str:
        return one if other in one.split(" OR ") else f"{one} OR {other}"

    def compare(self, sign: str, left: AttributeOperand, right: AttributeOperand | ConstantOperand) -> str:
        return f"{left.name} {sign} {_text(right, left.kind)}"

    def known(self, one: AttributeOperand, wanted: bool) -> str:
        return f"{one.name} IS {'NOT ' if wanted else ''}NULL"

    def flag(self, one: AttributeOperand, wanted: bool) -> str:
        return one.name if wanted else f"NOT {one.name}"


def _bracketed(text: str) -> str:
    return f"({text})" if " OR " in text else text


def _text(value: AttributeOperand | ConstantOperand, kind: Type) -> str:
    if isinstance(value, AttributeOperand):
        return value.name
    if kind is Type.TIMESTAMP and isinstance(value.value, int):
        return expression_text(tree.Moment(value.value))
    return expression_text(tree.Literal(value.value))

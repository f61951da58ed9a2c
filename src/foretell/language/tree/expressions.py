"""Expressions: values and conditions, and the events they refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, TypeVar

from foretell.language.tree.nodes import Node, node_fields
from foretell.records import record

AnyNode = TypeVar("AnyNode", bound=Node)


class Expression(Node):
    """A value or a condition. It computes its hash once: engines find what they know of it by it, batch by batch."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if cls.__dict__.get("__hash__") is None:
            cls.__hash__ = Expression.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            own = (getattr(self, field.name) for field in fields(self) if field.compare)
            known = self.__dict__["_hash"] = hash((type(self), *own))
        return known

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash: those of texts differ from process to process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @cached_property
    def named_steps(self) -> frozenset[str]:
        """The steps that it names. Planning asks for them several times."""
        kinds = BoundEvent | FirstOf | LastOf | Aggregate
        return frozenset(str(node.step) for node in self.walk() if isinstance(node, kinds))


class EventReference(Node):
    """A reference to one event of the match."""


@record
class This(EventReference):
    """The event being tried: a bare attribute is one of its attributes."""


@record
class BoundEvent(EventReference):
    """`x`: the event bound to step x; for a repeated step its latest."""

    step: str


@record
class FirstOf(EventReference):
    """`first(b)`: the first event of a repeated step."""

    step: str


@record
class LastOf(EventReference):
    """`last(b)`: the latest event of a repeated step."""

    step: str


@record
class Previous(EventReference):
    """`prev`: the event bound just before this one in the match."""


@record
class Literal(Expression):
    value: bool | int | float | str | None

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and TRUE are equal in Python but not the same text.
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "hours": 3_600_000_000,
    "days": 86_400_000_000,
    "weeks": 604_800_000_000,
}


@record
class Span(Expression):
    """A duration with its unit, such as `5 min`."""

    amount: int | float
    unit: str

    @property
    def micros(self) -> int:
        return round(self.amount * UNITS[self.unit])


@record
class Moment(Expression):
    """`TIMESTAMP '2007-02-14 12:38:10'`, in microseconds since 1970 UTC."""

    micros: int


@record
class Variable(Expression):
    name: str


@record
class Parameter(Expression):
    """`:column` of a FOR EACH row."""

    name: str


@record
class Attribute(Expression):
    event: EventReference
    name: str


@record
class StreamOf(Expression):
    """The pseudo-attribute `stream`."""

    event: EventReference


@record
class TimeOf(Expression):
    """`t(x)`."""

    event: EventReference


@record
class Elapsed(Expression):
    """`duration`: from the first to the last event of the match so far."""


@record
class Aggregate(Expression):
    """`count(b)`, `sum(b.price)` and the like over the events of a step."""

    function: str
    step: str
    attribute: str | None = None


@record
class Unary(Expression):
    operator: str
    operand: Expression


@record
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


#: The comparison operator that says the same with its operands exchanged.
MIRRORED_COMPARISON: Mapping[str, str] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@record
class In(Expression):
    value: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@record
class Between(Expression):
    value: Expression
    low: Expression
    high: Expression
    negated: bool = False


@record
class Like(Expression):
    value: Expression
    pattern: Expression
    negated: bool = False


@record
class IsNull(Expression):
    value: Expression
    negated: bool = False


@record
class Case(Expression):
    """`CASE WHEN condition THEN value … ELSE otherwise END`: the i-th value belongs to the i-th condition."""

    conditions: tuple[Expression, ...]
    values: tuple[Expression, ...]
    otherwise: Expression | None = None

    @property
    def results(self) -> tuple[Expression, ...]:
        """All values it may have; without ELSE one of them is NULL."""
        return (*self.values, Literal(None) if self.otherwise is None else self.otherwise)


@record
class Call(Expression):
    function: str
    arguments: tuple[Expression, ...]


@record
class EventValue(Expression):
    """`first(b)` in place of a value: it parses, so that the type check can explain the mistake."""

    event: EventReference


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conjuncts of a condition: the parts joined by AND."""
    if isinstance(condition, Binary) and condition.operator == "AND":
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def map_children(node: AnyNode, change: Callable[[Expression], Expression]) -> AnyNode:
    """The node with `change` applied to each expression directly below it."""
    changes: dict[str, object] = {}
    for name in node_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Expression):
            changes[name] = change(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expression):
            changes[name] = tuple(change(child) for child in value)
    return replace(node, **changes) if changes else node  # type: ignore[arg-type]

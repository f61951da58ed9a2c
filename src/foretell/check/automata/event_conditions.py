"""Conditions on one event: those that name nothing but attributes of the event that is tried."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.events.types import Scalar
from foretell.language import tree

_OUTSIDE = (
    tree.Previous,
    tree.BoundEvent,
    tree.FirstOf,
    tree.LastOf,
    tree.Aggregate,
    tree.Elapsed,
    tree.Variable,
    tree.Parameter,
)


def about_one_event(condition: tree.Expression, own: str | None = None) -> tree.Expression | None:
    """The condition with the event of its `own` step as the event that is tried; None where it names anything else."""
    if own is not None:
        condition = as_tried(condition, own)
    return None if any(isinstance(node, _OUTSIDE) for node in condition.walk()) else condition


def as_tried(condition: tree.Expression, own: str) -> tree.Expression:
    """The condition with its own step as the event that is tried, which is the last one of that step."""
    match condition:
        case tree.Attribute(event=tree.BoundEvent(step=step) | tree.LastOf(step=step), name=name) if step == own:
            return tree.Attribute(tree.This(), name)
        case tree.StreamOf(event=tree.BoundEvent(step=step) | tree.LastOf(step=step)) if step == own:
            return tree.StreamOf(tree.This())
        case tree.TimeOf(event=tree.BoundEvent(step=step) | tree.LastOf(step=step)) if step == own:
            return tree.TimeOf(tree.This())
    return tree.map_children(condition, lambda child: as_tried(child, own))


def leaves(condition: tree.Expression) -> Iterator[tree.Expression]:
    """The parts of a condition that AND, OR and NOT join."""
    todo = [condition]
    while todo:
        part = todo.pop()
        match part:
            case tree.Binary(operator="AND" | "OR", left=left, right=right):
                todo += [right, left]
            case tree.Unary(operator="NOT", operand=operand):
                todo.append(operand)
            case _:
                yield part


#: The pseudo-attribute `stream` among the names of attributes: no attribute has that name.
STREAM = "\0stream"


def attributes_of(condition: tree.Expression) -> set[str]:
    """The attributes of the event that a condition names."""
    found = {str(node.name) for node in condition.walk() if isinstance(node, tree.Attribute)}
    return found | {STREAM for node in condition.walk() if isinstance(node, tree.StreamOf)}


def names_time(condition: tree.Expression) -> bool:
    return any(isinstance(node, tree.TimeOf) for node in condition.walk())


def constants_of(condition: tree.Expression) -> Iterator[Scalar]:
    """The constants in a condition, of negative numbers too."""
    for node in condition.walk():
        match node:
            case tree.Unary(operator="-", operand=tree.Literal(value=int() | float() as number)):
                yield -number
            case tree.Literal(value=value) if value is not None:
                yield value
            case tree.Moment(micros=micros):
                yield micros


def is_plain_comparison(leaf: tree.Expression) -> bool:
    """Whether a condition compares one attribute with constants: its truth changes at these constants alone."""
    match leaf:
        case tree.Binary(operator="=" | "<>" | "<" | "<=" | ">" | ">=", left=left, right=right):
            return (_is_value(left) and _is_constant(right)) or (_is_constant(left) and _is_value(right))
        case tree.In(value=value, options=options):
            return _is_value(value) and all(map(_is_constant, options))
        case tree.Between(value=value, low=low, high=high):
            return _is_value(value) and _is_constant(low) and _is_constant(high)
        case tree.IsNull(value=value):
            return _is_value(value)
        case tree.Literal():
            return True
    return _is_value(leaf)


def _is_value(expression: tree.Expression) -> bool:
    return isinstance(expression, tree.Attribute | tree.StreamOf)


def _is_constant(expression: tree.Expression) -> bool:
    match expression:
        case tree.Literal() | tree.Moment():
            return True
        case tree.Unary(operator="-", operand=tree.Literal()):
            return True
    return False

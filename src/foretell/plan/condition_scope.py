"""The scope of a condition: the events it is about, which decide where it can be evaluated."""

from __future__ import annotations

from collections.abc import Iterable

from foretell.language import tree
from foretell.plan.expressions import BoundPosition, CounterValue, MatchStart, OccurrenceCount, PresenceFlag


def has_parameter(expression: tree.Expression) -> bool:
    return any(isinstance(node, tree.Parameter) for node in expression.walk())


def is_static(condition: tree.Expression, *, given: type[tree.Node] | tuple[()] = ()) -> bool:
    """Whether a condition is only about the current event, constants, and nodes of the type `given`."""
    outside = (
        tree.Previous,
        tree.BoundEvent,
        tree.FirstOf,
        tree.LastOf,
        tree.Aggregate,
        tree.Elapsed,
        tree.Variable,
        tree.Parameter,
        OccurrenceCount,
        CounterValue,
        BoundPosition,
    )
    return not any(isinstance(node, outside) and not isinstance(node, given) for node in condition.walk())


def is_of_another(node: tree.Node, current: str) -> bool:
    """Whether a node is about an event other than the current one, which is tried for the step `current`."""
    match node:
        case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step):
            return step != current
    return isinstance(node, tree.Previous | MatchStart | PresenceFlag)


def is_relative(condition: tree.Expression) -> bool:
    """Whether a condition depends on the event bound before, or on when the match began."""
    return any(isinstance(node, tree.Previous | tree.Elapsed) for node in condition.walk())


def bound_by(condition: tree.Expression, binders: Iterable[tuple[str, tree.Expression]]) -> tree.Expression | None:
    """The value that a condition binds a variable to; None where it binds none."""
    match condition:
        case tree.Binary(operator="=", left=tree.Variable(name=name), right=value) if (name, value) in binders:
            return value
        case tree.Binary(operator="=", left=value, right=tree.Variable(name=name)) if (name, value) in binders:
            return value
    return None

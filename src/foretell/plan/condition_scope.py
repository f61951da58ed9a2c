"""What a condition speaks of, which decides where it can be judged."""

from __future__ import annotations

from collections.abc import Iterable

from foretell.language import tree
from foretell.plan.expressions import MatchStart, OccurrenceCount, PresenceFlag


def has_parameter(expression: tree.Expression) -> bool:
    return any(isinstance(node, tree.Parameter) for node in expression.walk())


def is_static(condition: tree.Expression, *, given: type[tree.Node] | tuple[()] = ()) -> bool:
    """Whether a condition is about the event being tried and constants only, and perhaps what is `given`."""
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
    )
    return not any(isinstance(node, outside) and not isinstance(node, given) for node in condition.walk())


def is_of_another(node: tree.Node, own: str) -> bool:
    """Whether a node speaks of more than the event tried for a step."""
    match node:
        case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step):
            return step != own
    return isinstance(node, tree.Previous | MatchStart | PresenceFlag)


def is_relative(condition: tree.Expression) -> bool:
    """Whether a condition goes by what is bound just before."""
    return any(isinstance(node, tree.Previous | tree.Elapsed) for node in condition.walk())


def bound_by(condition: tree.Expression, binders: Iterable[tuple[str, tree.Expression]]) -> tree.Expression | None:
    """The value to which a condition binds a variable; None where it binds none."""
    match condition:
        case tree.Binary(operator="=", left=tree.Variable(name=name), right=value) if (name, value) in binders:
            return value
        case tree.Binary(operator="=", left=value, right=tree.Variable(name=name)) if (name, value) in binders:
            return value
    return None

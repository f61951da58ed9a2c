"""Templates whose parameters only select the event that a match begins with (LANGUAGE section 2, FOR EACH)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.condition_scope import has_parameter, is_static
from foretell.plan.lower.registers import RegisterAllocator
from foretell.plan.nfa.derivatives import initial_continuations


@dataclass(frozen=True)
class Comparison:
    """`expression operator :parameter`, of the event that begins a match."""

    expression: tree.Expression
    operator: str
    parameter: str


@dataclass(frozen=True)
class TemplateSelection:
    """The comparisons that select rows of a table, and of each whether it compares FLOATs."""

    comparisons: tuple[Comparison, ...]
    floats: tuple[bool, ...]


def template_selection(subscription: CheckedSubscription, parameters: Mapping[str, Type]) -> TemplateSelection | None:
    """The selection of the rows of a table with columns of these types; None where one executor cannot serve them."""
    comparisons = selection_of(subscription)
    if comparisons is None or not parameters:
        return None
    registers = RegisterAllocator(subscription)
    kinds = [(registers.event_type(c.expression), parameters[c.parameter]) for c in comparisons]
    if any(c.operator != "=" and Type.STRING in k for c, k in zip(comparisons, kinds, strict=True)):
        return None
    return TemplateSelection(comparisons, tuple(Type.FLOAT in k for k in kinds))


def selection_of(subscription: CheckedSubscription) -> tuple[Comparison, ...] | None:
    """The comparisons that select the event a row's match begins with, if the parameters do nothing else.

    Then one executor serves all rows: each run carries the rows that began with its first event. They are an interval
    of the rows sorted by the equalities and the one inequality. Other templates run row by row.
    """
    tree_, pattern = subscription.tree, subscription.pattern
    elsewhere: list[tree.Expression | None] = [tree_.having, *(r.expression for r in tree_.returns)]
    if tree_.table is None or any(e is not None and has_parameter(e) for e in elsewhere):
        return None
    if tree_.after.policy is not tree.Policy.HOLD or any(s.shape.chosen for s in subscription.steps.values()):
        return None
    first = {move.leaf.step for move in initial_continuations(pattern)}
    if len(first) != 1 or any(isinstance(node, tree.Numbered) for node in pattern.walk()):
        return None
    if any(isinstance(n, tree.FirstWhere) and has_parameter(n.condition) for n in pattern.walk()):
        return None
    found: list[Comparison] = []
    for name, step in subscription.steps.items():
        for condition in (*step.conditions, *(e for _, e in step.binders)):
            if not has_parameter(condition):
                continue
            comparison = _comparison(condition)
            if name not in first or comparison is None or step.shape.repeated:
                return None
            found.append(comparison)
    return tuple(found) if sum(c.operator != "=" for c in found) <= 1 and found else None


def _comparison(condition: tree.Expression) -> Comparison | None:
    match condition:
        case tree.Binary(operator="=" | "<" | "<=" | ">" | ">=", left=value, right=tree.Parameter(name=name)):
            operator = condition.operator
        case tree.Binary(operator="=" | "<" | "<=" | ">" | ">=", left=tree.Parameter(name=name), right=value):
            operator = tree.MIRRORED_COMPARISON[condition.operator]
        case _:
            return None
    return Comparison(value, operator, name) if is_static(value) else None

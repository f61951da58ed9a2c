"""Counting of `a[i]`: by a register of the run where an event precedes it, else by a counter of the lane."""

from __future__ import annotations

from foretell.language import tree
from foretell.plan.condition_scope import bound_by, is_of_another, is_static
from foretell.plan.expressions import EveryNth, OccurrenceCount, about_current_event
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.operands import EvaluationContext
from foretell.plan.nfa.terms import Leaf


def count_condition(context: LoweringContext, leaf: Leaf) -> tree.Expression:
    """The condition that the current event is the one that an a[i] means."""
    if leaf.after_previous:
        return tree.Binary("=", OccurrenceCount(leaf.step), tree.Literal(leaf.index))
    condition = every_nth(context, leaf)
    assert condition is not None
    return condition


def every_nth(context: LoweringContext, leaf: Leaf) -> EveryNth | None:
    """The predicate of an `a[i]` that no event precedes; None where it counts by more than its own event."""
    step = context.subscription.steps[leaf.step]
    evaluation = EvaluationContext(context.allocator, leaf.step, leaf.step, frozenset(), begins=True)
    conditions, values = [], []
    for condition in step.counted:
        bound = bound_by(condition, step.binders)
        if bound is not None:
            values.append(bound)
            continue
        desugared = evaluation.desugar(condition)
        about_others = any(is_of_another(node, leaf.step) for node in desugared.walk())
        desugared = about_current_event(desugared)
        if about_others or not is_static(desugared, given=tree.Parameter):
            return None
        conditions.append(desugared)
    return EveryNth(leaf.step, leaf.index, tuple(conditions), tuple(values))

"""Selection of template rows by the first event of a match, where parameters do nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.condition_scope import has_parameter, is_static
from foretell.plan.expressions import event_type
from foretell.plan.nfa.automaton_size import most_edges
from foretell.plan.nfa.counters import PatternCounters
from foretell.plan.nfa.derivatives import Derivatives, TooLargeError
from foretell.records import record


@record
class Comparison:
    """The condition `expression operator :parameter` on the first event of a match."""

    expression: tree.Expression
    operator: str
    parameter: str


@record
class TemplateSelection:
    """The comparisons that select rows of a table, and of each whether it compares FLOATs."""

    comparisons: tuple[Comparison, ...]
    floats: tuple[bool, ...]


def template_selection(subscription: CheckedSubscription, parameters: Mapping[str, Type]) -> TemplateSelection | None:
    """The selection of the rows of a table with columns of these types; None where one executor cannot serve them."""
    comparisons = selection_of(subscription)
    if comparisons is None or not parameters:
        return None
    types = [(event_type(subscription, c.expression), parameters[c.parameter]) for c in comparisons]
    if any(c.operator != "=" and Type.STRING in pair for c, pair in zip(comparisons, types, strict=True)):
        return None
    return TemplateSelection(comparisons, tuple(Type.FLOAT in pair for pair in types))


def selection_of(subscription: CheckedSubscription) -> tuple[Comparison, ...] | None:
    """The comparisons that select the event a row's match begins with, if the parameters do nothing else.

    Then one executor serves all rows: each run carries the rows that began with its first event. They are an interval
    of the rows sorted by the equalities and the one inequality. Other templates run row by row.
    """
    statement, pattern = subscription.tree, subscription.pattern
    elsewhere: list[tree.Expression | None] = [statement.having, *(r.expression for r in statement.returns)]
    if statement.table is None or any(e is not None and has_parameter(e) for e in elsewhere):
        return None
    if statement.after.policy is not tree.Policy.HOLD or any(s.shape.chosen for s in subscription.steps.values()):
        return None
    derivatives = Derivatives(pattern, PatternCounters(pattern), most=most_edges(subscription))
    try:
        first_steps = {continuation.leaf.step for continuation in derivatives.initial_continuations()}
    except TooLargeError:
        return None  # its automaton is refused, with the cause, unless Limits.edges is higher
    if len(first_steps) != 1 or any(isinstance(node, tree.Numbered) for node in pattern.walk()):
        return None
    if any(isinstance(n, tree.FirstWhere) and has_parameter(n.condition) for n in pattern.walk()):
        return None
    comparisons: list[Comparison] = []
    for name, step in subscription.steps.items():
        for condition in (*step.conditions, *(e for _, e in step.binders)):
            if not has_parameter(condition):
                continue
            comparison = comparison_of(condition)
            if name not in first_steps or comparison is None or step.shape.repeated:
                return None
            comparisons.append(comparison)
    inequalities = sum(comparison.operator != "=" for comparison in comparisons)
    return tuple(comparisons) if comparisons and inequalities <= 1 else None


def comparison_of(condition: tree.Expression) -> Comparison | None:
    """A condition as the comparison of a value of the event with a parameter; None where it is another."""
    match condition:
        case tree.Binary(operator="=" | "<" | "<=" | ">" | ">=", left=value, right=tree.Parameter(name=name)):
            operator = condition.operator
        case tree.Binary(operator="=" | "<" | "<=" | ">" | ">=", left=tree.Parameter(name=name), right=value):
            operator = tree.MIRRORED_COMPARISON[condition.operator]
        case _:
            return None
    return Comparison(value, operator, name) if is_static(value) else None

"""Costs that will break a run: matches without any bound, and patterns that the engine refuses."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.check.costs.growth import Growth, growth_of
from foretell.check.finding import Finding
from foretell.errors import LanguageError
from foretell.language import tree
from foretell.language.checked import CheckedStatement, CheckedSubscription

#: Unrelated steps without any condition: from so many on every selection of events is a match.
_EXPLOSIVE = 3

#: A sequence of so many single steps has few enough edges, whichever of them are optional.
_SMALL = 30


def cost_findings(statement: CheckedStatement) -> Iterator[Finding]:
    """The costs of a statement that are a reason to change it."""
    if isinstance(statement, CheckedSubscription):
        growth = growth_of(statement.pattern)
        if statement.within is None and growth.cause is None:
            yield from _every_selection(statement, growth)
        elif statement.within is None and growth.cause is not None and not _is_chained(statement, growth.cause):
            yield exponential_matches(statement, growth.cause, "explosive-matches")
        yield from _refused_patterns(statement)


def exponential_matches(subscription: CheckedSubscription, cause: tree.Repeat, code: str) -> Finding:
    """The finding about a repetition under `;`."""
    first = next(node for node in cause.body.walk() if isinstance(node, tree.Step))
    repeated = f"'{first.name}'" if isinstance(cause.body, tree.Step) else f"the group of '{first.name}'"
    within = "" if subscription.within is None else " within the window"
    return Finding(
        code,
        subscription.name,
        f"{repeated} repeats under `;`, so every selection of its events{within} is a match: of 20 events a million",
        cause.place,
        "repeat it under `,`, or under `;{θ}` where θ is its condition; AFTER MATCH LONGEST takes the whole run",
    )


def _every_selection(subscription: CheckedSubscription, growth: Growth) -> Iterator[Finding]:
    """Steps that accept any event: every selection of so many events is a match."""
    free = [str(step.name) for step in growth.free if not _is_conditioned(subscription, str(step.name))]
    if len(free) < _EXPLOSIVE or subscription.tree.per:
        return
    named = ", ".join(f"'{name}'" for name in free[:-1]) + f" and '{free[-1]}'"
    yield Finding(
        "explosive-matches",
        subscription.name,
        f"{named} accept any event, however late: every selection of {len(free)} events is a match",
        growth.free[0].place.through(growth.free[-1].place),
        "add WITHIN, PER, or conditions in DEFINE; write `,` where the very next event is meant",
    )


def _is_conditioned(subscription: CheckedSubscription, name: str) -> bool:
    """Whether a condition restricts the events of a step."""
    step = subscription.steps[name]
    if step.conditions or step.binders or step.shape.conditions:
        return True
    return any(name in condition.named_steps for other in subscription.steps.values() for condition in other.conditions)


def _is_chained(subscription: CheckedSubscription, repetition: tree.Repeat) -> bool:
    """Whether an equality with the event before it decides which event comes next in a repetition."""
    steps = [str(node.name) for node in repetition.body.walk() if isinstance(node, tree.Step)]
    conditions = (
        c for step in steps for condition in subscription.steps[step].conditions for c in tree.conjuncts(condition)
    )
    return any(
        isinstance(condition, tree.Binary)
        and condition.operator == "="
        and any(isinstance(node, tree.Previous) for node in condition.walk())
        for condition in conditions
    )


def _refused_patterns(subscription: CheckedSubscription) -> Iterator[Finding]:
    if subscription.tree.losing is not None or _is_small(subscription.pattern):
        return
    from foretell.plan.nfa.automaton import build

    try:
        build(subscription)
    except LanguageError as refusal:
        yield Finding("large-automaton", subscription.name, refusal.message, refusal.place, refusal.hint)


def _is_small(pattern: tree.Pattern) -> bool:
    """Whether an automaton is certainly small: that of a few steps one after the other. Others have to be made."""
    steps = 0
    for node in pattern.walk():
        steps += isinstance(node, tree.Step)
        grouped = isinstance(node, tree.Repeat) and not isinstance(node.body, tree.Step)
        if steps > _SMALL or grouped or isinstance(node, tree.Conjunction):
            return False
    return True

"""Until when a partial match can still become one: the time conditions that all its ways to a match have to meet.

`c @(t(c) - t(a) < 5 min)` with `a` bound and `c` not: five minutes after `a` nothing can come of it any more. Forecasts
must not count on it (P-ToPSS section 5.2); for matches it makes no difference when it is given up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.automaton import Automaton, Edge


@dataclass(frozen=True)
class Expiry:
    """At a state: so long after the event of a step, nothing can come of it. No step: after it began."""

    state: int
    since: str | None
    amount: int | float


def expiries(subscription: CheckedSubscription, automaton: Automaton) -> Iterator[Expiry]:
    """Those of states where every way to a match has one since the same event."""
    asked = [dict(_limits(subscription, edge)) for edge in automaton.edges]
    known = {None, *(step for some in asked for step in some)}
    for since in sorted(known, key=str):
        for state, amount in enumerate(_longest(automaton, asked, since)):
            if math.isfinite(amount) and (since is None or since in automaton.states[state].bound):
                yield Expiry(state, since, amount)


def _longest(automaton: Automaton, asked: list[dict[str | None, int | float]], since: str | None) -> list[int | float]:
    """For each state the longest that one of its ways to a match allows, each way being as short as its shortest."""
    longest: list[int | float] = [math.inf] * len(automaton.states)
    for _ in automaton.states:
        for state in range(len(longest)):
            ways = [
                min(limits.get(since, math.inf), longest[edge.target])
                for edge, limits in zip(automaton.edges, asked, strict=True)
                if edge.source == state and edge.target != state
            ]
            longest[state] = max(ways, default=math.inf)
    return longest


def _limits(subscription: CheckedSubscription, edge: Edge) -> Iterator[tuple[str | None, int | float]]:
    """Since which earlier step, or since the beginning (None), the event of an edge may come how late."""
    step, time = edge.leaf.step, subscription.time
    for condition in edge.conditions:
        match condition.expression:
            case tree.Binary(operator="<" | "<=" as operator, left=left, right=tree.Span() | tree.Literal() as right):
                amount = right.micros if isinstance(right, tree.Span) else right.value
            case _:
                continue
        if not isinstance(amount, int | float) or isinstance(amount, bool):
            continue
        if operator == "<" and time is not Type.FLOAT and amount == int(amount):
            amount = int(amount) - 1  # whole numbers: less than five is at most four
        if condition.owner == step and isinstance(left, tree.Elapsed):
            yield None, amount
        since = _since(left, condition.owner, step)
        if since is not None and not subscription.steps[since].shape.repeated:
            yield since, amount


def _since(left: tree.Expression, owner: str, step: str) -> str | None:
    """The step x of `t(step) - t(x)`, or of the distance of the two."""
    both_ways = False
    match left:
        case tree.Call(function="abs", arguments=(inner,)):
            left, both_ways = inner, True
    match left:
        case tree.Binary(operator="-", left=tree.TimeOf(event=later), right=tree.TimeOf(event=earlier)):
            one, other = _step(later, owner), _step(earlier, owner)
            if one == step:
                return other
            if both_ways and other == step:
                return one
    return None


def _step(event: tree.EventReference, owner: str) -> str | None:
    match event:
        case tree.This():
            return owner
        case tree.BoundEvent(step=step):
            return str(step)
    return None

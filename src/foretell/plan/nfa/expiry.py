"""Expiry of runs by time conditions that every path to a match has in common.

With `c @(t(c) - t(a) < 5 min)`, a run with `a` bound and `c` not expires five minutes after `a`. Forecasts must not
count on an expired run (P-ToPSS section 5.2); the matches are the same whenever it is dropped.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.automaton import Automaton, Edge
from foretell.records import record


@record
class Expiry:
    """A run at `state` expires `amount` after the event of the step `since`, or after it began (None)."""

    state: int
    since: str | None
    amount: int | float


def expiries(subscription: CheckedSubscription, automaton: Automaton) -> Iterator[Expiry]:
    """The expiries of states from which every path to a match has a limit since the same event."""
    limits = [dict(_limits(subscription, edge)) for edge in automaton.edges]
    leaving: defaultdict[int | None, list[_LimitedEdge]] = defaultdict(list)
    sources: defaultdict[int, set[int]] = defaultdict(set)
    for edge, of_edge in zip(automaton.edges, limits, strict=True):
        if edge.source != edge.target:
            leaving[edge.source].append(_LimitedEdge(edge.target, of_edge))
            if edge.source is not None:
                sources[edge.target].add(edge.source)
    limited = {step for of_edge in limits for step in of_edge}
    for since in sorted(limited, key=str):
        for state, amount in sorted(_longest(leaving, sources, since).items()):
            if since is None or since in automaton.states[state].bound:
                yield Expiry(state, since, amount)


class _LimitedEdge(NamedTuple):
    """The target of an edge, and the limits of its event since earlier steps or the beginning (None)."""

    target: int
    limits: Mapping[str | None, int | float]


def _longest(
    leaving: Mapping[int | None, list[_LimitedEdge]], sources: Mapping[int, set[int]], since: str | None
) -> dict[int, int | float]:
    """The largest limit of the paths from a state to a match, where the limit of a path is its smallest; of those
    states that have one."""
    longest: dict[int, int | float] = {}
    todo = [state for state, edges in leaving.items() if state is not None and any(since in e.limits for e in edges)]
    while todo:
        state = todo.pop()
        paths = (min(e.limits.get(since, math.inf), longest.get(e.target, math.inf)) for e in leaving[state])
        amount = max(paths, default=math.inf)
        if amount < longest.get(state, math.inf):
            longest[state] = amount
            todo += sources[state]
    return longest


def _limits(subscription: CheckedSubscription, edge: Edge) -> Iterator[tuple[str | None, int | float]]:
    """The latest time of an edge's event since an earlier step, or since the match began (None)."""
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
    """The step x of `t(step) - t(x)`, or of the absolute value of a difference of the two."""
    absolute = False
    match left:
        case tree.Call(function="abs", arguments=(inner,)):
            left, absolute = inner, True
    match left:
        case tree.Binary(operator="-", left=tree.TimeOf(event=later), right=tree.TimeOf(event=earlier)):
            later_step, earlier_step = _step(later, owner), _step(earlier, owner)
            if later_step == step:
                return earlier_step
            if absolute and earlier_step == step:
                return later_step
    return None


def _step(event: tree.EventReference, owner: str) -> str | None:
    match event:
        case tree.This():
            return owner
        case tree.BoundEvent(step=step):
            return str(step)
    return None

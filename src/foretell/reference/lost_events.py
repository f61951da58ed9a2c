"""Estimates: matches of which some events were lost (AYAC sections 2 and 3).

A match without some of its steps is a match of the pattern without them, in which neither the negated steps nor the
lost ones were seen in between. So each set of lost steps gives a subscription of its own, whose lost steps stand
where negations stand; its matches are the estimates, and the gaps between their events give the probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from foretell.events.delays.delay_model import DelayModel
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.loss_rates import not_passed_over
from foretell.reference.estimate_gaps import (
    PatternPlace,
    Scored,
    edge_probability,
    gap_probability,
    gaps_of,
    pattern_parts,
    places,
    possible_gaps,
)
from foretell.reference.matches import Match, ReferenceMatcher
from foretell.reference.time_bounds import TimeBound, time_bounds

#: What a probability may miss of the threshold and still reach it, since integrals are rounded.
_ROUNDING = 1e-9


def estimated(matcher: ReferenceMatcher, complete: list[Match], model: DelayModel) -> list[Match]:
    """Complete and incomplete matches that are probable enough, in the order in which AFTER MATCH takes them."""
    losing = matcher.subscription.tree.losing
    assert losing is not None
    found = [(m, frozenset[str]()) for m in complete]
    for lost in _lost_sets(matcher.subscription):
        reduced = replace(matcher, subscription=without(matcher.subscription, lost))
        found += [(m, lost) for m in reduced.matches()]
    scored = []
    for match, lost in found:
        likely, score = probability(matcher.subscription, match, lost, model)
        if likely >= losing.above - _ROUNDING:
            scored.append(replace(match, probability=likely, lost=lost, score=score))
    return sorted(scored, key=matcher.taking_order)


def _lost_sets(subscription: CheckedSubscription) -> Iterator[frozenset[str]]:
    """Every set of steps that may be lost together: at least one step stays, the last is lost only with a window."""
    positive = subscription.positive
    may = [name for name in positive if subscription.loss[name] > 0]
    if subscription.within is None and positive[-1] in may:
        may.remove(positive[-1])
    for size in range(1, len(may) + 1):
        for lost in combinations(may, size):
            if len(lost) < len(positive):
                yield frozenset(lost)


def without(subscription: CheckedSubscription, lost: frozenset[str]) -> CheckedSubscription:
    """The subscription whose matches are those of this one without the lost steps."""
    parts: list[tree.SequencePart] = []
    hidden: list[tree.Negation] = []
    for part in pattern_parts(subscription):
        assert isinstance(part.pattern, tree.Step)
        hidden += part.absent
        if part.pattern.name in lost:
            hidden.append(tree.Negation(part.pattern))
        else:
            operator = _operator(part.operator, lost) if parts else None
            parts.append(tree.SequencePart(part.pattern, operator, tuple(hidden)))
            hidden = []
    trailing = subscription.pattern.absent if isinstance(subscription.pattern, tree.Sequence) else ()
    having = subscription.tree.having
    if having is not None and _having_holds(having, lost, subscription):
        having = None
    return replace(
        subscription,
        tree=replace(subscription.tree, having=having),
        pattern=tree.Sequence(tuple(parts), (*hidden, *trailing)),
        steps={name: _step(step, lost, subscription) for name, step in subscription.steps.items()},
    )


def _operator(operator: tree.Operator | None, lost: frozenset[str]) -> tree.Operator | None:
    if isinstance(operator, tree.FirstWhere) and _mentions(operator.condition, lost):
        return tree.Later()
    return operator


def _having_holds(having: tree.Expression, lost: frozenset[str], subscription: CheckedSubscription) -> bool:
    """HAVING that mentions a lost step holds; `duration` mentions the first and the last."""
    ends = {subscription.positive[0], subscription.positive[-1]}
    return _mentions(having, lost) or (bool(lost & ends) and _has(having, tree.Elapsed))


def _step(step: CheckedStep, lost: frozenset[str], subscription: CheckedSubscription) -> CheckedStep:
    """A condition that mentions a lost step holds; a lost step's variables compare, as a negated step's do.

    `prev` mentions the step before, `duration` the first one.
    """
    others = lost - {step.name}
    first, before = subscription.positive[0], _step_before(step.name, subscription)
    conditions = tuple(
        c
        for c in step.conditions
        if not _mentions(c, others)
        and not (first in others and _has(c, tree.Elapsed))
        and not (before in others and _has(c, tree.Previous))
    )
    binders = tuple((v, e) for v, e in step.binders if not _mentions(e, others))
    if step.name in lost:
        conditions += tuple(tree.Binary("=", tree.Variable(v), e) for v, e in binders)
        binders = ()
    shape = replace(step.shape, negated=step.shape.negated or step.name in lost)
    return replace(step, shape=shape, conditions=conditions, binders=binders)


def _step_before(step: str, subscription: CheckedSubscription) -> str | None:
    """The positive step just before a step, negated ones included."""
    before = None
    for name, checked in subscription.steps.items():
        if name == step:
            return before
        if not checked.shape.negated:
            before = name
    return before


def _has(expression: tree.Expression, kind: type[tree.Node]) -> bool:
    return any(isinstance(node, kind) for node in expression.walk())


def _mentions(expression: tree.Expression, steps: frozenset[str]) -> bool:
    return any(getattr(node, "step", None) in steps for node in expression.walk())


# ── probabilities ──


def probability(subscription: CheckedSubscription, match: Match, lost: frozenset[str], model: DelayModel) -> Scored:
    """The probability of a match: the product over the gaps between its events."""
    losing = subscription.tree.losing
    assert losing is not None
    unit = _unit(subscription)
    times = {b.step: b.at.event.end / unit for b in match.bound}
    window = math.inf if subscription.within is None else float(subscription.within)
    room = (window - (match.last.event.end - match.first.event.start)) / unit
    bounds = time_bounds(subscription)
    order = [_bounded(place, times, bounds, unit) for place in _places_without(subscription, lost)]
    edges, between = gaps_of(order, times, room, model)
    scored = [edge_probability(*edges, losing.score), *(gap_probability(gap, losing.score) for gap in between)]
    independent = any(score is tree.Score.INDEPENDENT for _, score in scored)
    return math.prod(p for p, _ in scored), tree.Score.INDEPENDENT if independent else losing.score


def _places_without(subscription: CheckedSubscription, lost: frozenset[str]) -> list[PatternPlace]:
    """The places of the pattern, but not those of operators that name a lost step: these are `;`."""
    changed = {
        not_passed_over(part)
        for part in pattern_parts(subscription)
        if isinstance(part.operator, tree.FirstWhere) and _mentions(part.operator.condition, lost)
    }
    return [place for place in places(subscription) if place.name not in changed]


def _bounded(place: PatternPlace, times: dict[str, float], bounds: list[TimeBound], unit: int) -> PatternPlace:
    """A lost step with the bounds that its time conditions with events present set to its time. Conditions between two
    lost steps are taken to hold."""
    if place.negated or place.name in times:
        return place
    low, high = -math.inf, math.inf
    for bound in bounds:
        if bound.later == place.name and bound.earlier in times:
            at = times[bound.earlier]
            low, high = max(low, at + bound.low / unit), min(high, at + bound.high / unit)
        if bound.earlier == place.name and bound.later in times:
            at = times[bound.later]
            low, high = max(low, at - bound.high / unit), min(high, at - bound.low / unit)
    return replace(place, bounds=(low, high))


def _unit(subscription: CheckedSubscription) -> int:
    return 1_000_000 if subscription.time is Type.TIMESTAMP else 1


def check_delays(subscription: CheckedSubscription, model: DelayModel | None) -> None:
    """Refuses, before the first event, a model without a delay that an estimate may need."""
    if subscription.tree.losing is None:
        return
    for gap in possible_gaps(places(subscription), model or DelayModel(), windowed=subscription.within is not None):
        gap.check(subscription.name)

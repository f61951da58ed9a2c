"""Estimates: matches of which some events were lost (AYAC sections 2 and 3).

A match without some of its steps is a match of the pattern without them, in which neither the negated steps nor the
lost ones were seen in between. So each set of lost steps gives a subscription of its own, whose lost steps stand
where negations stand; its matches are the estimates, and the gaps between their events give the probability.
"""

from __future__ import annotations

import math
from dataclasses import replace

from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.pattern_gaps import (
    PatternPlace,
    Scored,
    edge_probability,
    gap_probability,
    gaps_of,
    possible_gaps,
)
from foretell.events.delays.scores import Score
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.loss_rates import not_passed_over
from foretell.language.reduced_patterns import lost_sets, mentions, pattern_parts, places, without
from foretell.language.time_bounds import TimeBound, time_bounds
from foretell.reference.matches import Match, ReferenceMatcher

#: What a probability may miss of the threshold and still reach it, since integrals are rounded.
_ROUNDING = 1e-9


def estimated(matcher: ReferenceMatcher, complete: list[Match], model: DelayModel) -> list[Match]:
    """Complete and incomplete matches that are probable enough, in the order in which AFTER MATCH takes them."""
    losing = matcher.subscription.tree.losing
    assert losing is not None
    found = [(m, frozenset[str]()) for m in complete]
    for lost in lost_sets(matcher.subscription):
        reduced = replace(matcher, subscription=without(matcher.subscription, lost))
        found += [(m, lost) for m in reduced.matches()]
    scored = []
    for match, lost in found:
        likely, score = probability(matcher.subscription, match, lost, model)
        if likely >= losing.above - _ROUNDING:
            scored.append(replace(match, probability=likely, lost=lost, score=score))
    return sorted(scored, key=matcher.taking_order)


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
    independent = any(score is Score.INDEPENDENT for _, score in scored)
    return math.prod(p for p, _ in scored), Score.INDEPENDENT if independent else losing.score


def _places_without(subscription: CheckedSubscription, lost: frozenset[str]) -> list[PatternPlace]:
    """The places of the pattern, but not those of operators that name a lost step: these are `;`."""
    changed = {
        not_passed_over(part)
        for part in pattern_parts(subscription)
        if isinstance(part.operator, tree.FirstWhere) and mentions(part.operator.condition, lost)
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

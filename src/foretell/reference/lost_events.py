"""Estimates: matches of which some events were lost (AYAC sections 2 and 3).

A match without some of its steps is a match of the pattern without them, in which neither the negated steps nor the
lost ones were seen in between. So each set of lost steps gives a subscription of its own, whose lost steps stand
where negations stand; its matches are the estimates, and the gaps between their events give the probability.
"""

from __future__ import annotations

from dataclasses import replace

from foretell.events.delays.delay_model import DelayModel
from foretell.language.estimate_scorer import EstimateScorer
from foretell.language.reduced_patterns import lost_sets, without
from foretell.reference.matches import Match, ReferenceMatcher


def estimated(matcher: ReferenceMatcher, complete: list[Match], model: DelayModel) -> list[Match]:
    """Complete and incomplete matches that are probable enough, in the order in which AFTER MATCH takes them."""
    scored = []
    for lost in (frozenset[str](), *lost_sets(matcher.subscription)):
        scorer = EstimateScorer(matcher.subscription, lost, model)
        reduced = replace(matcher, subscription=without(matcher.subscription, lost))
        for match in reduced.matches() if lost else complete:
            times = {b.step: b.at.event.end / scorer.unit for b in match.bound}
            span = (match.last.event.end - match.first.event.start) / scorer.unit
            likely, _ = scorer.scored(times, span)
            if scorer.reaches(likely):
                scored.append(replace(match, probability=likely, lost=lost, scorer=scorer))
    return sorted(scored, key=matcher.taking_order)

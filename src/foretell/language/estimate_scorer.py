"""The probability of a match from the times of the events that are present: the product over the gaps between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from foretell.arrays import Flags, Floats
from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.gap_estimates import (
    GapEstimate,
    GapOutline,
    estimate_at_edges,
    estimate_between,
    outline,
)
from foretell.events.delays.pattern_gaps import (
    Gap,
    PatternPlace,
    edge_probability,
    gap_probability,
    gaps_of,
    possible_gaps,
)
from foretell.events.delays.scores import Score
from foretell.events.detail_columns import DetailColumns
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.reduced_patterns import changed_operators, places
from foretell.language.time_bounds import TimeBound, time_bounds
from foretell.records import record

#: What a probability may miss of the threshold and still reach it, since integrals are rounded.
ROUNDING = 1e-9


@record
class EstimateScorer:
    """Scores the matches of a subscription in which these steps are `lost`."""

    subscription: CheckedSubscription
    lost: frozenset[str]
    model: DelayModel

    @cached_property
    def losing(self) -> tree.Losing:
        losing = self.subscription.tree.losing
        assert losing is not None
        return losing

    def scored(self, times: Mapping[str, float], span: float) -> tuple[float, Score]:
        """The probability, and the score that it is. `times` are those of the steps present, and `span` is how long the
        match takes, in `unit`s."""
        ((before, after), between), score = self.gaps(times, span), self.losing.score
        scored = [edge_probability(before, after, score, np.array([before.length]))]
        scored += [gap_probability(gap, score, np.array([gap.length])) for gap in between]
        independent = any(s.independent.any() for s in scored)
        return math.prod(s.probability.item() for s in scored), Score.INDEPENDENT if independent else score

    def detail(self, times: Mapping[str, int | float], span: int | float) -> DetailColumns:
        """The details of one estimate. `times` and `span` are those of the statement's streams."""
        edges, between = self.gaps({step: at / self.unit for step, at in times.items()}, span / self.unit)
        (before, after), score, estimates = edges, self.losing.score, list[tuple[GapOutline, GapEstimate]]()
        for gap in between:
            if (known := outline(gap)) is not None:
                estimates.append((known, estimate_between(gap, score, np.array([gap.length]))))
        if (known := outline(before, after)) is not None:
            estimates.append((known, estimate_at_edges(before, after, score, np.array([before.length]))))
        present = {step: np.array([at]) for step, at in times.items()}
        return DetailColumns.of(score, self.subscription.positive, estimates, present, self.unit)

    def gaps(self, times: Mapping[str, float], span: float) -> tuple[tuple[Gap, Gap], list[Gap]]:
        """The gaps at the edges, and those between events present."""
        within = self.subscription.within
        room = (math.inf if within is None else within / self.unit) - span
        order = [self._bounded(place, times) for place in self._places]
        return gaps_of(order, times, room, self.model)

    def reaches(self, probability: float | Floats) -> bool | Flags:
        """Whether an estimate is probable enough to be reported."""
        return probability >= self.losing.above - ROUNDING

    @cached_property
    def unit(self) -> int:
        """So many steps of the streams' time are one of the delays': microseconds are seconds."""
        return 1_000_000 if self.subscription.time is Type.TIMESTAMP else 1

    @cached_property
    def bounds(self) -> list[TimeBound]:
        """The time conditions that set bounds to a lost step. Those between two lost steps are taken to hold."""
        present = set(self.subscription.positive) - self.lost
        return [b for b in time_bounds(self.subscription) if len({b.later, b.earlier} & present) == 1]

    @cached_property
    def _places(self) -> list[PatternPlace]:
        """The places of the pattern, but not those of operators that name a lost step: these are `;`."""
        changed = changed_operators(self.subscription, self.lost)
        return [place for place in places(self.subscription) if place.name not in changed]

    def _bounded(self, place: PatternPlace, times: Mapping[str, float]) -> PatternPlace:
        """A lost step with the bounds that its time conditions with events present set to its time."""
        if place.name not in self.lost:
            return place
        low, high = -math.inf, math.inf
        for bound in self.bounds:
            if bound.later == place.name:
                at = times[bound.earlier]
                low, high = max(low, at + bound.low / self.unit), min(high, at + bound.high / self.unit)
            elif bound.earlier == place.name:
                at = times[bound.later]
                low, high = max(low, at - bound.high / self.unit), min(high, at - bound.low / self.unit)
        return replace(place, bounds=(low, high))


def check_delays(subscription: CheckedSubscription, model: DelayModel | None) -> None:
    """Refuses, before the first event, a model without a delay that an estimate may need."""
    if subscription.tree.losing is None:
        return
    for gap in possible_gaps(places(subscription), model or DelayModel(), windowed=subscription.within is not None):
        gap.check(subscription.name)

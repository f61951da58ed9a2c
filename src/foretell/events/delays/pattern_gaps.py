"""The gaps of a match some of whose events may be lost, and the probability of each (LOSING).

A gap takes the score that the model permits: given both its ends where the model knows the delays from each of its
steps straight to each later one, else regardless of its end (decision 0015).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from foretell.arrays import Flags, Floats
from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel, GapEnds, delay_between
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.gap_counts import GapCounts
from foretell.events.delays.gaps import HiddenStep, HiddenSteps, at_edges, between_events
from foretell.events.delays.independent_gaps import IndependentGap, IndependentStep, Link
from foretell.events.delays.scores import Score
from foretell.records import record

#: The bounds of a step that has none.
UNBOUNDED = (-math.inf, math.inf)

#: So many ways to a step tell how long ways to it take.
_MOST_WAYS = 64


@dataclass(frozen=True)
class PatternPlace:
    """A place of the pattern in its order: a step, a negated step, or the events that an operator does not pass over.

    `after` is the positive step before it, `before` the one after it. `bounds` are the earliest and the latest time of
    a lost step; within a gap, its distance from the event at which that begins.
    """

    name: str
    negated: bool
    loss: float
    after: str | None
    before: str | None
    operator: bool = False
    bounds: tuple[float, float] = UNBOUNDED


@dataclass(frozen=True)
class Gap:
    """The places between an event present at `origin` and one at `end`, a time `length` apart; without `end` up to the
    edge of the window, `backwards` from the first event present, whose places are then in reverse order. Gaps are
    compared under one model. The places of its `prefix`, another gap at least as long, are the first of these, but for
    their bounds."""

    origin: str
    hidden: tuple[PatternPlace, ...]
    length: float
    model: DelayModel = field(compare=False)
    end: str | None = None
    backwards: bool = False
    prefix: Gap | None = field(default=None, compare=False)

    @cached_property
    def hidden_steps(self) -> HiddenSteps | None:
        """The arguments of the score of both ends; None where the model does not know all of them."""
        for hidden in (self.hidden, tuple(p for p in self.hidden if self._counts(p))):
            names = [self.origin, *(p.name for p in hidden), *([] if self.end is None else [self.end])]
            delays = {(a, b): self._delay(a, b) for a, b in combinations(names, 2)}
            known = {pair: delay for pair, delay in delays.items() if delay is not None}
            if len(known) == len(delays):
                steps = tuple(HiddenStep(p.name, p.loss, not p.negated, *p.bounds) for p in hidden)
                until = self._reach(known.values())
                first = self._known_steps(steps, until)
                return HiddenSteps(self.origin, steps, known, until if first is None else first.until, first)
        return None

    def _known_steps(self, steps: tuple[HiddenStep, ...], until: float) -> HiddenSteps | None:
        """Those of the prefix, where they are the first of these."""
        found = None if self.prefix is None else self.prefix.hidden_steps
        if (
            found is None
            or found.until < until
            or found.kinds != tuple(step.kind for step in steps)[: len(found.steps)]
        ):
            return None
        return found

    def way_quantiles(self, probabilities: Floats) -> Floats:
        """For each way to a hidden step or to the end, a row with the sums of these quantiles of its delays."""
        names = [self.origin, *(p.name for p in self.hidden), *([] if self.end is None else [self.end])]
        nothing = np.zeros((1, len(probabilities)))
        sums = [nothing]
        for place, name in enumerate(names[1:], 1):
            known = ((before, self._delay(start, name)) for start, before in zip(names[:place], sums, strict=True))
            ways = [before + delay.law.quantile(probabilities) for before, delay in known if delay is not None]
            sums.append(_spread(np.concatenate([nothing[:0], *ways])))
        return np.concatenate([nothing[:0], *sums[1:]])

    @property
    def delays(self) -> Iterator[DelayDistribution]:
        """Those that the model knows from each of its steps to each later one."""
        names = [self.origin, *(p.name for p in self.hidden), *([] if self.end is None else [self.end])]
        known = (self._delay(start, end) for start, end in combinations(names, 2))
        return (delay for delay in known if delay is not None)

    def reaching(self, lengths: Floats) -> Gap:
        """The gap, at least as long as the longest of these lengths: so one table of convolutions serves many."""
        longest = float(lengths.max(initial=0.0))
        if longest <= self.length < math.inf or not longest:
            return self
        rounded = rounded_length(longest) if math.isfinite(longest) else longest
        return self._longer.setdefault(rounded, replace(self, length=rounded))

    @cached_property
    def _longer(self) -> dict[float, Gap]:
        return {}

    def learned(self, lengths: Floats) -> Floats:
        """The probability for each length by the counts of a history; NaN where the model has none of such gaps."""
        counts = self.counts
        hidden = {p.name: p for p in self.hidden}
        if counts is None or any(self._counts(p) and p.name not in counts.hidden for p in self.hidden):
            return np.full(len(lengths), math.nan)
        places = [hidden.get(name) for name in counts.hidden]
        wanted = [place is not None and not place.negated for place in places]
        # A step that is not in this gap is a negated one that cannot be lost.
        losses = [place.loss if place is not None else 0.0 for place in places]
        return counts.probabilities(lengths, wanted, losses)

    @property
    def lost(self) -> tuple[str, ...]:
        """The steps that were lost, in the direction of the gap."""
        return tuple(place.name for place in self.hidden if not place.negated)

    @property
    def counts(self) -> GapCounts | None:
        """The counts of a history of such gaps."""
        return self.model.gaps.get(self._ends)

    def _counts(self, place: PatternPlace) -> bool:
        """Whether a place may hide an event. What a model does not know of operators is taken not to happen."""
        unknown = place.operator and place.name not in self._counted and self._nearest_delay(place) is None
        return place.loss > 0 and not unknown

    @property
    def _counted(self) -> tuple[str, ...]:
        """The places whose events a history has counted in such gaps."""
        return () if self.counts is None else self.counts.hidden

    @property
    def _ends(self) -> GapEnds:
        return (None, self.origin) if self.backwards else (self.origin, self.end)

    def _reach(self, delays: Iterable[DelayDistribution]) -> float:
        """The length of the gap, or where it has no end, the time by which every delay has passed."""
        return self.length if math.isfinite(self.length) else sum(delay.reach for delay in delays) or 1.0

    def _delay(self, start: str, end: str) -> DelayDistribution | None:
        """The delay from one step straight to another, in the direction of the gap."""
        if self.backwards:
            return delay_between(self.model.before, end, start, self._place(end).before)
        nearest = self._place(end).after if end != self.end else self._nearest_to_end
        return delay_between(self.model.after, end, start, nearest)

    def _place(self, name: str) -> PatternPlace:
        return next(p for p in self.hidden if p.name == name)

    @property
    def _nearest_to_end(self) -> str:
        """The positive step before the end."""
        return next((p.name for p in reversed(self.hidden) if not p.negated), self.origin)

    def _nearest_delay(self, place: PatternPlace) -> DelayDistribution | None:
        """The delay from the positive step before a place, or to the one after it for a lost step seen backwards and
        what comes before the first step."""
        if self.backwards and (not place.negated or place.after is None):
            return delay_between(self.model.before, place.name, place.before or "", place.before)
        return delay_between(self.model.after, place.name, place.after or "", place.after)

    @cached_property
    def independent(self) -> IndependentGap | None:
        """The arguments of the other scores; None where the model does not know all of them."""
        links: list[Link] = []
        negated: list[IndependentStep] = []
        for place in self.hidden:
            delay = self._nearest_delay(place)
            if delay is None:
                if self._counts(place):
                    return None
                continue
            step = IndependentStep(delay, place.loss, *place.bounds)
            if place.negated:
                negated.append(step)
            else:
                links.append(Link(step, tuple(negated)))
                negated = []
        known = None if self.prefix is None else self.prefix.independent
        if (
            known is None
            or known.length < self.length
            or known.ways != tuple(link.way for link in links)[: len(known.ways)]
        ):
            return IndependentGap(self.length, tuple(links), tuple(negated), self.backwards)
        return IndependentGap(known.length, tuple(links), tuple(negated), self.backwards, known)

    def check(self, statement: str) -> None:
        """Raises InputError where the model permits no score."""
        if self._ends in self.model.gaps or self.hidden_steps is not None or self.independent is not None:
            return
        place = next(p for p in filter(self._counts, self.hidden) if self._nearest_delay(p) is None)
        backwards = self.backwards and (not place.negated or place.after is None)
        side, other = ("before", place.before) if backwards else ("after", place.after)
        raise InputError(
            "no-delay",
            f"subscription '{statement}': LOSING needs the delay of '{place.name}' {side} '{other}'; no model has it",
            hint=f'train a model (foretell train), or pass {{"subscriptions": {{"{statement}": {{"{side}": '
            f'{{"{place.name}": {{"distribution": "exponential", "mean": 60, "share": 1}}}}}}}}}}',
        )

    @property
    def losable(self) -> bool:
        return any(map(self._counts, self.hidden))


def rounded_length(length: float) -> float:
    """The least power of two that is not shorter: gaps up to this length share tables."""
    return 2.0 ** math.ceil(math.log2(length))


def _spread(ways: Floats) -> Floats:
    """At most `_MOST_WAYS` of these, from the shortest to the longest."""
    return ways[np.argsort(ways[:, 0])][:: len(ways) // _MOST_WAYS + 1]


@record
class Scored:
    """Probabilities, and whether each had to be scored regardless of the gap's end, though both ends were asked for."""

    probability: Floats
    independent: Flags


def gap_probability(gap: Gap, score: Score, lengths: Floats) -> Scored:
    """The probability of a gap between two events present, for each of these lengths."""
    if not gap.losable:
        return _known(np.ones(len(lengths)))
    found = np.full(len(lengths), math.nan)
    if score is Score.BOTH_ENDS:
        found = gap.learned(lengths)
        if (unknown := np.isnan(found)).any() and (hidden := gap.reaching(lengths).hidden_steps) is not None:
            found[unknown] = between_events(hidden, gap.end or "", lengths[unknown])
    return _completed(found, [gap], score, lengths)


def edge_probability(before: Gap, after: Gap, score: Score, rooms: Floats) -> Scored:
    """The probability of the gaps before the first and after the last event present, for each of what the window may
    leave."""
    gaps = [gap for gap in (before, after) if gap.losable]
    if not gaps:
        return _known(np.ones(len(rooms)))
    found = np.full(len(rooms), math.nan)
    if score is Score.BOTH_ENDS:
        found = np.prod([gap.learned(rooms) for gap in gaps], axis=0)
        first, last = before.reaching(rooms).hidden_steps, after.reaching(rooms).hidden_steps
        if (unknown := np.isnan(found)).any() and first is not None and last is not None:
            found[unknown] = at_edges((first, last), rooms[unknown])
    return _completed(found, gaps, score, rooms)


def _known(probability: Floats) -> Scored:
    return Scored(probability, np.zeros(len(probability), np.bool_))


def _completed(found: Floats, gaps: Sequence[Gap], score: Score, lengths: Floats) -> Scored:
    """With the other scores where nothing was found."""
    unknown = np.isnan(found)
    if unknown.any():
        found[unknown] = _without_end(gaps, score, lengths[unknown])
    return Scored(found, unknown & (score is not Score.PUBLISHED))


def _without_end(gaps: Sequence[Gap], score: Score, lengths: Floats) -> Floats:
    """The other scores."""
    result = np.ones(len(lengths))
    for gap in gaps:
        independent = gap.reaching(lengths).independent
        if independent is None:
            return np.zeros(len(lengths))  # the history has no gap like it, and nothing else is known
        is_published = score is Score.PUBLISHED
        result *= independent.published_scores(lengths) if is_published else independent.probabilities(lengths)
    return result


def gaps_of(
    order: Sequence[PatternPlace], times: Mapping[str, float], room: float, model: DelayModel
) -> tuple[tuple[Gap, Gap], list[Gap]]:
    """The gaps of a match whose events are present at `times`: those at the edges, and those between events.

    `order` has the places of the pattern; `room` is what its events leave of the window.
    """
    order = [p for p in order if not p.operator or (p.before in times and p.loss > 0)]
    at = [number for number, place in enumerate(order) if place.name in times]
    first, last = order[at[0]].name, order[at[-1]].name
    between = list[Gap]()
    for start, end in pairwise(at):
        u, v = order[start].name, order[end].name
        between.append(Gap(u, _later(order[start + 1 : end], times[u]), times[v] - times[u], model, end=v))
    before = Gap(first, _earlier(order[: at[0]], times[first]), room, model, backwards=True)
    after = Gap(last, _later(order[at[-1] + 1 :], times[last]), room, model)
    return (before, after), between


def _later(hidden: Sequence[PatternPlace], since: float) -> tuple[PatternPlace, ...]:
    return tuple(replace(p, bounds=(p.bounds[0] - since, p.bounds[1] - since)) for p in hidden)


def _earlier(hidden: Sequence[PatternPlace], until: float) -> tuple[PatternPlace, ...]:
    return tuple(replace(p, bounds=(until - p.bounds[1], until - p.bounds[0])) for p in reversed(hidden))


def possible_gaps(order: Sequence[PatternPlace], model: DelayModel, *, windowed: bool) -> Iterator[Gap]:
    """Every gap that an estimate may have: for the check that the model knows its delays."""
    positive = [number for number, place in enumerate(order) if not place.negated]
    edges = set() if windowed else {positive[0], positive[-1]}
    may_be_lost = {n for n in positive if order[n].loss > 0} - edges
    for count, start in enumerate(positive):
        for end in positive[count + 1 :]:
            ends = dict.fromkeys((order[start].name, order[end].name), 0.0)
            yield from gaps_of(order[start : end + 1], ends, math.inf, model)[1]
            if end not in may_be_lost:
                break
        present = {order[start].name: 0.0}
        if may_be_lost.issuperset(positive[:count]):
            (before, _), _ = gaps_of(order[: start + 1], present, math.inf, model)
            yield before
        if may_be_lost.issuperset(positive[count + 1 :]):
            (_, after), _ = gaps_of(order[start:], present, math.inf, model)
            yield after

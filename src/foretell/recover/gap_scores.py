"""The probabilities of many matches at once. The probability of a gap depends on its length alone where no time
condition binds its hidden steps: it is computed once for each length, and looked up in a table where there are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats
from foretell.events.delays.gap_estimates import (
    GapEstimate,
    GapOutline,
    estimate_at_edges,
    estimate_between,
    outline,
)
from foretell.events.delays.pattern_gaps import Gap, edge_probability, gap_probability
from foretell.events.delays.scores import Score
from foretell.events.detail_columns import DetailColumns, joined
from foretell.language.estimate_scorer import ROUNDING, EstimateScorer
from foretell.plan.strategy import CERTAINLY_LESS
from foretell.recover.length_tables import LengthTable

#: A table of probabilities is as near, and one of the logarithms of times within gaps.
_TOLERANCE, _TIME_TOLERANCE = 1e-5, 5e-5

#: These quantiles show where the density of a delay lies. It is narrow where the last is less than so many times the
#: first: then lengths that are chosen without it may all miss it.
_QUANTILES, _NARROW = np.array([0.1, 0.5, 0.9]), math.e

#: In place of a time of 0 where a logarithm is taken.
_SMALLEST = 1e-300

#: A probability of a table that is as near to the threshold is computed anew.
_NEAR = 1e-4


class GapScores:
    """The probabilities of the matches of a variant, with `times` of its steps present as columns."""

    def __init__(self, scorer: EstimateScorer, present: tuple[str, ...]) -> None:
        self._scorer, self._present = scorer, present
        (before, after), between = scorer.gaps({step: float(n) for n, step in enumerate(present)}, len(present) - 1.0)
        within = scorer.subscription.within
        if within is not None:  # no gap is longer: the tables of one length serve all
            longest = within / scorer.unit
            before, after, *between = (replace(gap, length=longest) for gap in (before, after, *between))
        # The bounds of lost steps are other ones in each match.
        self._depends_on_length = not scorer.bounds
        score = scorer.losing.score
        self._edges = _table(partial(_of_edges, before, after, score), before, after)
        self._between = [_table(partial(_of_gap, gap, score), gap) for gap in between]
        self._details = [_GapDetails.of(partial(estimate_between, gap, score), gap) for gap in between]
        self._details.append(_GapDetails.of(partial(estimate_at_edges, before, after, score), before, after))
        self.certain = not (before.losable or after.losable or any(gap.losable for gap in between))

    def probabilities(self, times: Floats) -> Floats:
        """Of each match, a row with the times of its events in the unit of the delays."""
        if self.certain:
            return np.ones(len(times))
        if not self._depends_on_length:
            return np.array([self._exact(row) for row in times])
        likely = self._product(times, exactly=False)
        above = self._scorer.losing.above
        if above > ROUNDING and (near := np.abs(likely - above) < _NEAR).any():
            likely[near] = self._product(times[near], exactly=True)
        return likely

    def _product(self, times: Floats, *, exactly: bool) -> Floats:
        factors = zip((*self._between, self._edges), self._lengths(times), strict=True)
        found = np.prod([score(length, exactly=exactly) for score, length in factors], axis=0)
        return np.asarray(np.clip(found, 0.0, 1.0), np.float64)

    def _lengths(self, times: Floats) -> list[Floats]:
        """The lengths of the gaps between events, and what the window leaves."""
        return [*np.diff(times, axis=1).T, self._rooms(times)]

    def details(self, ends: NDArray[Any]) -> DetailColumns:
        """The details of estimates; `ends` are the ends of their events in the streams' time."""
        scorer, columns = self._scorer, dict(zip(self._present, ends.T, strict=True))
        if not self._depends_on_length:
            every = np.arange(len(ends))
            return joined([(every == row, self._detail(ends[row].tolist())) for row in every.tolist()])
        gaps = zip(self._details, (*self._between, self._edges), self._lengths(ends / scorer.unit), strict=True)
        estimates = [(gap.outline, gap.estimates(score, length)) for gap, score, length in gaps if gap is not None]
        return DetailColumns.of(scorer.losing.score, scorer.subscription.positive, estimates, columns, scorer.unit)

    def _detail(self, ends: Sequence[int | float]) -> DetailColumns:
        return self._scorer.detail(dict(zip(self._present, ends, strict=True)), ends[-1] - ends[0])

    @property
    def best(self) -> float:
        """No match is more probable, but for rounding; 1 where that is not known."""
        within = self._scorer.subscription.within
        if within is None or not self._depends_on_length or not all(s.is_smooth for s in (self._edges, *self._between)):
            return 1.0
        longest = within / self._scorer.unit
        return math.prod(score.best(longest) for score in (self._edges, *self._between))

    @property
    def longest(self) -> float:
        """No match is probable enough in which more time passes between its first event and its last; infinite where
        that is not known. AYAC removes what cannot reach the threshold likewise (sections 4 and 5.1)."""
        window = self._scorer.subscription.within
        if window is None or not self._depends_on_length or not all(score.is_smooth for score in self._between):
            return math.inf
        longest, above = window / self._scorer.unit, self._scorer.losing.above
        best = [score.best(longest) for score in self._between]
        if not best or not math.prod(best):
            return math.inf
        least = [CERTAINLY_LESS * above * own / math.prod(best) for own in best]
        return sum(score.longest(longest, enough) for score, enough in zip(self._between, least, strict=True))

    def reached(self, likely: Floats) -> Flags:
        return np.asarray(self._scorer.reaches(likely))

    def _rooms(self, times: Floats) -> Floats:
        within = self._scorer.subscription.within
        return (math.inf if within is None else within / self._scorer.unit) - (times[:, -1] - times[:, 0])

    def _exact(self, times: Floats) -> float:
        by_step = dict(zip(self._present, times.tolist(), strict=True))
        return self._scorer.scored(by_step, float(times[-1] - times[0]))[0]


def _of_edges(before: Gap, after: Gap, score: Score, rooms: Floats) -> Floats:
    return edge_probability(before, after, score, rooms).probability


def _of_edge(gap: Gap, score: Score, rooms: Floats) -> Floats:
    return edge_probability(gap, replace(gap, hidden=()), score, rooms).probability


def _of_gap(gap: Gap, score: Score, lengths: Floats) -> Floats:
    return gap_probability(gap, score, lengths).probability


def _is_smooth(*gaps: Gap) -> bool:
    """Whether the probability has no leaps: no delay of the model has times with a probability of their own."""
    sides = (gap.model.after for gap in gaps), (gap.model.before for gap in gaps)
    delays = [delay for side in sides for steps in side for known in steps.values() for delay in known.values()]
    leaps = any(delay.distribution in ("points", "uniform") for delay in delays)
    return not leaps and not any(gap.model.gaps for gap in gaps)


def _marks(*gaps: Gap) -> Floats:
    """The lengths at which narrow ways through the gaps end."""
    ways = np.zeros((1, len(_QUANTILES)))
    for gap in gaps:
        through = gap.way_quantiles(_QUANTILES)
        ways = np.concatenate([ways, (ways[:, None] + through).reshape(-1, len(_QUANTILES))])
    return np.unique(ways[ways[:, -1] < _NARROW * ways[:, 0]])


def best_probability(gap: Gap, score: Score, longest: float) -> float:
    """The best probability of a gap of at most this length, found at some lengths."""
    exact = partial(_of_edge if gap.end is None else _of_gap, gap, score)
    return LengthTable(exact, _TOLERANCE, _marks(gap), is_smooth=True).best(longest)


def _table(exact: Callable[[Floats], Floats], *gaps: Gap) -> LengthTable:
    return LengthTable(exact, _TOLERANCE, _marks(*gaps), is_smooth=_is_smooth(*gaps))


class _GapDetails:
    """The estimates of a gap by its length, for the matches that are reported."""

    def __init__(self, known: GapOutline, exact: Callable[[Floats], GapEstimate], *gaps: Gap) -> None:
        self.outline, self._exact, self._width = known, exact, len(known.lost)
        shape = (1 + 2 * self._width,)
        self._rows = LengthTable(self._row, _TIME_TOLERANCE, _marks(*gaps), is_smooth=_is_smooth(*gaps), shape=shape)

    @classmethod
    def of(cls, exact: Callable[[Floats], GapEstimate], *gaps: Gap) -> _GapDetails | None:
        known = outline(*gaps)
        return None if known is None else cls(known, exact, *gaps)

    def estimates(self, score: LengthTable, lengths: Floats) -> GapEstimate:
        rows = self._rows(lengths)
        distances = np.exp(rows[:, 1:]).reshape(len(rows), self._width, 2)
        return GapEstimate(np.clip(score(lengths), 0.0, 1.0), rows[:, 0] > 0.5, distances)

    def _row(self, lengths: Floats) -> Floats:
        found = self._exact(lengths)
        logs = np.log(np.maximum(found.distances.reshape(len(lengths), 2 * self._width), _SMALLEST))
        return np.concatenate([found.independent[:, None], logs], axis=1)

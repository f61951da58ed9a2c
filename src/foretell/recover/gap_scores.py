"""The probabilities of many matches at once. The probability of a gap depends on its length alone where no time
condition binds its hidden steps: it is computed once for each length, and looked up in a table where there are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.interpolate import PchipInterpolator

from foretell.arrays import Flags, Floats
from foretell.events.delays.pattern_gaps import Gap, edge_probability, gap_probability
from foretell.events.delays.scores import Score
from foretell.events.delays.tables import refined_table
from foretell.language.estimate_scorer import ROUNDING, EstimateScorer
from foretell.plan.strategy import CERTAINLY_LESS

#: Lengths that are computed one by one before a table is made.
_FEW = 512

#: A table is as near.
_TOLERANCE = 1e-5

#: A table reaches to lengths that are by so much shorter, in the logarithm.
_MARGIN = 4.0

#: The best value is looked for at so many lengths, down to the longest divided by e to the power of the span.
_SAMPLES, _SPAN = 50, 25.0

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
        self._edges = _LengthScore(partial(_of_edges, before, after, score), _is_smooth(before, after))
        self._between = [_LengthScore(partial(_of_gap, gap, score), _is_smooth(gap)) for gap in between]
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
        lengths = [self._rooms(times), *np.diff(times, axis=1).T]
        factors = zip((self._edges, *self._between), lengths, strict=True)
        return np.asarray(np.prod([score(length, exactly=exactly) for score, length in factors], axis=0))

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


def best_probability(gap: Gap, score: Score, longest: float) -> float:
    """The best probability of a gap of at most this length, found at some lengths."""
    return _LengthScore(partial(_of_edge if gap.end is None else _of_gap, gap, score), is_smooth=True).best(longest)


class _LengthScore:
    """A function of a length: exact where it was asked for few, else by a table in the logarithm of the length."""

    def __init__(self, exact: Callable[[Floats], Floats], is_smooth: bool) -> None:
        self._exact, self.is_smooth = exact, is_smooth
        self._known: dict[float, float] = {}
        self._table: PchipInterpolator | None = None
        self._reach = (math.inf, -math.inf)

    def __call__(self, lengths: Floats, *, exactly: bool = False) -> Floats:
        if self._table is not None and not exactly:
            return self._looked_up(lengths)
        different, which = np.unique(lengths, return_inverse=True)
        return (self._each(different) if exactly else self._of(different))[which.ravel()]

    def best(self, longest: float) -> float:
        """The highest value up to a length."""
        lengths = longest * np.exp(-np.linspace(0.0, _SPAN, _SAMPLES))
        return float(np.max(self._exact(np.append(lengths, 0.0)), initial=0.0))

    def longest(self, most: float, enough: float) -> float:
        """The longest length up to `most` for which the value may be `enough`."""
        low = math.log(most) - _SPAN
        table = self._prepared(low, math.log(most))
        at = table.x[table.x <= math.log(most)]
        reaching = np.flatnonzero(table(at) >= enough)
        # Up to the next point the value is between the two.
        return math.exp(at[reaching[-1] + 1]) if len(reaching) and reaching[-1] + 1 < len(at) else most

    def _of(self, lengths: Floats) -> Floats:
        if not self.is_smooth or len(self._known) + len(lengths) <= _FEW:
            return self._each(lengths)
        return self._looked_up(lengths)

    def _looked_up(self, lengths: Floats) -> Floats:
        inner = (lengths > 0) & np.isfinite(lengths)
        likely = np.empty(len(lengths))
        likely[~inner] = self._each(lengths[~inner])
        logs = np.log(lengths[inner])
        if len(logs):
            likely[inner] = np.clip(self._interpolated(logs), 0.0, 1.0)
        return likely

    def _each(self, lengths: Floats) -> Floats:
        """One by one, each only once."""
        wanted = lengths.tolist()
        if len(self._known) > 64 * _FEW:
            self._known.clear()
        new = [length for length in wanted if length not in self._known]
        if new:
            self._known.update(zip(new, self._exact(np.array(new)).tolist(), strict=True))
        return np.array([self._known[length] for length in wanted])

    def _interpolated(self, logs: Floats) -> Floats:
        return np.asarray(self._prepared(float(logs.min()), float(logs.max()))(logs), np.float64)

    def _prepared(self, low: float, high: float) -> PchipInterpolator:
        """A table that has these lengths."""
        if self._table is None or low < self._reach[0] or high > self._reach[1]:
            # Beyond the table there may be more: a table anew costs as much as a million lengths.
            self._reach = min(low - _MARGIN, self._reach[0]), max(high + 1.0, self._reach[1])
            self._table = refined_table(self._exactly, np.linspace(*self._reach, 33), _TOLERANCE)
        return self._table

    def _exactly(self, logs: Floats) -> Floats:
        return self._exact(np.exp(logs))

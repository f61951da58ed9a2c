"""The probabilities of many matches at once: the product over their gaps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats
from foretell.events.detail_columns import DetailColumns
from foretell.language.estimate_scorer import ROUNDING, EstimateScorer
from foretell.plan.strategy import CERTAINLY_LESS
from foretell.recover.bounded_gaps import BoundedGaps
from foretell.recover.gap_tables import GapTables

#: A probability of a table that is as near to the threshold is computed anew.
_NEAR = 1e-4


class GapScores:
    """The probabilities of the matches of a variant, with `times` of its steps present as columns."""

    def __init__(self, scorer: EstimateScorer, present: tuple[str, ...], tables: GapTables) -> None:
        self._scorer, self._present, self._tables = scorer, present, tables
        (before, after), between = scorer.gaps({step: float(n) for n, step in enumerate(present)}, len(present) - 1.0)
        within = scorer.subscription.within
        self._longest = math.inf if within is None else within / scorer.unit  # the tables of one length serve all
        before, after, *between = (replace(gap, length=self._longest) for gap in (before, after, *between))
        # The bounds of lost steps are other ones in each match.
        self._bounded = (
            BoundedGaps(scorer, present, tables, (before, after), between, self._longest) if scorer.bounds else None
        )
        self._edges = tables.edges(before, after)
        self._between = [tables.between(gap) for gap in between]
        self._details = [*map(tables.details_between, between), tables.details_at_edges(before, after)]
        self.certain = not (before.losable or after.losable or any(gap.losable for gap in between))

    def probabilities(self, times: Floats) -> Floats:
        """Of each match, a row with the times of its events in the unit of the delays."""
        if self.certain:
            return np.ones(len(times))
        if self._bounded is not None:
            return self._bounded.probabilities(times)
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
        if self._bounded is not None:
            estimates = self._bounded.estimates(ends / scorer.unit)
            return DetailColumns.of(scorer.losing.score, scorer.subscription.positive, estimates, columns, scorer.unit)
        gaps = zip(self._details, (*self._between, self._edges), self._lengths(ends / scorer.unit), strict=True)
        estimates = [(gap.outline, gap.estimates(score, length)) for gap, score, length in gaps if gap is not None]
        return DetailColumns.of(scorer.losing.score, scorer.subscription.positive, estimates, columns, scorer.unit)

    @property
    def best(self) -> float:
        """No match is more probable, but for rounding; 1 where that is not known."""
        within = self._scorer.subscription.within
        if within is None or self._bounded is not None or not all(s.is_smooth for s in (self._edges, *self._between)):
            return 1.0
        longest = within / self._scorer.unit
        return math.prod(score.best(longest) for score in (self._edges, *self._between))

    @property
    def longest(self) -> float:
        """No match is probable enough in which more time passes between its first event and its last; infinite where
        that is not known. AYAC removes what cannot reach the threshold likewise (sections 4 and 5.1)."""
        window = self._scorer.subscription.within
        above = self._scorer.losing.above
        if above <= 0 or window is None or self._bounded is not None:
            return math.inf
        if not all(score.is_smooth for score in self._between):
            return math.inf
        longest = window / self._scorer.unit
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

"""The gaps of matches in which time conditions bind lost steps: their probability depends on more than their length.

The bounds of a lost step are distances from the event at which its gap begins. Matches in which these and the length
are equal share the estimate of the gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.events.delays.gap_estimates import GapEstimate, GapOutline, estimate_at_edges, estimate_between, outline
from foretell.events.delays.pattern_gaps import Gap, edge_probability, gap_probability
from foretell.language.estimate_scorer import EstimateScorer
from foretell.records import record
from foretell.recover.gap_tables import GapTables

#: So many numbers are kept of each gap.
_MOST_KNOWN = 32_768


@record
class _GapPlace:
    """A gap of all matches: the columns of the steps present at its beginning and its end, and of those that bind steps
    in it. The gaps at the edges are one, from the first event to the last."""

    number: int
    start: int
    end: int
    binding: Ints


class BoundedGaps:
    """The gaps of the matches with these steps `present`; `gaps` are those between them. Their `longest` length is that
    of the window: when steps happened unseen does not depend on bounds, and its tables serve all matches."""

    def __init__(
        self,
        scorer: EstimateScorer,
        present: tuple[str, ...],
        tables: GapTables,
        edges: tuple[Gap, Gap],
        gaps: Sequence[Gap],
        longest: float,
    ) -> None:
        self._scorer, self._present, self._tables, self._longest = scorer, present, tables, longest
        at_edges = {place.name for gap in edges for place in gap.hidden}
        self._edges = _GapPlace(len(gaps), 0, len(present) - 1, self._binding(at_edges))
        self._between = [
            _GapPlace(number, number, number + 1, self._binding({place.name for place in gap.hidden}))
            for number, gap in enumerate(gaps)
        ]
        self._outlines = [*map(outline, gaps), outline(*edges)]
        self._known = [dict[bytes, float]() for _ in range(len(gaps) + 1)]

    def probabilities(self, times: Floats) -> Floats:
        """Of each match, a row with the times of its events in the unit of the delays."""
        found = np.ones(len(times))
        for place in (self._edges, *self._between):
            keys, rows, which = _different(place, times)
            numbers = [self._probability(place, key, row) for key, row in zip(keys, rows, strict=True)]
            found *= np.array(numbers, np.float64)[which]
        return found

    def estimates(self, times: Floats) -> list[tuple[GapOutline, GapEstimate]]:
        """The estimates of the gaps of these matches."""
        found = []
        for place, known in zip((*self._between, self._edges), self._outlines, strict=True):
            if known is not None:
                _, rows, which = _different(place, times)
                own = [self._estimate(place, row) for row in rows]
                columns = zip(*((e.probability, e.independent, e.distances) for e in own), strict=True)
                found.append((known, GapEstimate(*(np.concatenate(column)[which] for column in columns))))
        return found

    def _binding(self, hidden: set[str]) -> Ints:
        """The columns of the steps that bind one of these."""
        pairs = [{bound.later, bound.earlier} for bound in self._scorer.bounds]
        names = {name for pair in pairs if pair & hidden for name in pair - hidden}
        return np.array([n for n, name in enumerate(self._present) if name in names], np.intp)

    def _probability(self, place: _GapPlace, key: bytes, times: Floats) -> float:
        known = self._known[place.number]
        if key not in known:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            (before, after), between, lengths = self._gaps(place, times)
            score = self._scorer.losing.score
            if between is None:
                scored = edge_probability(before, after, score, lengths)
            else:
                scored = gap_probability(between, score, lengths)
            known[key] = scored.probability.item()
        return known[key]

    def _estimate(self, place: _GapPlace, times: Floats) -> GapEstimate:
        (before, after), between, lengths = self._gaps(place, times)
        score = self._scorer.losing.score
        if between is None:
            return estimate_at_edges(before, after, score, lengths)
        return estimate_between(between, score, lengths)

    def _gaps(self, place: _GapPlace, times: Floats) -> tuple[tuple[Gap, Gap], Gap | None, Floats]:
        """The gaps at the edges of one match and the one at a place between events, with the bounds that the match
        sets, and the length of the gap; None where the gaps at the edges are asked for."""
        at = dict(zip(self._present, times.tolist(), strict=True))
        edges, gaps = self._scorer.gaps(at, (times[-1] - times[0]).item())
        before, after = (self._tables.bounded(gap, self._longest) for gap in edges)
        if place.number == len(gaps):
            return (before, after), None, np.array([before.length])
        between = self._tables.bounded(gaps[place.number], self._longest)
        return (before, after), between, np.array([between.length])


def _different(place: _GapPlace, times: Floats) -> tuple[list[bytes], Floats, Ints]:
    """The matches that differ in the gap at a place: a key of each, its times from the beginning of the gap, and the
    number of the one that each match is like."""
    since = times - times[:, place.start : place.start + 1]
    keys = np.ascontiguousarray(since[:, [place.end, *place.binding.tolist()]])
    _, rows, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return [keys[row].tobytes() for row in rows.tolist()], since[rows], which.ravel()

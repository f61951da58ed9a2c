"""The tables of the gaps that estimates of a statement may have: their probabilities, and when lost steps happened.

The probability of a gap depends on its length alone where no time condition binds its hidden steps: it is computed once
for each length, and looked up in a table where there are many. Sets of lost steps have many gaps in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import TypeVar
from weakref import WeakSet

import numpy as np

from foretell.arrays import Floats
from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.gap_estimates import (
    GapEstimate,
    GapOutline,
    estimate_at_edges,
    estimate_between,
    outline,
)
from foretell.events.delays.pattern_gaps import (
    UNBOUNDED,
    Gap,
    PatternPlace,
    edge_probability,
    gap_probability,
    rounded_length,
)
from foretell.events.delays.scores import Score
from foretell.language.checked import CheckedSubscription
from foretell.recover.length_tables import LengthTable

#: A table of probabilities is as near, and one of the logarithms of times within gaps.
_TOLERANCE, _TIME_TOLERANCE = 1e-5, 5e-5

#: These quantiles show where the density of a delay lies. It is narrow where the last is less than so many times the
#: first: then lengths that are chosen without it may all miss it.
_QUANTILES, _NARROW = np.array([0.1, 0.5, 0.9]), math.e

#: In place of a time of 0 where a logarithm is taken.
_SMALLEST = 1e-300

#: Where a run goes on learning, the tables of so many models are kept: those of one batch.
_MOST_MODELS = 8

Made = TypeVar("Made")

#: The tables that are in use, of models that have delays alone.
_IN_USE: WeakSet[GapTables] = WeakSet()


def _tables_of(score: Score, model: DelayModel) -> GapTables:
    """The tables of a model, shared by all engines that have the same delays: those of a restored engine, or of one
    that is explained, are there already."""
    if model.gaps:
        return GapTables(score, model)
    for tables in list(_IN_USE):
        if tables.has(score, model):
            return tables
    tables = GapTables(score, model)
    _IN_USE.add(tables)
    return tables


class ModelTables:
    """The tables of a statement by the model of its delays."""

    def __init__(self, subscription: CheckedSubscription) -> None:
        assert subscription.tree.losing is not None
        self._score = subscription.tree.losing.score
        self._latest: dict[int, tuple[DelayModel, GapTables]] = {}  # while a model is here, no other one has its id

    def of(self, model: DelayModel) -> GapTables:
        if id(model) not in self._latest:
            while len(self._latest) >= _MOST_MODELS:
                del self._latest[next(iter(self._latest))]
            self._latest[id(model)] = model, _tables_of(self._score, model)
        return self._latest[id(model)][1]


class GapTables:
    """The tables of all gaps under one model."""

    def __init__(self, score: Score, model: DelayModel) -> None:
        self._score, self._delays = score, (model.after, model.before)
        self._made: dict[Hashable, object] = {}
        self._gaps: dict[Gap, Gap] = {}
        self._prefixes: dict[tuple[tuple[str, bool, float], tuple[PatternPlace, ...]], Gap] = {}

    def has(self, score: Score, model: DelayModel) -> bool:
        """Whether these are the tables of such a model, which has delays alone."""
        return self._score is score and self._delays == (model.after, model.before)

    def between(self, gap: Gap) -> LengthTable:
        """The probability of a gap between two events present."""
        gap = self._shared(gap)
        return self._table("between", partial(_of_gap, gap, self._score), gap)

    def edges(self, before: Gap, after: Gap) -> LengthTable:
        """The probability of the gaps at both edges."""
        before, after = self._shared(before), self._shared(after)
        return self._table("edges", partial(_of_edges, before, after, self._score), before, after)

    def edge(self, gap: Gap) -> LengthTable:
        """The probability of the gap at one edge."""
        gap = self._shared(gap)
        return self._table("edge", partial(_of_edges, gap, replace(gap, hidden=()), self._score), gap)

    def details_between(self, gap: Gap) -> GapDetails | None:
        gap = self._shared(gap)
        return self._details("details between", partial(estimate_between, gap, self._score), gap)

    def details_at_edges(self, before: Gap, after: Gap) -> GapDetails | None:
        before, after = self._shared(before), self._shared(after)
        return self._details("details at edges", partial(estimate_at_edges, before, after, self._score), before, after)

    def bounded(self, gap: Gap, longest: float) -> Gap:
        """A gap whose lost steps have bounds, with what it shares with all others of its places; without a window, with
        those up to twice as long."""
        free = tuple(replace(place, bounds=UNBOUNDED) for place in gap.hidden)
        if not math.isfinite(longest) and 0 < gap.length < math.inf:
            longest = rounded_length(gap.length)
        return replace(gap, prefix=self._shared(replace(gap, hidden=free, length=longest)))

    def _shared(self, gap: Gap) -> Gap:
        """The same object for equal gaps: it keeps what it has computed, for those with the same first steps, too."""
        if gap not in self._gaps:
            start = (gap.origin, gap.backwards, gap.length)
            shorter = [gap.hidden[:count] for count in range(len(gap.hidden), 0, -1)]
            prefixes = (self._prefixes[start, hidden] for hidden in shorter if (start, hidden) in self._prefixes)
            self._gaps[gap] = shared = replace(gap, prefix=next(prefixes, None))
            self._prefixes.setdefault((start, gap.hidden), shared)
        return self._gaps[gap]

    def _table(self, kind: str, exact: Callable[[Floats], Floats], *gaps: Gap) -> LengthTable:
        return self._once(
            (kind, *gaps),
            lambda: LengthTable(exact, _TOLERANCE, _marks(*gaps), most=gaps[0].length, is_smooth=_is_smooth(*gaps)),
        )

    def _details(self, kind: str, exact: Callable[[Floats], GapEstimate], *gaps: Gap) -> GapDetails | None:
        known = outline(*gaps)
        return None if known is None else self._once((kind, *gaps), lambda: GapDetails(known, exact, *gaps))

    def _once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[return-value]


def _of_edges(before: Gap, after: Gap, score: Score, rooms: Floats) -> Floats:
    return edge_probability(before, after, score, rooms).probability


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


class GapDetails:
    """The estimates of a gap by its length, for the matches that are reported."""

    def __init__(self, known: GapOutline, exact: Callable[[Floats], GapEstimate], *gaps: Gap) -> None:
        self.outline, self._exact, self._width = known, exact, len(known.lost)
        shape = (1 + 2 * self._width,)
        marks, smooth = _marks(*gaps), _is_smooth(*gaps)
        self._rows = LengthTable(self._row, _TIME_TOLERANCE, marks, most=gaps[0].length, is_smooth=smooth, shape=shape)

    def estimates(self, score: LengthTable, lengths: Floats) -> GapEstimate:
        rows = self._rows(lengths)
        distances = np.exp(rows[:, 1:]).reshape(len(rows), self._width, 2)
        return GapEstimate(np.clip(score(lengths), 0.0, 1.0), rows[:, 0] > 0.5, distances)

    def _row(self, lengths: Floats) -> Floats:
        found = self._exact(lengths)
        logs = np.log(np.maximum(found.distances.reshape(len(lengths), 2 * self._width), _SMALLEST))
        return np.concatenate([found.independent[:, None], logs], axis=1)

"""When the next match is to be expected: the shortest interval in which it falls with a given confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import InputError
from foretell.forecast.chain.first_passage import Chain, interval, waiting
from foretell.forecast.chain.probability_table import chains
from foretell.forecast.evaluation.outcomes import Horizon
from foretell.learn.lane_statistics import Lanes
from foretell.learn.settings import Learning
from foretell.learn.sojourns import Sojourns
from foretell.learn.statistics import Statistics

#: More events than this no interval reaches, and no forecast by parts.
FURTHEST = 10_000


@dataclass(frozen=True)
class Asked:
    """How sure an interval shall be, and how far it may reach: so many times the horizon."""

    confidence: float = 0.8
    reach: float = 4.0

    def __post_init__(self) -> None:
        if not _is_number(self.confidence) or not 0 < self.confidence < 1:
            message = f"confidence: expected a number between 0 and 1, found {self.confidence!r}"
            raise InputError("bad-argument", message)
        if not _is_number(self.reach) or not 0 < self.reach < math.inf:
            raise InputError("bad-argument", f"reach: expected a number above 0, found {self.reach!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Expectation:
    """What was known at some point. Lanes are by their numbers; -1 is all of them together."""

    horizon: Horizon
    statistics: Statistics
    settings: Learning
    _known: dict[Any, Any] = field(default_factory=dict, init=False, compare=False)

    def written(self) -> dict[str, Any]:
        """What a snapshot needs of it."""
        some, lasting = self.statistics, self.statistics.sojourns
        return {
            "chain": [some.states, some.contexts, some.counts, some.matched],
            "lanes": [some.lanes.counts, some.lanes.matched],
            "lasting": [getattr(lasting, one.name) for one in fields(lasting)],
        }

    def read(self, state: Mapping[str, Any]) -> Expectation:
        """The one that was written, of the same horizon and settings."""
        counts, matched = state["lanes"]
        lanes = Lanes(tuple(map(str, range(len(counts)))), np.zeros(len(counts), np.int64), counts, matched)
        chain = dict(zip(("states", "contexts", "counts", "matched"), state["chain"], strict=True))
        statistics = replace(self.statistics, **chain, sojourns=Sojourns(*state["lasting"]), lanes=lanes)
        return replace(self, statistics=statistics)

    def intervals(self, lane: Ints, state: Ints, age: Floats, asked: Asked) -> tuple[Floats, Floats]:
        """Where they begin and end, counted from now in the measure of the horizon, for lanes, chain states and how
        long these have lasted. NaN where even all that is in reach is less likely, or too little has been seen."""
        start, end = np.full(len(state), np.nan), np.full(len(state), np.nan)
        known = np.flatnonzero(state < len(self.statistics.states))
        if not len(known):
            return start, end
        ages, number = np.unique(age[known], return_inverse=True)
        which = np.stack([lane[known], state[known], number.reshape(-1)])
        which, back = np.unique(which, axis=1, return_inverse=True)
        waits = self.waiting(which[0], which[1], ages[which[2]], asked.reach)
        found = self.interval(waits, asked)
        start[known], end[known] = found[0][back.reshape(-1)], found[1][back.reshape(-1)]
        return start, end

    def waiting(self, lane: Ints, state: Ints, age: Floats, reach: float) -> Floats:
        """[pair, k]: P(match within k steps) up to so many times the horizon. A step is an event, or a small time."""
        if self.horizon.events is None:
            return np.asarray(self._durations(reach).waiting_at(self.statistics.states[state], age))
        events = min(math.ceil(reach * self.horizon.events), FURTHEST)
        found = np.zeros((len(state), events + 1))
        for one in np.unique(lane).tolist():
            found[lane == one] = self._waiting(one, events)[state[lane == one]]
        return found

    def interval(self, waits: Floats, asked: Asked) -> tuple[Floats, Floats]:
        """Where the intervals of some waiting times begin and end, in the measure of the horizon."""
        first, last = interval(waits, asked.confidence)
        if self.horizon.events is not None:
            return np.where(first > 0, first, np.nan), np.where(last > 0, last, np.nan)
        from foretell.forecast.chain.semi_markov import STEPS

        step = asked.reach * self.horizon.amount / STEPS
        return np.where(last > 0, (first - 1) * step, np.nan), np.where(last > 0, last * step, np.nan)

    def at_horizon(self, waits: Floats, reach: float) -> Floats:
        """How likely a match is until the horizon, of waiting times that go so many times as far."""
        if self.horizon.events is not None:
            return waits[..., min(self.horizon.events, waits.shape[-1] - 1)]
        return waits[..., round((waits.shape[-1] - 1) / reach)]

    def _waiting(self, lane: int, events: int) -> Floats:
        """[chain state, k]. A context that is not believed is as the configuration alone."""
        if (lane, events) in self._known:
            return np.asarray(self._known[lane, events])
        lanes = self.statistics.lanes
        some = slice(lane, lane + 1) if lane >= 0 else slice(0)
        mine = Lanes(lanes.keys[some], lanes.events[some], lanes.counts[some], lanes.matched[some])
        statistics = replace(self.statistics, lanes=mine)
        found = _of_the_last(statistics, events, self.settings)
        if statistics.contexts.any():
            alone = statistics.without_contexts()
            fallback = _of_the_last(alone, events, self.settings)[np.searchsorted(alone.states, statistics.states)]
            found = np.where(np.isnan(found), fallback, found)
        self._known.clear()  # of one lane it can be large
        self._known[lane, events] = found
        return found

    def _durations(self, reach: float) -> Any:
        from foretell.forecast.chain.semi_markov import Durations

        if reach not in self._known:
            whole = reach * self.horizon.amount
            self._known[reach] = Durations.of(self.statistics.sojourns, whole, enough=self.settings.enough)
        return self._known[reach]


def _of_the_last(statistics: Statistics, events: int, settings: Learning) -> Floats:
    """Of the one lane that there is or, where there is none, of all together."""
    every = chains(statistics, settings.enough, settings.strength)
    return waiting(Chain(every.moves[-1], every.match[-1], every.known[-1]), events)

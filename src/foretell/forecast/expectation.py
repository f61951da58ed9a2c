"""When the next match is to be expected: the shortest interval in which it falls with a given confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from foretell.errors import InputError
from foretell.forecast.outcomes import Horizon
from foretell.forecast.passage import Chain, interval, waiting
from foretell.forecast.table import chains
from foretell.learn.lanes import Lanes
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Floats, Ints

#: More events than this no interval reaches.
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

    def intervals(self, lane: Ints, state: Ints, age: Floats, asked: Asked) -> tuple[Floats, Floats]:
        """Where they begin and end, counted from now in the measure of the horizon, for lanes, chain states and how
        long these have lasted. NaN where even all that is in reach is less likely, or too little has been seen."""
        start, end = np.full(len(state), np.nan), np.full(len(state), np.nan)
        known = np.flatnonzero(state < len(self.statistics.states))
        if not len(known):
            return start, end
        which = np.stack([lane[known], state[known], np.zeros(len(known), np.int64)])
        if self.horizon.events is None:
            which[0], ages = -1, np.unique(age[known])
            which[2] = np.searchsorted(ages, age[known])
            which, back = np.unique(which, axis=1, return_inverse=True)
            found = self._in_time(which[1], ages[which[2]], asked)
        else:
            which, back = np.unique(which, axis=1, return_inverse=True)
            found = self._in_events(which[0], which[1], asked)
        start[known], end[known] = found[0][back.reshape(-1)], found[1][back.reshape(-1)]
        return start, end

    def _in_events(self, lane: Ints, state: Ints, asked: Asked) -> tuple[Floats, Floats]:
        assert self.horizon.events is not None
        events = min(math.ceil(asked.reach * self.horizon.events), FURTHEST)
        found = np.zeros((2, len(state)), np.int64)
        for one in np.unique(lane).tolist():
            found[:, lane == one] = interval(self._waiting(one, events)[state[lane == one]], asked.confidence)
        start, end = np.where(found > 0, found, np.nan)
        return start, end

    def _waiting(self, lane: int, events: int) -> Floats:
        """[chain state, k]. A context that is not believed is as the configuration alone."""
        lanes = self.statistics.lanes
        some = slice(lane, lane + 1) if lane >= 0 else slice(0)
        mine = Lanes(lanes.keys[some], lanes.events[some], lanes.counts[some], lanes.matched[some])
        statistics = replace(self.statistics, lanes=mine)
        exact = _of_the_last(statistics, events, self.settings)
        if not statistics.contexts.any():
            return exact
        alone = statistics.without_contexts()
        fallback = _of_the_last(alone, events, self.settings)[np.searchsorted(alone.states, statistics.states)]
        return np.where(np.isnan(exact), fallback, exact)

    def _in_time(self, state: Ints, age: Floats, asked: Asked) -> tuple[Floats, Floats]:
        from foretell.forecast.durations import STEPS, Durations

        reach = asked.reach * self.horizon.amount
        durations = Durations.of(self.statistics.sojourns, reach, enough=self.settings.enough)
        first, last = interval(durations.waiting_at(self.statistics.states[state], age), asked.confidence)
        step = reach / STEPS
        return np.where(last > 0, (first - 1) * step, np.nan), np.where(last > 0, last * step, np.nan)


def _of_the_last(statistics: Statistics, events: int, settings: Learning) -> Floats:
    """Of the one lane that there is or, where there is none, of all together."""
    every = chains(statistics, settings.enough, settings.strength)
    return waiting(Chain(every.moves[-1], every.match[-1], every.known[-1]), events)

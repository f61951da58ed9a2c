"""The interval in which the next match should fall: the shortest one that reaches a given confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import InputError
from foretell.forecast.chain.first_passage import MarkovChain, shortest_interval, waiting_time_cdf
from foretell.forecast.chain.online_counts import weights
from foretell.forecast.chain.probability_table import lane_chains
from foretell.forecast.chain.semi_markov import STEPS, SemiMarkovTable
from foretell.learn.histogram import BINS
from foretell.learn.horizon import Horizon
from foretell.learn.lane_statistics import LaneCounts
from foretell.learn.settings import Learning
from foretell.learn.sojourns import CENSORED, Sojourns
from foretell.learn.statistics import Statistics
from foretell.storage.recorded_values import array, indices

#: The largest number of events that intervals, and forecasts from parts, look ahead.
MAX_EVENTS_AHEAD = 10_000


@dataclass(frozen=True)
class IntervalRequest:
    """The confidence of an interval, and how far it may reach, in multiples of the horizon."""

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
class LookupKeys:
    """The keys by which waiting times are looked up: lane (-1: the pool), chain state, and age of its configuration."""

    lane: Ints
    state: Ints
    age: Floats

    def take(self, rows: Ints) -> LookupKeys:
        return LookupKeys(self.lane[rows], self.state[rows], self.age[rows])


@dataclass(frozen=True)
class WaitingTimeEstimator:
    """Waiting times until the next match, and intervals, from the statistics at some point in time."""

    horizon: Horizon
    statistics: Statistics
    settings: Learning
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, compare=False)

    def snapshot(self) -> dict[str, Any]:
        statistics, sojourns = self.statistics, self.statistics.sojourns
        return {
            "chain": [statistics.states, statistics.contexts, statistics.counts, statistics.matched],
            "lanes": [statistics.lanes.counts, statistics.lanes.matched],
            "lasting": [getattr(sojourns, column.name) for column in fields(sojourns)],
        }

    def restored(self, snapshot: Mapping[str, Any]) -> WaitingTimeEstimator:
        """The estimator of a snapshot, with the horizon and settings of this one."""
        states, contexts, counts, matched = snapshot["chain"]
        states = array(states, np.uint64, (None,), "the states of forecasts")
        size = len(states)
        lane_counts, lane_matched = snapshot["lanes"]
        lane_matched = weights(lane_matched, (None, size))
        statistics = replace(
            self.statistics,
            states=states,
            contexts=indices(contexts, self._contexts, "the contexts of forecasts", (size,)),
            counts=weights(counts, (size, size)),
            matched=weights(matched, (size,)),
            sojourns=_recorded_sojourns(*snapshot["lasting"]),
            lanes=LaneCounts.unnamed(weights(lane_counts, (len(lane_matched), size, size)), lane_matched),
        )
        return replace(self, statistics=statistics)

    @property
    def _contexts(self) -> int:
        return 1 + int(self.statistics.contexts.max(initial=0))

    def intervals(self, keys: LookupKeys, request: IntervalRequest) -> tuple[Floats, Floats]:
        """The start and end of each interval, counted from now in events or time, as the horizon. NaN where the match
        is less likely than the confidence within reach, or too little has been seen."""
        start, end = np.full(len(keys.state), np.nan), np.full(len(keys.state), np.nan)
        known = np.flatnonzero(keys.state < len(self.statistics.states))
        if not len(known):
            return start, end
        ages, age_number = np.unique(keys.age[known], return_inverse=True)
        rows = np.stack([keys.lane[known], keys.state[known], age_number.reshape(-1)])
        (lane, state, age_number), back = np.unique(rows, axis=1, return_inverse=True)
        cdf = self.waiting_times(LookupKeys(lane, state, ages[age_number]), request.reach)
        distinct_start, distinct_end = self.shortest_intervals(cdf, request)
        start[known], end[known] = distinct_start[back.reshape(-1)], distinct_end[back.reshape(-1)]
        return start, end

    def waiting_times(self, keys: LookupKeys, reach: float) -> Floats:
        """[key, k]: P(match within k steps), up to `reach` times the horizon. A step is an event, or a short time."""
        if self.horizon.events is None:
            return self._semi_markov(reach).waiting_time_cdf(self.statistics.states[keys.state], keys.age)
        events = min(math.ceil(reach * self.horizon.events), MAX_EVENTS_AHEAD)
        cdf = np.zeros((len(keys.state), events + 1))
        for lane in np.unique(keys.lane).tolist():
            rows = keys.lane == lane
            cdf[rows] = self._lane_waiting_times(lane, events)[keys.state[rows]]
        return cdf

    def shortest_intervals(self, cdf: Floats, request: IntervalRequest) -> tuple[Floats, Floats]:
        """The start and end of the intervals of waiting times, in events or time, as the horizon."""
        first, last = shortest_interval(cdf, request.confidence)
        if self.horizon.events is not None:
            return np.where(first > 0, first, np.nan), np.where(last > 0, last, np.nan)
        step = request.reach * self.horizon.amount / STEPS
        return np.where(last > 0, (first - 1) * step, np.nan), np.where(last > 0, last * step, np.nan)

    def at_horizon(self, cdf: Floats, reach: float) -> Floats:
        """The probability of a match within the horizon, from waiting times that reach `reach` times as far."""
        if self.horizon.events is not None:
            return cdf[..., min(self.horizon.events, cdf.shape[-1] - 1)]
        return cdf[..., round((cdf.shape[-1] - 1) / reach)]

    def _lane_waiting_times(self, lane: int, events: int) -> Floats:
        """[chain state, k] of one lane. A rare context backs off to its configuration."""
        if (lane, events) in self._cache:
            return np.asarray(self._cache[lane, events])
        lanes = self.statistics.lanes.take(np.array([lane] if lane >= 0 else [], np.int64))
        statistics = replace(self.statistics, lanes=lanes)
        cdf = _last_chain_cdf(statistics, events, self.settings)
        if statistics.contexts.any():
            alone = statistics.without_contexts()
            fallback = _last_chain_cdf(alone, events, self.settings)[np.searchsorted(alone.states, statistics.states)]
            cdf = np.where(np.isnan(cdf), fallback, cdf)
        self._cache.clear()  # one lane's can be large
        self._cache[lane, events] = cdf
        return cdf

    def _semi_markov(self, reach: float) -> SemiMarkovTable:
        if reach not in self._cache:
            horizon = reach * self.horizon.amount
            self._cache[reach] = SemiMarkovTable.of(self.statistics.sojourns, horizon, enough=self.settings.enough)
        table: SemiMarkovTable = self._cache[reach]
        return table


def _recorded_sojourns(
    states: object, source: object, target: object, bins: object, total: object, least: object, most: object
) -> Sojourns:
    masks = array(states, np.uint64, (None,), "the sojourns")
    begins = indices(source, len(masks), "the sojourns")
    size = begins.shape
    return Sojourns(
        masks,
        begins,
        indices(target, len(masks), "the sojourns", size, low=CENSORED),
        weights(bins, (*size, BINS)),
        weights(total, size),
        weights(least, size),
        weights(most, size),
    )


def _last_chain_cdf(statistics: Statistics, events: int, settings: Learning) -> Floats:
    """The waiting times of the only lane or, where there is none, of the pool."""
    chains = lane_chains(statistics, settings.enough, settings.strength)
    return waiting_time_cdf(MarkovChain(chains.moves[-1], chains.match[-1], chains.known[-1]), events)

"""Forecasts worked out beforehand, so that an event costs a look-up: by configuration, context and lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.forecast.passage import ENOUGH, Chain, within
from foretell.learn.calibration import AS_IT_IS, Calibration
from foretell.learn.lanes import shrunk
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Floats, Ints, Words, places

#: The observations that a lane borrows from all lanes, unless set otherwise or estimated (lanes.strength_of).
STRENGTH = 20.0


@dataclass(frozen=True)
class Table:
    """`probability[0, c, x]`: of a match within the horizon from `states[c]` in context x; after it those of the lanes
    `keys`. NaN where too little has been seen. `states` is sorted."""

    states: Words
    keys: tuple[str, ...]
    probability: Floats  # [1 + lanes, configurations, contexts]

    @classmethod
    def of(
        cls,
        statistics: Statistics,
        events: int,
        *,
        enough: float = ENOUGH,
        strength: float = STRENGTH,
        calibration: Calibration = AS_IT_IS,
    ) -> Table:
        """For a horizon of so many events. Where a context is not believed the configuration alone speaks, and where a
        lane's own is not, the pool."""
        alone = statistics.without_contexts()
        found = _by_lane(alone, events, enough, strength)[:, :, None]
        if statistics.contexts.any():
            found = np.repeat(found, int(statistics.contexts.max()) + 1, axis=2)
            number = np.searchsorted(alone.states, statistics.states)
            exact = _by_lane(statistics, events, enough, strength)
            cells = found[:, number, statistics.contexts]
            found[:, number, statistics.contexts] = np.where(np.isnan(exact), cells, exact)
        return cls(alone.states, statistics.lanes.keys, calibration(found))

    def at(self, state: Words, context: Ints, lane: Ints | int = 0) -> Floats:
        """One for each event; a configuration never seen is taken as its furthest partial match alone. `lane` counts
        from 1; 0 is the pool."""
        number = places(self.states, state)
        context = np.where(context < self.probability.shape[2], context, 0)
        found = np.full(len(state), np.nan)
        known = number >= 0
        lanes = np.broadcast_to(lane, len(state))
        found[known] = self.probability[lanes[known], number[known], context[known]]
        return found


def _by_lane(some: Statistics, events: int, enough: float, strength: float) -> Floats:
    """[1 + lanes, chain states]: the pool's, then those of the lanes, which are believed where the pool is."""
    pool = Chain.of(some.counts, some.matched, enough)
    forecasts = within(pool, events)[None]
    if not some.lanes.keys:
        return forecasts
    counts, matched = shrunk(some.lanes, some.counts, some.matched, strength)
    lanes = Chain.of(counts, matched, 0.0)
    lanes = Chain(lanes.moves, lanes.match, np.broadcast_to(pool.known, lanes.match.shape))
    return np.concatenate([forecasts, within(lanes, events)])

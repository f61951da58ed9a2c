"""Forecasts worked out beforehand, so that an event costs a look-up: by configuration, context and lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.forecast.chain.first_passage import ENOUGH, Chain, within
from foretell.learn.calibration import AS_IT_IS, Calibration
from foretell.learn.lane_statistics import shrunk
from foretell.learn.statistics import Statistics
from foretell.learn.trace import places

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
        states, found = _by_context(statistics, lambda some: by_lane(some, events, enough, strength))
        return cls(states, statistics.lanes.keys, calibration(found))

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


def _by_context(statistics: Statistics, found: Callable[[Statistics], Floats]) -> tuple[Words, Floats]:
    """The configurations, and what is found for chain states as [..., configurations, contexts]. Where there is nothing
    for a context (NaN) it is what is found for the configuration alone."""
    alone = statistics.without_contexts()
    table = found(alone)[..., None]
    if statistics.contexts.any():
        table = np.repeat(table, int(statistics.contexts.max()) + 1, axis=-1)
        number = np.searchsorted(alone.states, statistics.states)
        exact = found(statistics)
        fallback = table[..., number, statistics.contexts]
        table[..., number, statistics.contexts] = np.where(np.isnan(exact), fallback, exact)
    return alone.states, table


def by_lane(some: Statistics, events: int, enough: float, strength: float) -> Floats:
    """[1 + lanes, chain states]: the pool's, then those of the lanes."""
    return within(chains(some, enough, strength), events)


def chains(some: Statistics, enough: float, strength: float) -> Chain:
    """The same of the chains. Those of the lanes are believed where the pool's is."""
    counts, matched = shrunk(some.lanes, some.counts, some.matched, strength)
    counts, matched = np.concatenate([some.counts[None], counts]), np.concatenate([some.matched[None], matched])
    every = Chain.of(counts, matched, enough)
    return Chain(every.moves, every.match, np.broadcast_to(every.known[0], every.match.shape))

"""Probability tables: forecasts computed beforehand, by configuration, context and lane, so that an event costs a
look-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.forecast.chain.first_passage import ENOUGH, MarkovChain, match_probability
from foretell.learn.calibration import UNCALIBRATED, Calibration
from foretell.learn.horizon import Horizon
from foretell.learn.lane_statistics import LaneCounts, shrunk_counts
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics
from foretell.learn.trace import find_configurations

#: The default shrinkage strength: the observations that a lane borrows from all lanes.
STRENGTH = 20.0


@dataclass(frozen=True)
class ProbabilityTable:
    """`probability[0, c, x]`: of a match within the horizon from `states[c]` in context x; the following tables are
    those of the lanes `keys`. NaN where too little has been seen. `states` is sorted."""

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
        calibration: Calibration = UNCALIBRATED,
    ) -> ProbabilityTable:
        """For a horizon in events. A rare context backs off to its configuration, a rare state of a lane to the
        pool."""
        states, probability = _by_context(
            statistics, lambda counted: probability_by_lane(counted, events, enough, strength)
        )
        return cls(states, statistics.lanes.keys, calibration(probability))

    def at(self, state: Words, context: Ints, lane: Ints | int = 0) -> Floats:
        """The probability after each event. An unknown configuration backs off to its most advanced partial match
        alone. `lane` counts from 1; 0 is the pool."""
        number = find_configurations(self.states, state)
        context = np.where(context < self.probability.shape[2], context, 0)
        probability = np.full(len(state), np.nan)
        known = number >= 0
        lanes = np.broadcast_to(lane, len(state))
        probability[known] = self.probability[lanes[known], number[known], context[known]]
        return probability


def _by_context(statistics: Statistics, compute: Callable[[Statistics], Floats]) -> tuple[Words, Floats]:
    """The configurations, and the results for chain states as [..., configurations, contexts]. A context without a
    result (NaN) has that of its configuration."""
    alone = statistics.without_contexts()
    table = compute(alone)[..., None]
    if statistics.contexts.any():
        table = np.repeat(table, int(statistics.contexts.max()) + 1, axis=-1)
        number = np.searchsorted(alone.states, statistics.states)
        exact = compute(statistics)
        fallback = table[..., number, statistics.contexts]
        table[..., number, statistics.contexts] = np.where(np.isnan(exact), fallback, exact)
    return alone.states, table


def probability_by_lane(statistics: Statistics, events: int, enough: float, strength: float) -> Floats:
    """[1 + lanes, chain states]: of the pool, then of each lane."""
    return match_probability(lane_chains(statistics, enough, strength), events)


def lane_chains(statistics: Statistics, enough: float, strength: float) -> MarkovChain:
    """The chains of the pool and of each lane. States of a lane are known where those of the pool are."""
    counts, matched = shrunk_counts(statistics.lanes, statistics.counts, statistics.matched, strength)
    chains = MarkovChain.of(
        np.concatenate([statistics.counts[None], counts]), np.concatenate([statistics.matched[None], matched]), enough
    )
    return MarkovChain(chains.moves, chains.match, np.broadcast_to(chains.known[0], chains.match.shape))


def lookup_tables(
    horizon: Horizon, statistics: Statistics, lanes: LaneCounts, settings: Learning
) -> tuple[Floats, Floats]:
    """The forecaster's look-up table [table, chain state, age], and the lower edges of its ages.

    Table 0 is that of the pool, those after it of single lanes. Only a horizon in time distinguishes ages.
    """
    if horizon.events is None:
        from foretell.forecast.chain.semi_markov import SemiMarkovTable

        passage = SemiMarkovTable.of(statistics.sojourns, horizon.amount, enough=settings.enough)
        # Online statistics number configurations as they come; those of `passage` are sorted.
        return passage.table[np.searchsorted(passage.states, statistics.states)][None], passage.ages
    with_lanes = replace(statistics, lanes=lanes)
    if not statistics.contexts.any():
        by_lane = probability_by_lane(with_lanes, horizon.events, settings.enough, settings.strength)
        return by_lane[..., None], np.zeros(1)
    table = ProbabilityTable.of(with_lanes, horizon.events, enough=settings.enough, strength=settings.strength)
    number = np.searchsorted(table.states, statistics.states)
    return table.probability[:, number, statistics.contexts][..., None], np.zeros(1)

"""How likely a match is until the horizon, from each chain state: what a look-up needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretell.arrays import Floats
from foretell.forecast.chain.probability_table import Table, by_lane
from foretell.forecast.evaluation.outcomes import Horizon
from foretell.learn.lane_statistics import Lanes
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics


def tables(horizon: Horizon, statistics: Statistics, lanes: Lanes, settings: Learning) -> tuple[Floats, Floats]:
    """By table, chain state and age; and where the ages begin.

    The first table is that of all lanes together, those after it of single lanes. Only a horizon in time asks for ages.
    """
    if horizon.events is None:
        from foretell.forecast.chain.semi_markov import Durations

        found = Durations.of(statistics.sojourns, horizon.amount, enough=settings.enough)
        # What is learned on line numbers configurations as they come; in `found` they are sorted.
        return found.table[np.searchsorted(found.states, statistics.states)][None], found.ages
    together = replace(statistics, lanes=lanes)
    if not statistics.contexts.any():
        return by_lane(together, horizon.events, settings.enough, settings.strength)[..., None], np.zeros(1)
    table = Table.of(together, horizon.events, enough=settings.enough, strength=settings.strength)
    number = np.searchsorted(table.states, statistics.states)
    return table.probability[:, number, statistics.contexts][..., None], np.zeros(1)

"""How likely a match is until the horizon, from each chain state: what a look-up needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretell.forecast import passage
from foretell.forecast.outcomes import Horizon
from foretell.forecast.passage import Chain
from foretell.learn.lanes import Lanes, shrunk
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def tables(
    horizon: Horizon, statistics: Statistics, lanes: Lanes, settings: Learning, configuration: Ints
) -> tuple[Floats, Floats]:
    """By table, chain state and age; and where the ages begin.

    The first table is that of all lanes together, those after it of single lanes. Only a horizon in time asks for ages:
    it goes by configurations, of which `configuration` has that of each chain state.
    """
    if horizon.events is None:
        from foretell.forecast.durations import Durations

        found = Durations.of(statistics.sojourns, horizon.amount, enough=settings.enough)
        return found.table[configuration][None], found.ages
    pool = Chain.of(statistics.counts, statistics.matched, settings.enough)
    chances = passage.within(pool, horizon.events)[None]
    if len(lanes.matched):
        own = Chain.of(*shrunk(lanes, statistics.counts, statistics.matched, settings.strength), 0.0)
        each = passage.within(own, horizon.events)
        chances = np.concatenate([chances, np.where(pool.known, each, np.nan)])
    return chances[..., None], np.zeros(1)

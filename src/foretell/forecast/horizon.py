"""Until when a forecast looks, and the tables of how likely a match is until then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.forecast import passage
from foretell.forecast.passage import Chain
from foretell.learn.lanes import Lanes, shrunk
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Horizon:
    """So many events of the lane, or so long: in seconds, or in the units of a plain number."""

    events: int | None = None
    duration: float | None = None

    def tables(
        self, statistics: Statistics, lanes: Lanes, settings: Learning, configuration: Ints
    ) -> tuple[Floats, Floats]:
        """How likely a match is, by table, chain state and age; and where the ages begin.

        The first table is that of all lanes together, those after it of single lanes. Only a duration asks for ages:
        it goes by configurations, of which `configuration` has that of each chain state.
        """
        if self.duration is not None:
            from foretell.forecast import durations
            found, ages = durations.within(statistics.sojourns, self.duration, settings.enough)
            by_age = np.full((len(configuration), len(ages)), np.nan)
            by_age[:] = found[configuration]
            return by_age[None], ages
        assert self.events is not None
        pool = Chain.of(statistics.counts, statistics.matched, settings.enough)
        chances = passage.within(pool, self.events)[None]
        if len(lanes.matched):
            own = Chain.of(*shrunk(lanes, statistics.counts, statistics.matched, settings.strength), 0.0)
            each = passage.within(own, self.events)
            chances = np.concatenate([chances, np.where(pool.known, each, np.nan)])
        return chances[..., None], np.zeros(1)

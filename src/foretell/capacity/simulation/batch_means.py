"""Confidence intervals by batch means: a long run is cut into batches whose means are nearly independent.

When there are twice as many batches as are needed, pairs of them become one: so batches grow with the run, as long as
the precision is not reached. The first batches are not counted, since the net begins with its first marking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import stdtrit

from foretell.arrays import Floats
from foretell.capacity.measures import Measured, TokenGrowth
from foretell.capacity.net.petri_net import PetriNet
from foretell.capacity.simulation.run_state import BatchSums

#: The batches of a finished round, and those at the beginning that are not counted.
BATCHES, WARM_UP = 64, 8

#: Correlation of a batch with the next one from which on batches are too short.
_MOST_CORRELATION = 0.3
#: Correlation beyond which an interval is not widened further.
_MOST_COUNTED = 0.9

#: Tokens of a place that may be the sign of a queue without a steady state, and the least share by which they then grow
#: between quarters of the run. TokenGrowth is even: it neither ends nor was a single burst.
_MANY, _GROWN, _EVENLY = 5_000.0, 0.15, 0.4


def paired(batches: Sequence[BatchSums]) -> list[BatchSums]:
    """Each two batches as one."""
    return [first.plus(second) for first, second in zip(batches[::2], batches[1::2])]


def ratio(
    batches: Sequence[BatchSums],
    total: Callable[[BatchSums], float],
    by: Callable[[BatchSums], float],
    confidence: float,
) -> Measured | None:
    """The ratio of two sums with its interval; None where the second is zero."""
    totals, bys = np.array([total(b) for b in batches]), np.array([by(b) for b in batches])
    if not bys.sum():
        return None
    mean = float(totals.sum() / bys.sum())
    if len(batches) < 2:
        return Measured(mean, math.inf)
    residuals = totals - mean * bys
    variance = float(residuals @ residuals) / (len(batches) - 1) / len(batches)
    # Batches that follow one another tell less than as many independent ones (as in an autoregression of order one).
    follows = min(max(_correlation(residuals), 0.0), _MOST_COUNTED)
    error = math.sqrt(variance * (1 + follows) / (1 - follows)) / float(bys.mean())
    return Measured(mean, error * float(stdtrit(len(batches) - 1, 0.5 + confidence / 2)))


def correlated(
    batches: Sequence[BatchSums], total: Callable[[BatchSums], float], by: Callable[[BatchSums], float]
) -> bool:
    """Whether batches follow those before them, so that the interval would be too narrow."""
    values = np.array([total(b) / max(by(b), 1e-300) for b in batches])
    return _correlation(values - values.mean()) > _MOST_CORRELATION


def _correlation(centred: Floats) -> float:
    """The correlation of each value with the next one."""
    variance = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / variance if variance > 0 else 0.0


def growth_of(net: PetriNet, batches: Sequence[BatchSums]) -> TokenGrowth | None:
    """The place that grows most, if one grows without an end in sight."""
    grown = [TokenGrowth(name, rate) for i, name in enumerate(net.places) if (rate := _growth(batches, i)) > 0]
    return max(grown, key=lambda growth: growth.rate, default=None)


def _growth(batches: Sequence[BatchSums], place: int) -> float:
    """Tokens a second by which a place grows evenly; 0 where it does not."""
    if len(batches) < 8:
        return 0.0
    means: Floats = np.array([batch.area[place] / batch.seconds for batch in batches if batch.seconds])
    quarters = [float(part.mean()) for part in np.array_split(means, 4)[1:]]
    second, third, fourth = quarters
    steps = third - second, fourth - third
    if fourth < _MANY or min(steps) < _GROWN * fourth or min(steps) < _EVENLY * max(steps):
        return 0.0
    return steps[1] / (sum(batch.seconds for batch in batches) / 4)

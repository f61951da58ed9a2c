"""The forecast log of a backtest: after each event the probability of a match and the interval it should fall in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.match_interval import IntervalRequest, LookupKeys, WaitingTimeEstimator


@dataclass
class ForecastLog:
    """`probabilities` and `intervals` hold one item per batch, with a value per event; NaN where nothing was forecast.

    `request` says which intervals to log.
    """

    request: IntervalRequest
    probabilities: list[Floats] = field(default_factory=list)
    intervals: list[tuple[Floats, Floats]] = field(default_factory=list)

    def begin_batch(self, rows: int) -> None:
        self.probabilities.append(np.full(rows, np.nan))
        self.intervals.append((np.full(rows, np.nan), np.full(rows, np.nan)))

    def on_forecasts(self, rows: Ints, probability: Floats, estimator: WaitingTimeEstimator, keys: LookupKeys) -> None:
        made = np.flatnonzero(~np.isnan(probability))
        self.log(rows[made], probability[made], *estimator.intervals(keys.take(made), self.request))

    def log(self, rows: Ints, probability: Floats, start: Floats, end: Floats) -> None:
        self.probabilities[-1][rows] = probability
        starts, ends = self.intervals[-1]
        starts[rows], ends[rows] = start, end

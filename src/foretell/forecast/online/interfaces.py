"""The interfaces of a forecaster: its options, its answers, and the listener to its forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.match_interval import LookupKeys, WaitingTimeEstimator
from foretell.learn.horizon import Horizon
from foretell.learn.settings import Learning


@dataclass(frozen=True)
class ForecasterOptions:
    """The horizon, the `threshold` of notifications, and the settings of learning.

    With `ignore_snapshot`, the forecaster starts from its model even where a snapshot has its state.
    """

    horizon: Horizon
    threshold: float
    settings: Learning
    ignore_snapshot: bool = False


@dataclass(frozen=True)
class CurrentForecasts:
    """The forecast of each process now: probability, start and end of the interval; NaN where there is none."""

    process: Ints
    probability: Floats
    start: Floats
    end: Floats

    @classmethod
    def none(cls) -> CurrentForecasts:
        return cls(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))


class ForecastListener(Protocol):
    """Receives the forecast after each event."""

    def begin_batch(self, rows: int) -> None:
        """A batch of so many events begins."""

    def on_forecasts(self, rows: Ints, probability: Floats, estimator: WaitingTimeEstimator, keys: LookupKeys) -> None:
        """The probabilities after some events of the batch, with the keys by which `estimator` looks up more."""

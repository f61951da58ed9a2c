"""All figures of one subscription's forecasts for one horizon, overall and by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats
from foretell.forecast.evaluation.metrics import (
    Brier,
    Intervals,
    Predictions,
    Reliability,
    auc,
    brier,
    intervals,
    predictions,
    reliability,
)
from foretell.forecast.evaluation.notification_metrics import Alarms, alarms
from foretell.forecast.evaluation.outcomes import Horizon, Waits

THRESHOLDS = np.round(np.arange(0.05, 1.0, 0.05), 2)

#: The keys with most rows are judged by themselves, as many as this.
MOST_KEYS = 100


@dataclass(frozen=True)
class Figures:
    """Of some points: how often a match came, how well the forecasts part the points, how far they may be believed.

    Left out are `censored` points, whose horizon reaches beyond the data, and `silent` ones, at which nothing was
    forecast.
    """

    points: int
    came: int
    censored: int
    silent: int
    auc: float
    brier: Brier
    reliability: Reliability
    predictions: Predictions
    alarms: Alarms
    intervals: Intervals | None = None

    @property
    def rate(self) -> float:
        return self.came / self.points if self.points else float("nan")


@dataclass(frozen=True)
class Judged:
    """`above` is the threshold that the statement asks for, if it does.

    `keys` are the lanes with most rows, most first; there are `more_keys` others.
    """

    subscription: str
    horizon: Horizon
    overall: Figures
    above: float | None = None
    keys: tuple[tuple[str, Figures], ...] = ()
    more_keys: int = 0

    @property
    def shown(self) -> int:
        """The place of the threshold that a table tells of: the one asked for, or one half, or what is nearest."""
        wanted = 0.5 if self.above is None else self.above
        return int(np.abs(self.overall.predictions.thresholds - wanted).argmin())


@dataclass(frozen=True)
class Forecasts:
    """The rows of a trace and what was forecast at each: `probability` is nan where nothing was.

    `interval` is where the interval begins and ends that was forecast, counted from each row in the measure of the
    horizon.
    """

    process: NDArray[np.int64]
    matched: Flags
    waits: Waits
    probability: Floats
    interval: tuple[Floats, Floats] | None = None

    def of(self, rows: Any) -> Forecasts:
        waits = Waits(*(column[rows] for column in self.waits.columns))
        interval = None if self.interval is None else (self.interval[0][rows], self.interval[1][rows])
        return Forecasts(self.process[rows], self.matched[rows], waits, self.probability[rows], interval)

    def figures(self, horizon: Horizon, thresholds: Floats) -> Figures:
        known, forecast = self.waits.known(horizon), ~np.isnan(self.probability)
        said, happened = self.probability[known & forecast], self.waits.happened(horizon)[known & forecast]
        curve = reliability(said, happened)
        to_match, left = self.waits.to_match(horizon), self.waits.left(horizon)
        return Figures(
            len(happened),
            int(happened.sum()),
            int((forecast & ~known).sum()),
            int((~forecast).sum()),
            auc(said, happened),
            brier(said, happened, curve),
            curve,
            predictions(said, happened, thresholds),
            alarms(self.process, self.probability, self.matched, self.waits, horizon, thresholds),
            None if self.interval is None else intervals(*self.interval, to_match, left),
        )


def judged(
    subscription: str,
    horizon: Horizon,
    forecasts: Forecasts,
    *,
    keys: Sequence[str] = (),
    above: float | None = None,
    thresholds: Floats = THRESHOLDS,
) -> Judged:
    """`keys` names the lane of each process."""
    if above is not None:
        thresholds = np.unique(np.append(thresholds, above))
    overall = forecasts.figures(horizon, thresholds)
    lanes, more = _lanes(keys, forecasts.process) if len(set(keys)) > 1 else ([], 0)
    by_key = tuple((key, forecasts.of(rows).figures(horizon, thresholds)) for key, rows in lanes)
    return Judged(subscription, horizon, overall, above, by_key, more)


def _lanes(keys: Sequence[str], process: NDArray[np.int64]) -> tuple[list[tuple[str, Any]], int]:
    """The rows of the lanes with most of them, the processes of one lane together; and how many more lanes have any."""
    names, lane = np.unique(np.asarray(keys), return_inverse=True)
    mine = lane[process]
    count = np.bincount(mine, minlength=len(names))
    rows = np.split(np.argsort(mine, kind="stable"), np.cumsum(count)[:-1])
    present = int((count > 0).sum())
    most = np.argsort(-count, kind="stable")[: min(MOST_KEYS, present)].tolist()
    return [(str(names[k]), rows[k]) for k in most], present - len(most)

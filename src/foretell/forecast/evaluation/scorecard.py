"""The scorecard of a subscription: all metrics of its forecasts for one horizon, overall and by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.display import View, Viewed
from foretell.forecast.evaluation.metrics import (
    BrierScore,
    CalibrationBins,
    ConfusionCounts,
    IntervalMetrics,
    ReliabilityCurve,
    auc,
    brier_score,
    calibration_bins,
    confusion_counts,
    interval_metrics,
    reliability_curve,
)
from foretell.forecast.evaluation.notification_metrics import NotificationMetrics, notification_metrics
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import TimesToMatch

#: The thresholds of the metrics; those below 0.05 are for rare matches.
THRESHOLDS = np.concatenate([[0.001, 0.002, 0.005, 0.01, 0.02], np.round(np.arange(0.05, 1.0, 0.05), 2)])

#: The number of keys, those with most rows, that have metrics of their own.
MAX_KEYS = 100


@dataclass(frozen=True, repr=False)
class Metrics(Viewed):
    """`points` are the forecasts that were compared with their outcomes; at `positives` of them a match came.

    Left out are `censored` points, whose horizon reaches beyond the data, and `silent` points, at which nothing was
    forecast.
    """

    points: int
    positives: int
    censored: int
    silent: int
    auc: float
    brier: BrierScore
    reliability: ReliabilityCurve
    calibration: CalibrationBins
    confusion: ConfusionCounts
    notifications: NotificationMetrics
    intervals: IntervalMetrics | None = None

    @property
    def base_rate(self) -> float:
        return self.positives / self.points if self.points else float("nan")

    def _view(self, rows: int) -> View:
        figures = {
            "points": f"{self.points:,}",
            "base rate": f"{self.base_rate:.3g}",
            "AUC": f"{self.auc:.3f}",
            "Brier": f"{self.brier.score:.3g}",
            "skill": f"{self.brier.skill:.3f}",
            "calibration error": f"{self.reliability.error:.3g}",
            "censored": f"{self.censored:,}",
        }
        return View("Metrics of forecasts", ("", ""), list(figures.items()))


@dataclass(frozen=True, repr=False)
class Scorecard(Viewed):
    """`above` is the threshold of the statement's FORECAST, if it has one.

    `keys` are the lanes with most rows, most first; `more_keys` is the number of all others.
    """

    subscription: str
    horizon: Horizon
    overall: Metrics
    above: float | None = None
    keys: tuple[tuple[str, Metrics], ...] = ()
    more_keys: int = 0

    def _view(self, rows: int) -> View:
        return replace(self.overall._view(rows), title=f"Scorecard of {self.subscription} within {self.horizon}")

    @property
    def table_threshold(self) -> int:
        """The index of the threshold that tables show: the one nearest to `above`, or to one half."""
        wanted = 0.5 if self.above is None else self.above
        return int(np.abs(self.overall.confusion.thresholds - wanted).argmin())


@dataclass(frozen=True)
class ForecastPoints:
    """The rows of a trace with the forecast at each: `probability` is NaN where nothing was forecast.

    `interval` has the start and end of the forecast interval, counted from the row in events or time, as the horizon.
    """

    process: Ints
    matched: Flags
    times: TimesToMatch
    probability: Floats
    interval: tuple[Floats, Floats] | None = None

    def take(self, rows: Any) -> ForecastPoints:
        times = TimesToMatch(*(column[rows] for column in self.times.columns))
        interval = None if self.interval is None else (self.interval[0][rows], self.interval[1][rows])
        return ForecastPoints(self.process[rows], self.matched[rows], times, self.probability[rows], interval)

    def metrics(self, horizon: Horizon, thresholds: Floats) -> Metrics:
        known, forecast = self.times.known(horizon), ~np.isnan(self.probability)
        probability = self.probability[known & forecast]
        happened = self.times.happened(horizon)[known & forecast]
        curve = reliability_curve(probability, happened)
        to_match, left = self.times.to_match(horizon), self.times.left(horizon)
        return Metrics(
            points=len(happened),
            positives=int(happened.sum()),
            censored=int((forecast & ~known).sum()),
            silent=int((~forecast).sum()),
            auc=auc(probability, happened),
            brier=brier_score(probability, happened, curve),
            reliability=curve,
            calibration=calibration_bins(probability, happened),
            confusion=confusion_counts(probability, happened, thresholds),
            notifications=notification_metrics(
                self.process, self.probability, self.matched, self.times, horizon, thresholds
            ),
            intervals=None if self.interval is None else interval_metrics(*self.interval, to_match, left),
        )


def scorecard(
    subscription: str,
    horizon: Horizon,
    points: ForecastPoints,
    *,
    keys: Sequence[str] = (),
    above: float | None = None,
    thresholds: Floats = THRESHOLDS,
) -> Scorecard:
    """`keys` names the lane of each process."""
    if above is not None:
        thresholds = np.unique(np.append(thresholds, above))
    overall = points.metrics(horizon, thresholds)
    lanes, more = _rows_by_key(keys, points.process) if len(set(keys)) > 1 else ([], 0)
    by_key = tuple((key, points.take(rows).metrics(horizon, thresholds)) for key, rows in lanes)
    return Scorecard(subscription, horizon, overall, above, by_key, more)


def _rows_by_key(keys: Sequence[str], process: Ints) -> tuple[list[tuple[str, Any]], int]:
    """The rows of each of the lanes with most rows, and the number of other lanes that have any."""
    names, lane = np.unique(np.asarray(keys), return_inverse=True)
    lane_of_row = lane[process]
    count = np.bincount(lane_of_row, minlength=len(names))
    rows = np.split(np.argsort(lane_of_row, kind="stable"), np.cumsum(count)[:-1])
    present = int((count > 0).sum())
    busiest = np.argsort(-count, kind="stable")[: min(MAX_KEYS, present)].tolist()
    return [(str(names[k]), rows[k]) for k in busiest], present - len(busiest)

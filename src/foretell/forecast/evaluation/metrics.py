"""Metrics of probability forecasts: arrays in, numbers out.

`probability` has a forecast for each point, `happened` whether a match came within its horizon; censored points are
left out beforehand (foretell.learn.outcomes). A point is predicted positive where its probability is at least the
threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints

#: The number of bins of the reliability curve.
BINS = 20


def ratio(part: Any, whole: Any) -> Floats:
    """`part` / `whole`; NaN where the whole is 0."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    result: Floats = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole != 0)
    return result


# ── at a threshold: the curves of P-ToPSS, Figs. 10 and 11 ──


@dataclass(frozen=True)
class ConfusionCounts:
    """The confusion matrix at each threshold."""

    thresholds: Floats
    true_positives: Ints
    false_positives: Ints
    false_negatives: Ints
    true_negatives: Ints

    @property
    def precision(self) -> Floats:
        """The fraction of predicted points that came true; NaN where nothing was predicted."""
        return ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> Floats:
        """The fraction of points that came true which were predicted; NaN where none came true."""
        return ratio(self.true_positives, self.true_positives + self.false_negatives)


def confusion_counts(probability: Floats, happened: Flags, thresholds: Floats) -> ConfusionCounts:
    """
    >>> counts = confusion_counts(np.array([0.2, 0.5, 0.9]), np.array([True, False, True]), np.array([0.5, 0.9]))
    >>> counts.precision.tolist(), counts.recall.tolist()
    ([0.5, 1.0], [0.5, 0.5])
    """

    def at_least_threshold(values: Floats) -> Ints:
        count: Ints = len(values) - np.searchsorted(np.sort(values), thresholds, side="left")
        return count

    true, false = at_least_threshold(probability[happened]), at_least_threshold(probability[~happened])
    positives = int(happened.sum())
    return ConfusionCounts(thresholds, true, false, positives - true, len(happened) - positives - false)


# ── over all thresholds ──


def auc(probability: Floats, happened: Flags) -> float:
    """The area under the ROC curve: how often a positive point has a higher forecast than a negative one.

    Equal forecasts count half. NaN where all points are positive, or none.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    positives = int(happened.sum())
    negatives = len(happened) - positives
    if not positives or not negatives:
        return float("nan")
    _, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # ties share their mean rank
    return float((rank[happened].sum() - positives * (positives + 1) / 2) / (positives * negatives))


# ── calibration ──


@dataclass(frozen=True)
class ReliabilityCurve:
    """For each bin the number of points, their mean forecast, and the observed frequency of a match.

    Bins hold equally many points rather than equal ranges of probability: where matches are rare nearly all forecasts
    are near 0, and bins of equal width would put them into one. Equal forecasts share a bin, so there may be fewer bins
    than asked for.
    """

    count: Ints
    forecast: Floats
    observed: Floats

    @property
    def error(self) -> float:
        """The expected calibration error: the mean absolute difference of forecast and observed frequency."""
        return _weighted_mean(np.abs(self.forecast - self.observed), self.count)


def reliability_curve(probability: Floats, happened: Flags, bins: int = BINS) -> ReliabilityCurve:
    """
    >>> curve = reliability_curve(np.array([0.1, 0.1, 0.1, 0.1, 0.6, 0.6]), np.array([0, 0, 0, 1, 1, 0], bool))
    >>> curve.count.tolist(), curve.forecast.round(2).tolist(), curve.observed.tolist(), round(curve.error, 3)
    ([4, 2], [0.1, 0.6], [0.25, 0.5], 0.133)
    """
    value, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    hits = np.bincount(place, happened, len(value))
    middle = np.cumsum(count) - count / 2
    which = (middle * bins / max(1, len(probability))).astype(np.int64)
    _, number = np.unique(which, return_inverse=True)
    total = np.bincount(number, count)
    forecast, observed = np.bincount(number, count * value), np.bincount(number, hits)
    return ReliabilityCurve(total.astype(np.int64), ratio(forecast, total), ratio(observed, total))


@dataclass(frozen=True)
class CalibrationBins:
    """Ranges of forecasts, from `low` to below `high`, that have points: their number, the mean forecast, and the
    observed frequency of a match.

    The ranges are finer towards 0, so that forecasts of rare matches are told apart: 0.001 from 0.01.
    """

    low: Floats
    high: Floats
    count: Ints
    forecast: Floats
    observed: Floats


_BIN_EDGES = np.array([0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])


def calibration_bins(probability: Floats, happened: Flags) -> CalibrationBins:
    """
    >>> bins = calibration_bins(np.array([0.0005, 0.0006, 0.002, 0.6, 1.0]), np.array([0, 0, 1, 1, 1], bool))
    >>> bins.low.tolist(), bins.high.tolist(), bins.count.tolist(), bins.observed.tolist()
    ([0.0003, 0.001, 0.5, 0.9], [0.001, 0.003, 0.7, 1.0], [2, 1, 1, 1], [0.0, 1.0, 1.0, 1.0])
    """
    size = len(_BIN_EDGES) - 1
    number = np.clip(np.searchsorted(_BIN_EDGES, probability, side="right") - 1, 0, size - 1)
    count = np.bincount(number, minlength=size)
    forecast, hits = np.bincount(number, probability, size), np.bincount(number, happened, size)
    seen = np.flatnonzero(count)
    return CalibrationBins(
        _BIN_EDGES[seen], _BIN_EDGES[seen + 1], count[seen], (forecast[seen] / count[seen]), hits[seen] / count[seen]
    )


@dataclass(frozen=True)
class BrierScore:
    """The mean squared error, with Murphy's decomposition over the bins of the reliability curve.

    score = reliability - resolution + uncertainty + within. `reliability` is the cost of bad calibration, `resolution`
    the gain from telling points apart, `uncertainty` the score of the base rate; `within` is the rest, due to different
    forecasts in one bin: 0 where there are no more distinct forecasts than bins.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float

    @property
    def within(self) -> float:
        return self.score - (self.reliability - self.resolution + self.uncertainty)

    @property
    def skill(self) -> float:
        """The skill score against the base rate: 1 is perfect, 0 no better than always forecasting the base rate."""
        return float(1 - ratio(self.score, self.uncertainty))


def brier_score(probability: Floats, happened: Flags, curve: ReliabilityCurve | None = None) -> BrierScore:
    """
    >>> brier = brier_score(np.array([0.1, 0.1, 0.6, 0.6]), np.array([False, False, True, False]))
    >>> round(brier.score, 3), round(brier.reliability, 3), round(brier.resolution, 4), round(brier.uncertainty, 4)
    (0.135, 0.01, 0.0625, 0.1875)
    """
    curve = curve or reliability_curve(probability, happened)
    base_rate = float(ratio(happened.sum(), len(happened)))
    return BrierScore(
        float(ratio(((probability - happened) ** 2).sum(), len(happened))),
        _weighted_mean((curve.forecast - curve.observed) ** 2, curve.count),
        _weighted_mean((curve.observed - base_rate) ** 2, curve.count),
        base_rate * (1 - base_rate),
    )


def _weighted_mean(values: Floats, weights: Ints) -> float:
    return float(ratio((values * weights).sum(), weights.sum()))


# ── intervals ──


@dataclass(frozen=True)
class IntervalMetrics:
    """Metrics of the intervals in which the next match should fall, as Wayeb defines them (Alevizos and others, 2017).

    `precision` is the fraction that held the match, `spread` their mean length, `distance` the mean distance from the
    point to their start. `censored` intervals reach beyond the data and are left out.
    """

    made: int
    censored: int
    precision: float
    spread: float
    distance: float


def interval_metrics(start: Floats, end: Floats, to_match: Floats, left: Floats) -> IntervalMetrics:
    """From the start and end of each interval, counted from its point; NaN where none was forecast.

    >>> metrics = interval_metrics(np.array([1.0, 2.0, 3.0]), np.array([4.0, 4.0, 9.0]), np.array([2.0, 7.0, np.inf]),
    ...                            np.array([9.0, 8.0, 5.0]))
    >>> metrics.made, metrics.censored, metrics.precision, metrics.spread, metrics.distance
    (2, 1, 0.5, 2.5, 1.5)
    """
    forecast = ~(np.isnan(start) | np.isnan(end))
    known = forecast & (left >= end)
    held = (start <= to_match) & (to_match <= end)
    made = int(known.sum())
    return IntervalMetrics(
        made,
        int(forecast.sum()) - made,
        float(ratio(held[known].sum(), made)),
        float(ratio((end - start)[known].sum(), made)),
        float(ratio(start[known].sum(), made)),
    )

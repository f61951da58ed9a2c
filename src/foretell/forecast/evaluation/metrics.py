"""How good probabilities were, once it is known what came: arrays in, figures out.

`probability` has a forecast for each point, `happened` whether a match came within its horizon. Censored points are
left out before (see outcomes.py). A point is predicted where its probability is at least the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints

#: Of the reliability curve and all that is computed from it.
BINS = 20


def ratio(part: Any, whole: Any) -> Floats:
    """Parts of wholes; nan where there is nothing to take a part of."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    found: Floats = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole != 0)
    return found


# ── against a threshold: the curves of P-ToPSS, Figs. 10 and 11 ──


@dataclass(frozen=True)
class Predictions:
    """For each threshold, how many points were predicted rightly and wrongly, and how many were missed."""

    thresholds: Floats
    true_positives: Ints
    false_positives: Ints
    false_negatives: Ints
    true_negatives: Ints

    @property
    def precision(self) -> Floats:
        """Of what was predicted, how much came; nan where nothing was predicted."""
        return ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> Floats:
        """Of what came, how much was predicted; nan where nothing came."""
        return ratio(self.true_positives, self.true_positives + self.false_negatives)


def predictions(probability: Floats, happened: Flags, thresholds: Floats) -> Predictions:
    """
    >>> found = predictions(np.array([0.2, 0.5, 0.9]), np.array([True, False, True]), np.array([0.5, 0.9]))
    >>> found.precision.tolist(), found.recall.tolist()
    ([0.5, 1.0], [0.5, 0.5])
    """

    def reaching(values: Floats) -> Ints:
        found: Ints = len(values) - np.searchsorted(np.sort(values), thresholds, side="left")
        return found

    hits, alarms = reaching(probability[happened]), reaching(probability[~happened])
    came = int(happened.sum())
    return Predictions(thresholds, hits, alarms, came - hits, len(happened) - came - alarms)


# ── whatever the threshold ──


def auc(probability: Floats, happened: Flags) -> float:
    """The area under the ROC curve: how often a point that came is forecast higher than one that did not.

    Equal forecasts count half. nan where all points came or none.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    came = int(happened.sum())
    others = len(happened) - came
    if not came or not others:
        return float("nan")
    _, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # equal ones share the middle of their ranks
    return float((rank[happened].sum() - came * (came + 1) / 2) / (came * others))


# ── whether they may be taken at their word ──


@dataclass(frozen=True)
class Reliability:
    """The reliability curve: for each bin how many points, what was said on average, how much of it came.

    The bins hold equally many points rather than equal parts of 0..1: where matches are rare nearly all forecasts are
    near 0, and equal widths would put them into one bin. Equal forecasts are never parted, so there may be fewer bins.
    """

    count: Ints
    said: Floats
    came: Floats

    @property
    def error(self) -> float:
        """The expected calibration error: how far the two are apart, over all points."""
        return _mean(np.abs(self.said - self.came), self.count)


def reliability(probability: Floats, happened: Flags, bins: int = BINS) -> Reliability:
    """
    >>> found = reliability(np.array([0.1, 0.1, 0.1, 0.1, 0.6, 0.6]), np.array([0, 0, 0, 1, 1, 0], bool))
    >>> found.count.tolist(), found.said.round(2).tolist(), found.came.tolist(), round(found.error, 3)
    ([4, 2], [0.1, 0.6], [0.25, 0.5], 0.133)
    """
    value, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    hits = np.bincount(place, happened, len(value))
    middle = np.cumsum(count) - count / 2
    which = (middle * bins / max(1, len(probability))).astype(np.int64)
    _, number = np.unique(which, return_inverse=True)
    total = np.bincount(number, count)
    said, came = np.bincount(number, count * value), np.bincount(number, hits)
    return Reliability(total.astype(np.int64), ratio(said, total), ratio(came, total))


@dataclass(frozen=True)
class Brier:
    """The mean squared error, and Murphy's parts of it over the bins of the reliability curve.

    score = reliability - resolution + uncertainty + within. `reliability` is what bad calibration costs, `resolution`
    what telling points apart gains, `uncertainty` what the base rate alone would cost; `within` is what is left since
    forecasts of one bin differ: 0 where there are no more distinct forecasts than bins.
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
        """The part of the base rate's error that the forecasts avoid: 1 is perfect, 0 no better than the base rate."""
        return float(1 - ratio(self.score, self.uncertainty))


def brier(probability: Floats, happened: Flags, curve: Reliability | None = None) -> Brier:
    """
    >>> found = brier(np.array([0.1, 0.1, 0.6, 0.6]), np.array([False, False, True, False]))
    >>> round(found.score, 3), round(found.reliability, 3), round(found.resolution, 4), round(found.uncertainty, 4)
    (0.135, 0.01, 0.0625, 0.1875)
    """
    curve = curve or reliability(probability, happened)
    rate = _mean(happened.astype(np.float64), np.ones(len(happened), np.int64))
    return Brier(
        _mean((probability - happened) ** 2, np.ones(len(happened), np.int64)),
        _mean((curve.said - curve.came) ** 2, curve.count),
        _mean((curve.came - rate) ** 2, curve.count),
        rate * (1 - rate),
    )


def _mean(values: Floats, weights: Ints) -> float:
    return float(ratio((values * weights).sum(), weights.sum()))


# ── intervals ──


@dataclass(frozen=True)
class Intervals:
    """Intervals in which the next match should fall, judged as Wayeb does (Alevizos and others, 2017).

    `precision` is the part of them that held it, `spread` their mean length, `distance` the mean way from the point to
    their beginning. `censored` are those that the data do not decide.
    """

    made: int
    censored: int
    precision: float
    spread: float
    distance: float


def intervals(start: Floats, end: Floats, to_match: Floats, left: Floats) -> Intervals:
    """From where each begins and ends, counted from its point; nan where none was given.

    >>> found = intervals(np.array([1.0, 2.0, 3.0]), np.array([4.0, 4.0, 9.0]), np.array([2.0, 7.0, np.inf]),
    ...                   np.array([9.0, 8.0, 5.0]))
    >>> found.made, found.censored, found.precision, found.spread, found.distance
    (2, 1, 0.5, 2.5, 1.5)
    """
    given = ~(np.isnan(start) | np.isnan(end))
    known = given & (left >= end)
    held = (start <= to_match) & (to_match <= end)
    made = int(known.sum())
    return Intervals(
        made,
        int(given.sum()) - made,
        float(ratio(held[known].sum(), made)),
        float(ratio((end - start)[known].sum(), made)),
        float(ratio(start[known].sum(), made)),
    )

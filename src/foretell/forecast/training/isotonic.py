"""Isotonic calibration: the best rising curve from forecast probabilities to observed outcomes, kept as points.

>>> curve = fit_isotonic(np.array([0.2, 0.2, 0.6, 0.6]), np.array([0, 1, 1, 1]))
>>> curve.points
((0.2, 0.5), (0.6, 1.0))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats, Ints
from foretell.learn.calibration import Calibration

#: The largest number of points of a curve, which is linear between them.
MAX_POINTS = 100


def fit_isotonic(forecast: ArrayLike, happened: ArrayLike, weight: ArrayLike | None = None) -> Calibration:
    """The isotonic regression of outcomes on forecasts. NaN forecasts are ignored."""
    from scipy.optimize import isotonic_regression

    probability, outcome = np.asarray(forecast, np.float64), np.asarray(happened, np.float64)
    weights = np.ones_like(probability) if weight is None else np.asarray(weight, np.float64)
    known = ~np.isnan(probability) & (weights > 0)
    distinct, number = np.unique(probability[known], return_inverse=True)
    if len(distinct) == 0:
        return Calibration()
    total = np.bincount(number, weights[known])
    mean = np.bincount(number, weights[known] * outcome[known]) / total
    fitted = np.clip(isotonic_regression(mean, weights=total).x, 0.0, 1.0)
    kept = _corners(fitted)
    if len(kept) > MAX_POINTS:
        kept = kept[np.linspace(0, len(kept) - 1, MAX_POINTS).round().astype(int)]
    return Calibration(tuple(zip(distinct[kept].tolist(), fitted[kept].tolist())))


def _corners(fitted: Floats) -> Ints:
    """The first and last point of every level of a step curve; those between lie on a line."""
    change = np.diff(fitted) != 0
    return np.flatnonzero(np.append(True, change) | np.append(change, True))

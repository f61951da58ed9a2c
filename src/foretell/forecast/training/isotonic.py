"""Probabilities set right by what came of them: the best rising curve (isotonic regression), kept as points.

>>> said = np.array([0.2, 0.2, 0.6, 0.6])
>>> curve = recalibrated(said, np.array([0, 1, 1, 1]))
>>> curve.points
((0.2, 0.5), (0.6, 1.0))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats
from foretell.learn.calibration import Calibration

#: Points kept of a curve; between them straight lines.
MOST_POINTS = 100


def recalibrated(said: ArrayLike, came: ArrayLike, weight: ArrayLike | None = None) -> Calibration:
    """The curve that fits best what was said and whether it came. What was not said (NaN) does not count."""
    from scipy.optimize import isotonic_regression

    probability, outcome = np.asarray(said, np.float64), np.asarray(came, np.float64)
    weights = np.ones_like(probability) if weight is None else np.asarray(weight, np.float64)
    known = ~np.isnan(probability) & (weights > 0)
    distinct, number = np.unique(probability[known], return_inverse=True)
    if len(distinct) == 0:
        return Calibration()
    total = np.bincount(number, weights[known])
    mean = np.bincount(number, weights[known] * outcome[known]) / total
    fitted = np.clip(isotonic_regression(mean, weights=total).x, 0.0, 1.0)
    kept = _corners(fitted)
    if len(kept) > MOST_POINTS:
        kept = kept[np.linspace(0, len(kept) - 1, MOST_POINTS).round().astype(int)]
    return Calibration(tuple(zip(distinct[kept].tolist(), fitted[kept].tolist())))


def _corners(fitted: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The first and last of every level of a stepped curve: what lies between lies on a line."""
    change = np.diff(fitted) != 0
    return np.flatnonzero(np.append(True, change) | np.append(change, True))

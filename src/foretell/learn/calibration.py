"""A calibration curve maps a raw probability to a calibrated one (forecast/training/isotonic.py fits it).

>>> Calibration(((0.2, 0.5), (0.6, 1.0)))([0.2, 0.4, 0.9]).tolist()
[0.5, 0.75, 1.0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats
from foretell.records import record


@record
class Calibration:
    """A rising piecewise linear curve through `points` (raw, calibrated). Without points it is the identity."""

    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        raw, calibrated = np.array(self.points, np.float64).reshape(-1, 2).T
        if not (np.all((raw >= 0) & (raw <= 1) & (calibrated >= 0) & (calibrated <= 1))):
            raise ValueError("a probability lies between 0 and 1")
        if np.any(np.diff(raw) <= 0) or np.any(np.diff(calibrated) < 0):
            raise ValueError("the points of a calibration must rise")

    def __call__(self, probability: ArrayLike) -> Floats:
        """NaN stays NaN."""
        values = np.asarray(probability, np.float64)
        if not self.points:
            return values
        raw, calibrated = np.array(self.points).T
        return np.where(np.isnan(values), np.nan, np.interp(values, raw, calibrated))

    def then(self, second: Calibration) -> Calibration:
        """This curve followed by a second one."""
        if not self.points:
            return second
        return Calibration(tuple((raw, float(second([calibrated])[0])) for raw, calibrated in self.points))


#: Leaves probabilities as they are.
UNCALIBRATED = Calibration()

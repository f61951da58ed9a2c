"""What a probability becomes once it is known what came of such (forecast/training/isotonic.py finds the curve).

>>> Calibration(((0.2, 0.5), (0.6, 1.0)))([0.2, 0.4, 0.9]).tolist()
[0.5, 0.75, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats


@dataclass(frozen=True)
class Calibration:
    """A rising curve through points. Without any, a probability stays as it is."""

    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        said, came = np.array(self.points, np.float64).reshape(-1, 2).T
        if not (np.all((said >= 0) & (said <= 1) & (came >= 0) & (came <= 1))):
            raise ValueError("a probability lies between 0 and 1")
        if np.any(np.diff(said) <= 0) or np.any(np.diff(came) < 0):
            raise ValueError("the points of a calibration must rise")

    def __call__(self, said: ArrayLike) -> Floats:
        """NaN stays NaN."""
        asked = np.asarray(said, np.float64)
        if not self.points:
            return asked
        before, after = np.array(self.points).T
        return np.where(np.isnan(asked), np.nan, np.interp(asked, before, after))


#: Before anything is known.
AS_IT_IS = Calibration()

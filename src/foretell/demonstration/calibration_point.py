"""Points of a calibration: probabilities that were stated, and how often they were true."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CalibrationPoint:
    """Forecasts or estimates of about one probability: the mean of what they state, and the share that is true."""

    stated: float
    observed: float
    count: int


@dataclass(frozen=True)
class PauseShare:
    """Estimates of pauses of about a length, in hours: the mean of what they state, and the share that is true."""

    hours: float
    stated: float
    observed: float
    count: int

"""All figures of one subscription's forecasts for one horizon, overall and by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.forecast.alarms import Alarms, alarms
from foretell.forecast.judging import (
    Brier,
    Flags,
    Floats,
    Intervals,
    Predictions,
    Reliability,
    auc,
    brier,
    intervals,
    predictions,
    reliability,
)
from foretell.forecast.outcomes import Horizon, Waits

THRESHOLDS = np.round(np.arange(0.05, 1.0, 0.05), 2)

#: The keys with most points are judged by themselves, as many as this.
MOST_KEYS = 100


@dataclass(frozen=True)
class Figures:
    """Of some points: how often a match came, how well the forecasts part the points, how far they may be believed."""

    points: int
    came: int
    auc: float
    brier: Brier
    reliability: Reliability

    @property
    def rate(self) -> float:
        return self.came / self.points if self.points else float("nan")


def figures(probability: Floats, happened: Flags) -> Figures:
    curve = reliability(probability, happened)
    area = auc(probability, happened)
    return Figures(len(happened), int(happened.sum()), area, brier(probability, happened, curve), curve)


@dataclass(frozen=True)
class Judged:
    """`above` is the threshold that the statement asks for, if it does.

    Left out are `censored` points, whose horizon reaches beyond the data, and `silent` ones, at which nothing was
    forecast. `keys` are the lanes with most points; there are `more_keys` others.
    """

    subscription: str
    horizon: Horizon
    overall: Figures
    predictions: Predictions
    alarms: Alarms
    above: float | None = None
    censored: int = 0
    silent: int = 0
    intervals: Intervals | None = None
    keys: tuple[tuple[str, Figures], ...] = ()
    more_keys: int = 0

    @property
    def shown(self) -> int:
        """The place of the threshold that a table tells of: the one asked for, or one half, or what is nearest."""
        wanted = 0.5 if self.above is None else self.above
        return int(np.abs(self.predictions.thresholds - wanted).argmin())


def judged(
    subscription: str,
    horizon: Horizon,
    probability: Floats,
    *,
    process: NDArray[np.int64],
    matched: Flags,
    waits: Waits,
    keys: Sequence[str] = (),
    above: float | None = None,
    thresholds: Floats = THRESHOLDS,
    interval: tuple[Floats, Floats] | None = None,
) -> Judged:
    """From the rows of a trace and what was forecast at each: `probability` is nan where nothing was.

    `keys` names the lane of each process. `interval` is where the interval begins and ends that was forecast, counted
    from each row in the measure of the horizon.
    """
    if above is not None:
        thresholds = np.unique(np.append(thresholds, above))
    known, forecast = waits.known(horizon), ~np.isnan(probability)
    used = known & forecast
    said, happened = probability[used], waits.happened(horizon)[used]
    lanes, more = _by_lane(keys, process[used], said, happened) if len(keys) else ([], 0)
    return Judged(
        subscription,
        horizon,
        figures(said, happened),
        predictions(said, happened, thresholds),
        alarms(process, probability, matched, waits, horizon, thresholds),
        above,
        int((forecast & ~known).sum()),
        int((~forecast).sum()),
        None if interval is None else intervals(*interval, waits.to_match(horizon), waits.left(horizon)),
        tuple(lanes),
        more,
    )


def _by_lane(
    keys: Sequence[str], process: NDArray[np.int64], said: Floats, happened: Flags
) -> tuple[list[tuple[str, Figures]], int]:
    """The lanes with most points, most first, the processes of one lane together; and how many others have any."""
    names, lane = np.unique(np.asarray(keys), return_inverse=True)
    mine = lane[process]
    count = np.bincount(mine, minlength=len(names))
    rows = np.split(np.argsort(mine, kind="stable"), np.cumsum(count)[:-1])
    any_points = int((count > 0).sum())
    most = np.argsort(-count, kind="stable")[: min(MOST_KEYS, any_points)].tolist()
    found = [(str(names[k]), figures(said[rows[k]], happened[rows[k]])) for k in most]
    return found, any_points - len(found)

"""Reasons not to believe a model, as sentences: it is old, the workload has changed, it is badly calibrated.

When a doubt is raised is a choice: where the difference is large enough to matter, and larger than chance makes it.
How often data of the same law raise one was tried on a hundred samples (none did), no more than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats
from foretell.forecast.evaluation.metrics import ratio
from foretell.forecast.evaluation.scorecard import Judged

WORST_ERROR = 0.05  # of calibration
WORST_DRIFT = 0.05  # of transitions: as part of the events
FEWEST = 30  # points that came, and that did not
_DEVIATIONS = 4.0  # of chance


@dataclass(frozen=True)
class Seen:
    """What a model was trained on, or judged on: events, matches, and from when to when."""

    events: float
    matches: float
    first: float
    last: float


def doubts_of_age(name: str, trained: Seen, later: Seen) -> Iterator[str]:
    """Whether a model is stale: the time since its training, and how often matches come now."""
    gap, span = later.first - trained.last, trained.last - trained.first
    if later.events and span > 0 and gap > span:
        yield f"'{name}': stale model: the data begin {gap / span:.1f} times its training's length after its end"
    if not (trained.events and later.events and trained.matches + later.matches):
        return
    rates = trained.matches / trained.events, later.matches / later.events
    pooled = (trained.matches + later.matches) / (trained.events + later.events)
    # Matches come in clusters, so their number varies more than that of coins: twice, as a rule of thumb.
    chance = 2 * np.sqrt(pooled * (1 / trained.events + 1 / later.events))
    larger, smaller = max(rates), min(rates)
    if larger - smaller > _DEVIATIONS * chance and larger > 1.5 * smaller:
        yield f"'{name}': stale model: matches came in {rates[0]:.2%} of events in training, now in {rates[1]:.2%}"


def drift(trained: Floats, later: Floats) -> tuple[float, float]:
    """How far transitions have changed, and how far chance alone would have it.

    Both are counts with a row for each state that is left and a column for each that is reached. The first figure is
    the part of the later events that would have to go elsewhere to be as in training (the total variation distance of
    each row, weighted by its later events); the second what that is on average if nothing has changed.

    >>> same, changed = np.array([[50.0, 50.0]]), np.array([[90.0, 10.0]])
    >>> drift(same, same)[0], round(drift(same, changed)[0], 3)
    (0.0, 0.4)
    """
    before, now = trained.sum(axis=1), later.sum(axis=1)
    both = (before > 0) & (now > 0)
    share = np.where(both, now, 0.0)
    if not share.sum():
        return 0.0, 0.0
    distance = np.abs(ratio(trained, before[:, None]) - ratio(later, now[:, None])).sum(axis=1) / 2
    pooled = ratio(trained + later, (before + now)[:, None])
    # The mean of the absolute value of a difference of two shares, each nearly normal.
    spread = pooled * (1 - pooled) * (ratio(1, before) + ratio(1, now))[:, None]
    chance = np.sqrt(2 / np.pi * np.where(both[:, None], spread, 0.0)).sum(axis=1) / 2
    distance = np.where(both, distance, 0.0)
    return float((distance * share).sum() / share.sum()), float((chance * share).sum() / share.sum())


def doubts_of_drift(name: str, trained: Floats, later: Floats) -> Iterator[str]:
    found, chance = drift(trained, later)
    if found - chance > WORST_DRIFT and found > 2 * chance:
        yield (
            f"'{name}': stale model: {found:.0%} of events go elsewhere than in training ({chance:.0%} would be chance)"
        )


def doubts_of_figures(every: Iterable[Judged]) -> Iterator[str]:
    """What the figures themselves say: bad calibration, forecasts no better than the base rate, too few cases."""
    for one in every:
        overall, where = one.overall, f"'{one.subscription}' within {one.horizon}"
        few = min(overall.came, overall.points - overall.came)
        if not overall.points:
            left_out = f"{overall.censored:,} points are censored, at {overall.silent:,} nothing was forecast"
            yield f"{where}: nothing to judge: {left_out}"
        elif few < FEWEST:
            what = "came true" if few == overall.came else "did not come true"
            yield f"{where}: only {few} of {overall.points:,} points {what}: the figures are rough"
        else:
            error = overall.reliability.error
            if error > WORST_ERROR:
                yield f"{where}: badly calibrated: expected calibration error {error:.3f}; recalibrate, or train anew"
            if overall.brier.skill < 0:
                yield f"{where}: worse than always forecasting the base rate, {overall.rate:.1%}"

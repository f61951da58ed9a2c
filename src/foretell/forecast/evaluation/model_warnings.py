"""Warnings about a model: it was trained on the same events, it is stale, the workload has drifted, its probabilities
are badly calibrated.

A warning needs a difference that is large enough to matter and larger than chance explains. The thresholds are a
choice: on a hundred pairs of samples from the same distribution there was no false warning, and no more was tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats
from foretell.forecast.evaluation.metrics import CalibrationBins, ConfusionCounts, ratio
from foretell.forecast.evaluation.scorecard import Scorecard

MAX_CALIBRATION_ERROR = 0.05
MAX_DRIFT = 0.05  # fraction of events whose transition has changed
MAX_OVERLAP = 0.05  # fraction of events that the model was trained on
MIN_POINTS = 100  # for a warning that no forecast reaches the threshold
MIN_OUTCOMES = 30  # points with a match, and without
_DEVIATIONS = 4.0  # standard deviations that chance does not explain


@dataclass(frozen=True)
class DataSpan:
    """The data a model was trained or tested on: numbers of events and matches, first and last time."""

    events: float
    matches: float
    first: float
    last: float


def overlap_warnings(name: str, known: float | None) -> Iterator[str]:
    """`known` is the share of the backtest's events that are among those of the training; None if it is not known."""
    if known is not None and known > MAX_OVERLAP:
        yield (
            f"'{name}': {known:.0%} of these events were in the training data, so the figures are too good; "
            "backtest on later events"
        )


def staleness_warnings(name: str, trained: DataSpan, later: DataSpan) -> Iterator[str]:
    """Compares the time since training with its length, and the match rate now with that in training."""
    gap, span = later.first - trained.last, trained.last - trained.first
    if later.events and span > 0 and gap > span:
        yield (
            f"'{name}': stale model: training ended before these data by {gap / span:.1f} times the length of its data"
        )
    if not (trained.events and later.events and trained.matches + later.matches):
        return
    rates = trained.matches / trained.events, later.matches / later.events
    pooled = (trained.matches + later.matches) / (trained.events + later.events)
    # Matches come in clusters, so their number varies more than that of independent events: twice, as a rule of thumb.
    chance = 2 * np.sqrt(pooled * (1 / trained.events + 1 / later.events))
    larger, smaller = max(rates), min(rates)
    if larger - smaller > _DEVIATIONS * chance and larger > 1.5 * smaller:
        yield f"'{name}': stale model: {rates[0]:.2%} of events completed a match in training, {rates[1]:.2%} now"


def drift(trained: Floats, later: Floats) -> tuple[float, float]:
    """How far transition probabilities have drifted, and how far chance alone would make them appear to.

    Both arguments are counts with a row for each source state and a column for each target. The first result is the
    fraction of later events that would have to go elsewhere to be as in training: the total variation distance of each
    row, weighted by its later events. The second is the expected value of the first without any drift.

    >>> same, changed = np.array([[50.0, 50.0]]), np.array([[90.0, 10.0]])
    >>> drift(same, same)[0], round(drift(same, changed)[0], 3)
    (0.0, 0.4)
    """
    before, now = trained.sum(axis=1), later.sum(axis=1)
    both = (before > 0) & (now > 0)
    weight = np.where(both, now, 0.0)
    if not weight.sum():
        return 0.0, 0.0
    distance = np.abs(ratio(trained, before[:, None]) - ratio(later, now[:, None])).sum(axis=1) / 2
    pooled = ratio(trained + later, (before + now)[:, None])
    # The mean absolute difference of two proportions, each approximately normal.
    spread = pooled * (1 - pooled) * (ratio(1, before) + ratio(1, now))[:, None]
    chance = np.sqrt(2 / np.pi * np.where(both[:, None], spread, 0.0)).sum(axis=1) / 2
    distance = np.where(both, distance, 0.0)
    return float((distance * weight).sum() / weight.sum()), float((chance * weight).sum() / weight.sum())


def drift_warnings(name: str, trained: Floats, later: Floats) -> Iterator[str]:
    distance, chance = drift(trained, later)
    if distance - chance > MAX_DRIFT and distance > 2 * chance:
        yield (
            f"'{name}': stale model: {distance:.0%} of transitions differ from training "
            f"({chance:.0%} expected by chance)"
        )


def _bin_warnings(where: str, bins: CalibrationBins) -> Iterator[str]:
    """The range of forecasts that is worst calibrated, where more than twice as many came true, or less than half.

    Where matches are rare, such forecasts hardly show in the calibration error, which is a mean over all points.
    """
    expected, came = bins.forecast * bins.count, bins.observed * bins.count
    # Outcomes come in clusters, so their number varies more than that of independent ones: twice, as a rule of thumb.
    surprise = np.abs(came - expected) / np.sqrt(np.maximum(4 * expected, 1.0))
    wrong = (np.maximum(came, expected) >= MIN_OUTCOMES) & (surprise > _DEVIATIONS)
    wrong &= (came > 2 * expected) | (2 * came < expected)
    if wrong.any():
        k = int(np.argmax(np.where(wrong, surprise, 0.0)))
        yield (
            f"{where}: badly calibrated from {bins.low[k]:g} to {bins.high[k]:g}: {bins.forecast[k]:.2g} forecast, "
            f"{bins.observed[k]:.2g} came true; recalibrate or retrain"
        )


def _threshold_warnings(cards: Sequence[Scorecard]) -> Iterator[str]:
    """A threshold of FORECAST that no forecast reaches, within any of the horizons."""
    for name in dict.fromkeys(card.subscription for card in cards):
        own = [card for card in cards if card.subscription == name and card.overall.points >= MIN_POINTS]
        above = own[0].above if own else None
        highest = max((_highest_reached(card.overall.confusion) for card in own), default=0.0)
        if above is not None and highest < own[0].overall.confusion.thresholds[own[0].table_threshold] <= above:
            yield f"'{name}': forecasts reach only {highest:g}: write a lower ABOVE than {above:g}"


def _highest_reached(counts: ConfusionCounts) -> float:
    """The highest threshold that some forecasts reach."""
    return float(counts.thresholds[counts.true_positives + counts.false_positives > 0].max(initial=0.0))


def metric_warnings(scorecards: Iterable[Scorecard]) -> Iterator[str]:
    """Bad calibration, forecasts no better than the base rate, too few outcomes, a threshold that none reaches."""
    cards = list(scorecards)
    for card in cards:
        overall, where = card.overall, f"'{card.subscription}' within {card.horizon}"
        fewest = min(overall.positives, overall.points - overall.positives)
        if not overall.points:
            yield (
                f"{where}: no forecasts to evaluate: {overall.censored:,} points censored, "
                f"{overall.silent:,} without a forecast"
            )
        elif fewest < MIN_OUTCOMES:
            outcome = "came true" if fewest == overall.positives else "did not come true"
            yield f"{where}: only {fewest} of {overall.points:,} points {outcome}: the metrics are rough"
        else:
            error = overall.reliability.error
            if error > MAX_CALIBRATION_ERROR:
                yield f"{where}: badly calibrated: expected calibration error {error:.3f}; recalibrate or retrain"
            else:
                yield from _bin_warnings(where, overall.calibration)
            if overall.brier.skill < 0:
                yield f"{where}: worse than always forecasting the base rate, {overall.base_rate:.1%}"
    yield from _threshold_warnings(cards)

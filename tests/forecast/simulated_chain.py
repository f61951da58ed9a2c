"""A chain whose probabilities are known, simulated: what a model that knows the truth would report."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretell.forecast.evaluation.scorecard import ForecastPoints, Scorecard, scorecard
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import times_to_match


def heat(
    days: int = 2000,
    lanes: int = 8,
    hot: float = 0.6,
    steps: int = 3,
    horizons: tuple[int, ...] = (1, 3, 6),
    distort: Callable[[np.ndarray], np.ndarray] = lambda p: p,
    seed: int = 1,
) -> list[Scorecard]:
    """`a , a , a` over independent days that are hot with a known probability; `distort` spoils the forecasts."""
    random = np.random.default_rng(seed)
    days_hot = random.random((days, lanes)) < hot
    state = np.zeros((days, lanes), int)  # the number of hot days so far, as far as they count
    before = np.zeros(lanes, int)
    for day in range(days):
        before = np.where(days_hot[day], np.minimum(before + 1, steps), 0)
        state[day] = before
    process, ordinal = np.tile(np.arange(lanes), days), np.repeat(np.arange(days), lanes)
    matched = (state == steps).ravel()
    outcome = times_to_match(process, ordinal, ordinal.astype(float), matched)
    found = []
    for events in horizons:
        chances = distort(within(hot, steps, events))
        found.append(
            scorecard(
                "heat",
                Horizon(events=events),
                ForecastPoints(process, matched, outcome, chances[state.ravel()]),
                keys=[f'{{"city": "C{lane}"}}' for lane in range(lanes)],
                above=0.7,
            )
        )
    return found


def within(hot: float, steps: int, events: int) -> np.ndarray:
    """The probability of a match within so many events, from 0 to `steps` hot days in a row: by the last step first."""
    chances = np.zeros(steps + 1)
    for _ in range(events):
        after = np.array([1.0 if s + 1 >= steps else chances[s + 1] for s in range(steps + 1)])
        chances = hot * after + (1 - hot) * chances[0]
    return chances

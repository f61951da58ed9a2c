"""Recalibration: probabilities that were wrong become right, and those that were right stay so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.forecast.training.isotonic import MAX_POINTS, fit_isotonic
from foretell.learn.calibration import UNCALIBRATED, Calibration
from tests.learn.traces import quick


def test_what_was_said_too_boldly_is_set_right() -> None:
    random = np.random.default_rng(0)
    forecasts = random.random(100_000)
    came = random.random(100_000) < forecasts**2
    curve = fit_isotonic(forecasts[:50_000], came[:50_000])
    later, outcome = curve(forecasts[50_000:]), came[50_000:]
    bins = (later * 10).astype(int)
    for b in range(10):
        assert later[bins == b].mean() == pytest.approx(outcome[bins == b].mean(), abs=0.03)
    assert np.mean((later - outcome) ** 2) < np.mean((forecasts[50_000:] - outcome) ** 2) - 0.01
    assert len(curve.points) <= MAX_POINTS


def test_what_was_right_stays_so() -> None:
    random = np.random.default_rng(1)
    forecasts = random.random(100_000)
    curve = fit_isotonic(forecasts, random.random(100_000) < forecasts)
    asked = np.linspace(0.05, 0.95, 19)
    assert curve(asked) == pytest.approx(asked, abs=0.04)


@quick
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40))
def test_it_rises_within_0_and_1(forecasts: list[tuple[float, bool]]) -> None:
    curve = fit_isotonic(np.array([p for p, _ in forecasts]), np.array([c for _, c in forecasts]))
    found = curve(np.linspace(0, 1, 101))
    assert np.all((found >= 0) & (found <= 1))
    assert np.all(np.diff(found) >= -1e-12)


def test_what_was_not_said() -> None:
    curve = fit_isotonic([0.5, np.nan, 0.5], [1, 0, 0])
    assert curve.points == ((0.5, 0.5),)
    assert np.isnan(curve(np.nan))
    assert fit_isotonic([np.nan], [1]) == UNCALIBRATED
    assert UNCALIBRATED([0.3]).tolist() == [0.3]


def test_weights() -> None:
    assert fit_isotonic([0.5, 0.5], [1, 0], [3.0, 1.0]).points == ((0.5, 0.75),)


@pytest.mark.parametrize("points", [((0.5, 0.5), (0.5, 0.6)), ((0.1, 0.6), (0.2, 0.5)), ((-0.1, 0.6),), ((0.1, 1.6),)])
def test_points_that_are_no_curve(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match=r"calibration|probability"):
        Calibration(points)

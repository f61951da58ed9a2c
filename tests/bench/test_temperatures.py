"""Temperatures have seasons and autocorrelation, and are reproducible."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.bench.workloads.temperatures import CLASSES, HEAT, temperatures

CITIES, DAYS = 60, 4 * 365


def by_day(**options: object) -> np.ndarray:
    table = temperatures(CITIES, DAYS, **options)  # type: ignore[arg-type]
    found: np.ndarray = table["temp"].to_numpy().reshape(-1, CITIES)
    return found


def test_seasons() -> None:
    daily = by_day()
    year = daily[: 3 * 365].reshape(3, 365, CITIES).mean(axis=0)
    smooth = np.array([np.roll(year, shift, axis=0) for shift in range(-15, 16)]).mean(axis=0)
    warmest = smooth.argmax(axis=0)
    north = (warmest > 150) & (warmest < 250)
    assert 0.6 < north.mean() < 0.95  # the others have their summer in January
    assert (smooth.max(axis=0) - smooth.min(axis=0) > 5).mean() > 0.9


@pytest.mark.parametrize(("kept", "first"), [((0.75,), 0.75), ((0.5, 0.3), 0.5 / 0.7)])
def test_memory(kept: tuple[float, ...], first: float) -> None:
    """What is left without the season has the autocorrelation that an autoregression has by the Yule–Walker law."""
    daily = by_day(kept=kept)
    angle = 2 * np.pi * np.arange(DAYS) / 365.25
    season = np.stack([np.ones(DAYS), np.cos(angle), np.sin(angle)], axis=1)
    left = daily - season @ np.linalg.lstsq(season, daily, rcond=None)[0]
    found = (left[1:] * left[:-1]).mean(axis=0) / (left**2).mean(axis=0)
    assert found.mean() == pytest.approx(first, abs=0.03)
    assert 2 < left.std(axis=0).mean() < 4.5


def test_the_same_seed_is_the_same_and_later_days_follow() -> None:
    whole = temperatures(5, 100, seed=3)
    assert whole.equals(temperatures(5, 100, seed=3))
    assert not whole.equals(temperatures(5, 100, seed=4))
    assert temperatures(5, 40, first=60, seed=3).equals(whole.slice(60 * 5))


def test_heat_waves_are_found() -> None:
    daily = by_day(seed=1)
    hot = daily > 30
    runs = sum(int(hot[k : k + 5].all(axis=0).sum()) for k in range(DAYS - 4))
    assert runs > 100
    found = ft.run(HEAT.format(forecast=""), {"days": temperatures(CITIES, DAYS, seed=1)}, engine="embedded")
    assert len(found) == runs


def test_classes_part_all_days() -> None:
    daily = by_day()
    shares = [float((daily > float(c.split()[-1])).mean()) for c in CLASSES]
    assert 0 < shares[0] < shares[1] < shares[2] < 1

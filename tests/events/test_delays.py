"""The distributions of delays against SciPy's own, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

from foretell.errors import InputError
from foretell.events.delays import Delay, Timing

TIMES = np.array([0.0, 0.1, 1.0, 2.5, 7.0, 40.0])


@pytest.mark.parametrize(
    ("description", "law"),
    [
        ({"distribution": "exponential", "mean": 2.0}, stats.expon(scale=2.0)),
        ({"distribution": "gamma", "shape": 2.5, "scale": 3.0}, stats.gamma(2.5, scale=3.0)),
        ({"distribution": "weibull", "shape": 1.5, "scale": 3.0}, stats.weibull_min(1.5, scale=3.0)),
        ({"distribution": "lognormal", "median": 2.0, "sigma": 0.7}, stats.lognorm(0.7, scale=2.0)),
        ({"distribution": "uniform", "low": 1, "high": 4}, stats.uniform(1, 3)),
    ],
)
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_is_the_law_by_that_name(description: dict[str, Any], law: Any, share: float) -> None:
    delay = Delay.of({**description, "share": share})
    assert delay.cdf(TIMES) == pytest.approx(share * law.cdf(TIMES))
    assert law.cdf(delay.reach) == pytest.approx(1.0, abs=1e-11)


def test_points_are_joined_by_straight_lines() -> None:
    delay = Delay.of({"distribution": "points", "points": [[0, 0], [10, 0.5], [20, 0.8]]})
    assert delay.cdf([5, 10, 15, 99]) == pytest.approx([0.25, 0.5, 0.65, 0.8])


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ({"distribution": "gama"}, "unknown distribution 'gama' of a delay\n  hint: did you mean 'gamma'?"),
        ({"distribution": "exponential"}, "the delay 'exponential' is given by mean and share"),
        ({"distribution": "exponential", "mean": 0}, "the delay 'exponential' cannot be: mean is 0"),
        ({"distribution": "exponential", "mean": "x"}, "the delay 'exponential' cannot be: mean is 'x'"),
        ({"distribution": "exponential", "mean": 1, "share": 2}, "the share of a delay lies between 0 and 1, found 2"),
        ({"distribution": "uniform", "low": 3, "high": 2}, "the delay 'uniform' cannot be: low is 3.0, high 2.0"),
        ({"distribution": "points", "points": [[0, 1], [1, 0]]}, "the delay 'points' cannot be: points must rise"),
        ({"distribution": "points", "points": 3}, "the delay 'points' cannot be: points are pairs of time and"),
    ],
)
def test_refuses(description: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Delay.of(description)


def test_timing_has_two_sides() -> None:
    with pytest.raises(InputError, match="delays stand under 'after' or 'before', found 'next'"):
        Timing.of({"next": {}})

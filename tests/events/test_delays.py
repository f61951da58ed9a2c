"""Delay distributions against SciPy's, and the descriptions that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.distributions import DelayDistribution

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
def test_cdf_equals_scipy(description: dict[str, Any], law: Any, share: float) -> None:
    delay = DelayDistribution.of({**description, "share": share})
    assert delay.cdf(TIMES) == pytest.approx(share * law.cdf(TIMES))
    assert law.cdf(delay.reach) == pytest.approx(1.0, abs=1e-11)


def test_points_are_joined_by_straight_lines() -> None:
    delay = DelayDistribution.of({"distribution": "points", "points": [[0, 0], [10, 0.5], [20, 0.8]]})
    assert delay.cdf([5, 10, 15, 99]) == pytest.approx([0.25, 0.5, 0.65, 0.8])


SHARE = "the share of a delay must be between 0 and 1, found "
MEAN = "invalid delay 'exponential': mean is "
POINTS = "invalid delay 'points': "
PAIRS = f"{POINTS}points must be two or more pairs of time and probability"
NAN, INF = float("nan"), float("inf")


def exponential(mean: object = 1, **more: object) -> dict[str, object]:
    return {"distribution": "exponential", "mean": mean, **more}


def points(*pairs: object) -> dict[str, object]:
    return {"distribution": "points", "points": list(pairs)}


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"distribution": "exponential"}, "the delay 'exponential' takes the parameters mean and share"),
        (exponential(0), f"{MEAN}0"),
        (exponential("x"), f"{MEAN}'x'"),
        (exponential(NAN), f"{MEAN}nan"),
        (exponential(INF), f"{MEAN}inf"),
        (exponential(None), f"{MEAN}None"),
        (exponential(True), f"{MEAN}true"),
        (exponential(10**400), f"{MEAN}1{'0' * 58}…"),
        (exponential(10**5000), f"{MEAN}a very long number"),
        (exponential(1e308), "invalid delay 'exponential': it would take inf"),
        (exponential(share=2), f"{SHARE}2"),
        (exponential(share=True), f"{SHARE}true"),
        (exponential(share=NAN), f"{SHARE}nan"),
        (exponential(share=None), f"{SHARE}None"),
        (exponential(share=10**400), f"{SHARE}1{'0' * 58}…"),
        ({"distribution": "gamma", "shape": INF, "scale": 1}, "invalid delay 'gamma': shape is inf"),
        ({"distribution": "weibull", "shape": 1e-9, "scale": 1}, "invalid delay 'weibull': it would take inf"),
        (
            {"distribution": "lognormal", "median": 1, "sigma": 1e9},
            "invalid delay 'lognormal': it would take inf",
        ),
        ({"distribution": "uniform", "low": 3, "high": 2}, "invalid delay 'uniform': low is 3.0, high 2.0"),
        ({"distribution": "uniform", "low": NAN, "high": 2}, "invalid delay 'uniform': low is nan"),
        ({"distribution": "points", "points": 3}, PAIRS),
        ({"distribution": "points", "points": "ab"}, PAIRS),
        (points([0, 0]), PAIRS),
        (points([0, 0], [1]), PAIRS),
        (points([0, 0], "ab"), PAIRS),
        (points([0, 1], [1, 0]), f"{POINTS}the times and probabilities of points must rise"),
        (points([-1, 0], [1, 1]), f"{POINTS}the times and probabilities of points must rise"),
        (points([0, None], [1, 1]), f"{POINTS}a probability is None"),
        (points([0, NAN], [1, 1]), f"{POINTS}a probability is nan"),
        (points([0, 0], [INF, 1]), f"{POINTS}a time is inf"),
        (points([0, "0"], [1, 1]), f"{POINTS}a probability is '0'"),
        (points([0, -0.5], [1, 1]), f"{POINTS}a probability must be between 0 and 1"),
        (points([0, 0.5], [1, 1.5]), f"{POINTS}a probability must be between 0 and 1"),
    ],
)
def test_invalid_descriptions_are_refused(description: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        DelayDistribution.of(description)
    assert (caught.value.code, caught.value.message) == ("bad-delay", message)
    assert caught.value.hint


def test_an_unknown_distribution() -> None:
    with pytest.raises(InputError) as caught:
        DelayDistribution.of({"distribution": "gama"})
    assert str(caught.value) == "unknown delay distribution 'gama'\n  hint: did you mean 'gamma'?"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "description",
    [
        exponential(1e-300),
        {"distribution": "gamma", "shape": 2, "scale": 1e-300},
        {"distribution": "weibull", "shape": 2, "scale": 1e-300},
        {"distribution": "lognormal", "median": 1e-300, "sigma": 1},
        {"distribution": "uniform", "low": 0, "high": 1e-300},
    ],
)
def test_the_smallest_delays_are_over_at_once(description: dict[str, Any]) -> None:
    assert DelayDistribution.of(description).cdf([0.0, 1.0, 1e300]).tolist() == [0.0, 1.0, 1.0]


def test_a_delay_model_has_two_sides() -> None:
    with pytest.raises(InputError, match="expected 'after' or 'before' in the delays, found 'next'"):
        DelayModel.of({"next": {}})

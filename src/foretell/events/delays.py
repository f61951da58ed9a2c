"""How long one event takes to follow another: a distribution that may level off below 1.

`share` is the part of the cases in which the event comes at all, which is what keeps an estimate honest about base
rates (LANGUAGE section 5). A model gives delays by name and parameters, in seconds where time is a TIMESTAMP:

>>> delay = Delay.of({"distribution": "exponential", "mean": 10.0, "share": 0.5})
>>> round(float(delay.cdf(10.0)), 4)
0.3161
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from foretell.errors import InputError, suggestion

Floats = NDArray[np.float64]
Cdf = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Delay:
    """`cdf(t)`: how likely the event comes within t. `reach`: the time by which all that comes has practically come."""

    distribution: str
    parameters: Mapping[str, object]
    share: float
    _cdf: Cdf
    reach: float

    @classmethod
    def of(cls, description: Mapping[str, object]) -> Delay:
        given = dict(description)
        name = str(given.pop("distribution", ""))
        share = given.pop("share", 1.0)
        if name not in _DISTRIBUTIONS:
            raise InputError(
                "unknown-distribution",
                f"unknown distribution '{name}' of a delay",
                hint=suggestion(name, _DISTRIBUTIONS),
            )
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InputError("bad-delay", f"the share of a delay lies between 0 and 1, found {share!r}")
        wanted, make = _DISTRIBUTIONS[name]
        if set(given) != set(wanted):
            raise InputError("bad-delay", f"the delay '{name}' is given by {', '.join(wanted)} and share")
        try:
            cdf, reach = make(given)
        except (TypeError, ValueError) as error:
            raise InputError("bad-delay", f"the delay '{name}' cannot be: {error}") from None
        return cls(name, given, float(share), cdf, reach)

    def cdf(self, time: ArrayLike) -> Floats:
        return np.asarray(self.share * self._cdf(np.maximum(np.asarray(time, float), 0.0)), float)


@dataclass(frozen=True)
class Timing:
    """The delays of one subscription's steps.

    `after[x]` is the time from the positive step before x to x; `before[x]`, seen backwards, the time from the
    positive step after x back to x.
    """

    after: Mapping[str, Delay]
    before: Mapping[str, Delay]

    @classmethod
    def of(cls, description: Mapping[str, object]) -> Timing:
        sides: dict[str, dict[str, Delay]] = {"after": {}, "before": {}}
        for side, delays in description.items():
            if side not in sides or not isinstance(delays, Mapping):
                raise InputError("bad-delay", f"delays stand under 'after' or 'before', found '{side}'")
            sides[side] = {str(step): Delay.of(delay) for step, delay in delays.items()}
        return cls(sides["after"], sides["before"])


Made = tuple[Cdf, float]


#: What comes later than `reach` is left out of account.
_RARE = 1e-12


def _number(given: Mapping[str, object], name: str, *, positive: bool = True) -> float:
    number = given[name]
    if not isinstance(number, int | float) or isinstance(number, bool) or (positive and number <= 0):
        raise ValueError(f"{name} is {number!r}")
    return float(number)


def _exponential(given: Mapping[str, object]) -> Made:
    mean = _number(given, "mean")
    return lambda t: -np.expm1(-t / mean), -mean * np.log(_RARE)


def _gamma(given: Mapping[str, object]) -> Made:
    shape, scale = _number(given, "shape"), _number(given, "scale")
    return lambda t: special.gammainc(shape, t / scale), scale * float(special.gammainccinv(shape, _RARE))


def _weibull(given: Mapping[str, object]) -> Made:
    shape, scale = _number(given, "shape"), _number(given, "scale")
    return lambda t: -np.expm1(-((t / scale) ** shape)), scale * (-np.log(_RARE)) ** (1 / shape)


def _lognormal(given: Mapping[str, object]) -> Made:
    median, sigma = _number(given, "median"), _number(given, "sigma")

    def cdf(at: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(special.ndtr(np.log(at / median) / sigma), float)

    return cdf, median * float(np.exp(-sigma * special.ndtri(_RARE)))


def _uniform(given: Mapping[str, object]) -> Made:
    low, high = _number(given, "low", positive=False), _number(given, "high")
    if not 0 <= low < high:
        raise ValueError(f"low is {low!r}, high {high!r}")
    return lambda t: np.clip((t - low) / (high - low), 0.0, 1.0), high


def _points(given: Mapping[str, object]) -> Made:
    """A learned curve: [time, probability] pairs, straight lines between them."""
    table = np.asarray(given["points"], float)
    if table.ndim != 2 or table.shape[1] != 2 or len(table) < 2:
        raise ValueError("points are pairs of time and probability, two or more")
    time, probability = table.T
    if np.any(np.diff(time) <= 0) or np.any(np.diff(probability) < 0) or time[0] < 0 or probability[-1] > 1:
        raise ValueError("points must rise")

    def cdf(at: Floats) -> Floats:
        return np.asarray(np.interp(at, time, probability, left=0.0), float)

    return cdf, float(time[-1])


_DISTRIBUTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, object]], Made]]] = {
    "exponential": (("mean",), _exponential),
    "gamma": (("shape", "scale"), _gamma),
    "weibull": (("shape", "scale"), _weibull),
    "lognormal": (("median", "sigma"), _lognormal),
    "uniform": (("low", "high"), _uniform),
    "points": (("points",), _points),
}

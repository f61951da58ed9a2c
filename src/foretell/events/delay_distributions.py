"""How long one event takes to follow another: a distribution that may level off below 1.

`share` is the part of the cases in which the event comes at all, which is what keeps an estimate honest about base
rates (LANGUAGE section 5). A model gives delays by name and parameters, in seconds where time is a TIMESTAMP:

>>> delay = DelayDistribution.of({"distribution": "exponential", "mean": 10.0, "share": 0.5})
>>> round(float(delay.cdf(10.0)), 4)
0.3161
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats
from foretell.errors import InputError, suggestion
from foretell.events.ingest.scalar_parsing import display_value

Cdf = Callable[[Floats], Floats]


@dataclass(frozen=True)
class DelayDistribution:
    """`cdf(t)`: how likely the event comes within t. `reach`: the time by which all that comes has practically come."""

    distribution: str
    parameters: Mapping[str, object]
    share: float
    _cdf: Cdf
    reach: float

    @classmethod
    def of(cls, description: Mapping[str, object]) -> DelayDistribution:
        given = dict(description)
        name = str(given.pop("distribution", ""))
        share = given.pop("share", 1.0)
        if name not in _DISTRIBUTIONS:
            raise InputError(
                "unknown-distribution",
                f"unknown distribution '{name}' of a delay",
                hint=suggestion(name, _DISTRIBUTIONS),
            )
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
            raise InputError("bad-delay", f"the share of a delay lies between 0 and 1, found {display_value(share)}")
        wanted, make = _DISTRIBUTIONS[name]
        if set(given) != set(wanted):
            raise InputError("bad-delay", f"the delay '{name}' is given by {', '.join(wanted)} and share")
        try:
            with np.errstate(over="ignore"):
                cdf, reach = make(given)
        except (ValueError, OverflowError) as error:
            raise InputError("bad-delay", f"the delay '{name}' cannot be: {error}") from None
        if not 0 < reach < math.inf:
            raise InputError("bad-delay", f"the delay '{name}' cannot be: it would take {reach:g}")
        return cls(name, given, float(share), cdf, reach)

    def cdf(self, time: ArrayLike) -> Floats:
        # A time far beyond the delay may overflow on the way, and log(0) is on the way to 0.
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(self.share * self._cdf(np.maximum(np.asarray(time, float), 0.0)), float)


@dataclass(frozen=True)
class DelayModel:
    """The delays of one subscription's steps.

    `after[x]` is the time from the positive step before x to x; `before[x]`, seen backwards, the time from the
    positive step after x back to x.
    """

    after: Mapping[str, DelayDistribution]
    before: Mapping[str, DelayDistribution]

    @classmethod
    def of(cls, description: object) -> DelayModel:
        """From a model: `{"after": {step: delay}, "before": {step: delay}}`, where both may be left out."""
        sides: dict[str, dict[str, DelayDistribution]] = {"after": {}, "before": {}}
        for side, delays in _object(description, "its delays").items():
            if side not in sides:
                raise InputError("bad-model", f"delays stand under 'after' or 'before', found '{side}'")
            steps = _object(delays, f"'{side}'")
            sides[side] = {
                str(step): DelayDistribution.of(_object(d, f"the delay of '{step}'")) for step, d in steps.items()
            }
        return cls(sides["after"], sides["before"])


def _object(found: object, what: str) -> Mapping[str, object]:
    if not isinstance(found, Mapping):
        raise InputError("bad-model", f"{what}: expected an object, found {display_value(found)}")
    return found


CdfAndReach = tuple[Cdf, float]


#: What comes later than `reach` is left out of account.
_RARE = 1e-12


def _number(given: Mapping[str, object], name: str, *, positive: bool = True) -> float:
    number = _finite(given[name], name)
    if positive and number <= 0:
        raise ValueError(f"{name} is {display_value(given[name])}")
    return number


def _finite(found: object, name: str) -> float:
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            number = float(found)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"{name} is {display_value(found)}")


def _exponential(given: Mapping[str, object]) -> CdfAndReach:
    mean = _number(given, "mean")
    return lambda t: -np.expm1(-t / mean), -mean * np.log(_RARE)


def _gamma(given: Mapping[str, object]) -> CdfAndReach:
    from scipy import special  # which takes a quarter of a second to load

    shape, scale = _number(given, "shape"), _number(given, "scale")
    return lambda t: special.gammainc(shape, t / scale), scale * float(special.gammainccinv(shape, _RARE))


def _weibull(given: Mapping[str, object]) -> CdfAndReach:
    shape, scale = _number(given, "shape"), _number(given, "scale")
    return lambda t: -np.expm1(-((t / scale) ** shape)), scale * (-np.log(_RARE)) ** (1 / shape)


def _lognormal(given: Mapping[str, object]) -> CdfAndReach:
    from scipy import special

    median, sigma = _number(given, "median"), _number(given, "sigma")
    reach = median * float(np.exp(-sigma * special.ndtri(_RARE)))
    return lambda t: special.ndtr(np.log(t / median) / sigma), reach


def _uniform(given: Mapping[str, object]) -> CdfAndReach:
    low, high = _number(given, "low", positive=False), _number(given, "high")
    if not 0 <= low < high:
        raise ValueError(f"low is {low!r}, high {high!r}")
    return lambda t: np.clip((t - low) / (high - low), 0.0, 1.0), high


def _points(given: Mapping[str, object]) -> CdfAndReach:
    """A learned curve: [time, probability] pairs, straight lines between them."""
    pairs = given["points"]
    if not isinstance(pairs, Sequence) or len(pairs) < 2 or not all(_is_pair(pair) for pair in pairs):
        raise ValueError("points are pairs of time and probability, two or more")
    time = np.array([_finite(t, "a time") for t, _ in pairs])
    probability = np.array([_finite(p, "a probability") for _, p in pairs])
    if time[0] < 0 or np.any(np.diff(time) <= 0) or np.any(np.diff(probability) < 0):
        raise ValueError("points must rise")
    if probability[0] < 0 or probability[-1] > 1:
        raise ValueError("a probability lies between 0 and 1")

    def cdf(at: Floats) -> Floats:
        return np.asarray(np.interp(at, time, probability, left=0.0), float)

    return cdf, float(time[-1])


def _is_pair(found: object) -> bool:
    return isinstance(found, Sequence) and not isinstance(found, str) and len(found) == 2


_DISTRIBUTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, object]], CdfAndReach]]] = {
    "exponential": (("mean",), _exponential),
    "gamma": (("shape", "scale"), _gamma),
    "weibull": (("shape", "scale"), _weibull),
    "lognormal": (("median", "sigma"), _lognormal),
    "uniform": (("low", "high"), _uniform),
    "points": (("points",), _points),
}

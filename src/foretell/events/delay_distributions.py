"""Delay distributions: how long one event takes to follow another, if it follows at all.

`share` is the probability that the event comes at all, so the distribution function levels off there; without it
estimates would ignore base rates. A model has delays by name and parameters, in seconds where time
is a TIMESTAMP:

>>> delay = DelayDistribution.of({"distribution": "exponential", "mean": 10.0, "share": 0.5})
>>> round(float(delay.cdf(10.0)), 4)
0.3161
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats
from foretell.errors import InputError, suggestion
from foretell.events.ingest.scalar_parsing import display_value
from foretell.records import record

Cdf = Callable[[Floats], Floats]


@record
class DelayDistribution:
    """`cdf(t)` is the probability that the event comes within t. `reach` is the time after which it practically never
    comes."""

    distribution: str
    parameters: Mapping[str, object]
    share: float
    _cdf: Cdf
    reach: float

    @classmethod
    def of(cls, description: Mapping[str, object]) -> DelayDistribution:
        parameters = dict(description)
        name = str(parameters.pop("distribution", ""))
        share = parameters.pop("share", 1.0)
        if name not in _DISTRIBUTIONS:
            raise InputError(
                "unknown-distribution",
                f"unknown delay distribution '{name}'",
                hint=suggestion(name, _DISTRIBUTIONS),
            )
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
            raise InputError("bad-delay", f"the share of a delay must be between 0 and 1, found {display_value(share)}")
        names, make = _DISTRIBUTIONS[name]
        if set(parameters) != set(names):
            raise InputError("bad-delay", f"the delay '{name}' takes the parameters {', '.join(names)} and share")
        try:
            with np.errstate(over="ignore"):
                cdf, reach = make(parameters)
        except (ValueError, OverflowError) as error:
            raise InputError("bad-delay", f"invalid delay '{name}': {error}") from None
        if not 0 < reach < math.inf:
            raise InputError("bad-delay", f"invalid delay '{name}': it would take {reach:g}")
        return cls(name, parameters, float(share), cdf, reach)

    def cdf(self, time: ArrayLike) -> Floats:
        # A time far beyond the delay may overflow in between, and log(0) leads to 0.
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(self.share * self._cdf(np.maximum(np.asarray(time, float), 0.0)), float)


@record
class DelayModel:
    """The delays of one subscription's steps.

    `after[x]` is the time from the positive step before x to x; `before[x]` the time from x to the positive step after
    it, counted backwards.
    """

    after: Mapping[str, DelayDistribution]
    before: Mapping[str, DelayDistribution]

    @classmethod
    def of(cls, description: object) -> DelayModel:
        """From the delays in a model: `{"after": {step: delay}, "before": {step: delay}}`; both are optional."""
        sides: dict[str, dict[str, DelayDistribution]] = {"after": {}, "before": {}}
        for side, delays in _object(description, "its delays").items():
            if side not in sides:
                raise InputError("bad-model", f"expected 'after' or 'before' in the delays, found '{side}'")
            steps = _object(delays, f"'{side}'")
            sides[side] = {
                str(step): DelayDistribution.of(_object(d, f"the delay of '{step}'")) for step, d in steps.items()
            }
        return cls(sides["after"], sides["before"])


def _object(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InputError("bad-model", f"{name}: expected an object, found {display_value(value)}")
    return value


CdfAndReach = tuple[Cdf, float]


#: The probability that an event comes after `reach`.
_RARE = 1e-12


def _number(parameters: Mapping[str, object], name: str, *, positive: bool = True) -> float:
    number = _finite(parameters[name], name)
    if positive and number <= 0:
        raise ValueError(f"{name} is {display_value(parameters[name])}")
    return number


def _finite(value: object, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"{name} is {display_value(value)}")


def _exponential(parameters: Mapping[str, object]) -> CdfAndReach:
    mean = _number(parameters, "mean")
    return lambda t: -np.expm1(-t / mean), -mean * np.log(_RARE)


def _gamma(parameters: Mapping[str, object]) -> CdfAndReach:
    from scipy import special  # takes a quarter of a second to load

    shape, scale = _number(parameters, "shape"), _number(parameters, "scale")
    return lambda t: special.gammainc(shape, t / scale), scale * float(special.gammainccinv(shape, _RARE))


def _weibull(parameters: Mapping[str, object]) -> CdfAndReach:
    shape, scale = _number(parameters, "shape"), _number(parameters, "scale")
    return lambda t: -np.expm1(-((t / scale) ** shape)), scale * (-np.log(_RARE)) ** (1 / shape)


def _lognormal(parameters: Mapping[str, object]) -> CdfAndReach:
    from scipy import special

    median, sigma = _number(parameters, "median"), _number(parameters, "sigma")
    reach = median * float(np.exp(-sigma * special.ndtri(_RARE)))
    return lambda t: special.ndtr(np.log(t / median) / sigma), reach


def _uniform(parameters: Mapping[str, object]) -> CdfAndReach:
    low, high = _number(parameters, "low", positive=False), _number(parameters, "high")
    if not 0 <= low < high:
        raise ValueError(f"low is {low!r}, high {high!r}")
    return lambda t: np.clip((t - low) / (high - low), 0.0, 1.0), high


def _points(parameters: Mapping[str, object]) -> CdfAndReach:
    """A learned distribution function: [time, probability] pairs with straight lines between them."""
    pairs = parameters["points"]
    if not isinstance(pairs, Sequence) or len(pairs) < 2 or not all(_is_pair(pair) for pair in pairs):
        raise ValueError("points must be two or more pairs of time and probability")
    time = np.array([_finite(t, "a time") for t, _ in pairs])
    probability = np.array([_finite(p, "a probability") for _, p in pairs])
    if time[0] < 0 or np.any(np.diff(time) <= 0) or np.any(np.diff(probability) < 0):
        raise ValueError("the times and probabilities of points must rise")
    if probability[0] < 0 or probability[-1] > 1:
        raise ValueError("a probability must be between 0 and 1")

    def cdf(at: Floats) -> Floats:
        return np.asarray(np.interp(at, time, probability, left=0.0), float)

    return cdf, float(time[-1])


def _is_pair(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


_DISTRIBUTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, object]], CdfAndReach]]] = {
    "exponential": (("mean",), _exponential),
    "gamma": (("shape", "scale"), _gamma),
    "weibull": (("shape", "scale"), _weibull),
    "lognormal": (("median", "sigma"), _lognormal),
    "uniform": (("low", "high"), _uniform),
    "points": (("points",), _points),
}

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
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats
from foretell.errors import InputError, suggestion
from foretell.events.ingest.scalar_parsing import display_value
from foretell.records import record

Function: TypeAlias = Callable[[Floats], Floats]

#: In place of 0 where a logarithm is taken.
_SMALLEST = 1e-300

#: The quantiles that divide a delay into parts: close to each other in the middle, and far into both tails.
_QUANTILES: Floats = np.concatenate(
    [10.0 ** np.arange(-12, -2), np.linspace(0.01, 0.99, 25), 1 - 10.0 ** np.arange(-3, -13, -1)]
)


@record
class Law:
    """The distribution of a delay that does come: functions of an array of times of at least 0.

    `atom` is a time that has a probability of its own. `kinks` are the times at which the density jumps. `reach` is the
    time after which the event practically never comes.
    """

    cdf: Function
    log_density: Function
    log_survival: Function
    quantile: Function
    reach: float
    kinks: tuple[float, ...] = ()
    atom: tuple[float, float] | None = None


@record
class DelayDistribution:
    """`cdf(t)` is the probability that the event comes within t. `reach` is the time after which it practically never
    comes."""

    distribution: str
    parameters: Mapping[str, object]
    share: float
    law: Law = field(compare=False)

    @classmethod
    def of(cls, description: Mapping[str, object]) -> DelayDistribution:
        parameters = dict(description)
        name = str(parameters.pop("distribution", "") or "")
        share = parameters.pop("share", 1.0)
        if name not in _DISTRIBUTIONS:
            raise InputError(
                "unknown-distribution",
                f"unknown delay distribution '{name}'",
                hint=suggestion(name, _DISTRIBUTIONS) or f"known are {', '.join(_DISTRIBUTIONS)}",
            )
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
            message = f"the share of a delay must be between 0 and 1, found {display_value(share)}"
            raise InputError("bad-delay", message, hint="give the share of cases in which the event comes, such as 0.9")
        names, make = _DISTRIBUTIONS[name]
        if set(parameters) != set(names):
            message = f"the delay '{name}' takes the parameters {', '.join(names)} and share"
            raise InputError("bad-delay", message, hint=_EXAMPLES[name])
        try:
            with np.errstate(over="ignore"):
                law = make(parameters)
        except (ValueError, OverflowError) as error:
            raise InputError("bad-delay", f"invalid delay '{name}': {error}", hint=_EXAMPLES[name]) from None
        if not 0 < law.reach < math.inf:
            raise InputError("bad-delay", f"invalid delay '{name}': it would take {law.reach:g}", hint=_EXAMPLES[name])
        return cls(name, parameters, float(share), law)

    @property
    def reach(self) -> float:
        return self.law.reach

    def cdf(self, time: ArrayLike) -> Floats:
        # A time far beyond the delay may overflow in between, and log(0) leads to 0.
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(self.share * self.law.cdf(np.maximum(np.asarray(time, float), 0.0)), float)

    def log_density(self, time: Floats) -> Floats:
        """The logarithm of the density at times above 0, of what comes at all; -inf where there is none."""
        with np.errstate(all="ignore"):
            log = self.law.log_density(np.maximum(time, _SMALLEST)) + np.log(self.share)
        return np.where((time > 0) & ~np.isnan(log), log, -np.inf)

    def log_survival(self, time: Floats) -> Floats:
        """The logarithm of the probability that the event has not come within a time."""
        with np.errstate(all="ignore"):
            if self.share == 1.0:
                return np.where(time > 0, self.law.log_survival(np.maximum(time, _SMALLEST)), np.log1p(-self.cdf(0.0)))
            return np.log1p(-self.cdf(time))

    @property
    def atom(self) -> tuple[float, float] | None:
        """A time that has a probability of its own, and this probability."""
        return None if self.law.atom is None else (self.law.atom[0], self.law.atom[1] * self.share)

    @cached_property
    def landmarks(self) -> Floats:
        """Times between which the density changes little: its jumps and quantiles."""
        with np.errstate(all="ignore"):
            quantiles = self.law.quantile(_QUANTILES)
        marks = np.concatenate([np.array(self.law.kinks, float), quantiles])
        return np.unique(marks[np.isfinite(marks) & (marks > 0)])


#: The probability that an event comes after `reach`.
_RARE = 1e-12

#: Below this a survival function is no longer exact.
_UNDERFLOW = 1e-290


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


def _exponential(parameters: Mapping[str, object]) -> Law:
    mean = _number(parameters, "mean")
    return Law(
        cdf=lambda t: np.asarray(-np.expm1(-t / mean), float),
        log_density=lambda t: -t / mean - np.log(mean),
        log_survival=lambda t: -t / mean,
        quantile=lambda p: np.asarray(-mean * np.log1p(-p), float),
        reach=-mean * np.log(_RARE),
    )


def _gamma(parameters: Mapping[str, object]) -> Law:
    from scipy import special  # takes a quarter of a second to load

    shape, scale = _number(parameters, "shape"), _number(parameters, "scale")

    def log_density(t: Floats) -> Floats:
        log = (shape - 1) * np.log(t / scale) - t / scale - special.gammaln(shape) - np.log(scale)
        return np.asarray(log, float)

    def log_survival(t: Floats) -> Floats:
        tail = special.gammaincc(shape, t / scale)
        # Far out the survival function underflows. There the delay goes on as an exponential one does.
        far = log_density(t) + np.log(scale) - np.log1p(-(shape - 1) * scale / t)
        return np.where(tail > _UNDERFLOW, np.log(tail), far)

    return Law(
        cdf=lambda t: np.asarray(special.gammainc(shape, t / scale), float),
        log_density=log_density,
        log_survival=log_survival,
        quantile=lambda p: np.asarray(scale * special.gammaincinv(shape, p), float),
        reach=scale * float(special.gammainccinv(shape, _RARE)),
    )


def _weibull(parameters: Mapping[str, object]) -> Law:
    shape, scale = _number(parameters, "shape"), _number(parameters, "scale")
    return Law(
        cdf=lambda t: np.asarray(-np.expm1(-((t / scale) ** shape)), float),
        log_density=lambda t: np.log(shape / scale) + (shape - 1) * np.log(t / scale) - (t / scale) ** shape,
        log_survival=lambda t: -((t / scale) ** shape),
        quantile=lambda p: np.asarray(scale * (-np.log1p(-p)) ** (1 / shape), float),
        reach=scale * (-np.log(_RARE)) ** (1 / shape),
    )


def _lognormal(parameters: Mapping[str, object]) -> Law:
    from scipy import special

    median, sigma = _number(parameters, "median"), _number(parameters, "sigma")

    def standard(t: Floats) -> Floats:
        return np.asarray(np.log(t / median) / sigma, float)

    return Law(
        cdf=lambda t: special.ndtr(standard(t)),
        log_density=lambda t: -(standard(t) ** 2) / 2 - np.log(t) - np.log(sigma * math.sqrt(2 * math.pi)),
        log_survival=lambda t: special.log_ndtr(-standard(t)),
        quantile=lambda p: median * np.exp(sigma * special.ndtri(p)),
        reach=median * float(np.exp(-sigma * special.ndtri(_RARE))),
    )


def _uniform(parameters: Mapping[str, object]) -> Law:
    low, high = _number(parameters, "low", positive=False), _number(parameters, "high")
    if not 0 <= low < high:
        raise ValueError(f"low is {low!r}, high {high!r}")

    def cdf(t: Floats) -> Floats:
        return np.clip((t - low) / (high - low), 0.0, 1.0)

    return Law(
        cdf=cdf,
        log_density=lambda t: np.where((t >= low) & (t <= high), -np.log(high - low), -np.inf),
        log_survival=lambda t: np.log1p(-cdf(t)),
        quantile=lambda p: low + p * (high - low),
        reach=high,
        kinks=(low, high),
    )


def _points(parameters: Mapping[str, object]) -> Law:
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

    def cdf(t: Floats) -> Floats:
        return np.asarray(np.interp(t, time, probability, left=0.0), float)

    with np.errstate(divide="ignore"):
        slopes = np.concatenate([[-np.inf], np.log(np.diff(probability) / np.diff(time)), [-np.inf]])
    return Law(
        cdf=cdf,
        log_density=lambda t: slopes[np.searchsorted(time, t, side="right")],
        log_survival=lambda t: np.log1p(-cdf(t)),
        quantile=lambda p: np.interp(p, probability, time),
        reach=float(time[-1]),
        kinks=tuple(time.tolist()),
        atom=(float(time[0]), float(probability[0])) if probability[0] > 0 else None,
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


_DISTRIBUTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, object]], Law]]] = {
    "exponential": (("mean",), _exponential),
    "gamma": (("shape", "scale"), _gamma),
    "weibull": (("shape", "scale"), _weibull),
    "lognormal": (("median", "sigma"), _lognormal),
    "uniform": (("low", "high"), _uniform),
    "points": (("points",), _points),
}

_EXAMPLES: Mapping[str, str] = {
    name: f'for example {{"distribution": "{name}", {parameters}, "share": 0.9}}'
    for name, parameters in (
        ("exponential", '"mean": 60'),
        ("gamma", '"shape": 2, "scale": 30'),
        ("weibull", '"shape": 1.5, "scale": 60'),
        ("lognormal", '"median": 60, "sigma": 0.5'),
        ("uniform", '"low": 0, "high": 60'),
        ("points", '"points": [[0, 0], [60, 0.9], [300, 1]]'),
    )
}

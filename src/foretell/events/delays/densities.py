"""Densities of arrival times, by their logarithms: mixtures and convolutions of delays.

The error of an integral is below 1e-6, however long the time is beside the delays: integrals are divided at the
quantiles of both delays and geometrically towards both ends, and each half is one of the logarithm of the distance from
its end. So a density that rises without bound at 0 needs no more points than others, and a distance that is far shorter
than the time is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from foretell.arrays import Floats, Ints
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.quadrature import log_integrals
from foretell.events.delays.tables import refined_table, smooth_table
from foretell.records import record

LogValues: TypeAlias = Callable[[Floats], Floats]

#: Towards both ends of an integral panels are an eighth as long as the one before, so many times.
_SHRINKAGE, _SHRUNK = 8, 15

#: The panel nearest to an end reaches so far down in the logarithm of the distance, where what is left does not count:
#: even of a gamma delay of shape 0.1 it is e^-25.
_LOWEST = 250.0

#: So many integrals at once: what they need stays in the cache of the processor.
_AT_ONCE = 32

#: The logarithm of a tabulated density is as near; of one with kinks, which needs ten times the points.
_TOLERANCE, _KINKED_TOLERANCE = 4e-6, 2e-5

#: A convolution has so many landmarks, and so many kinks.
_LANDMARKS = 48

#: In place of the logarithm of 0 where a table is interpolated.
_NOTHING = -1e8

#: Tables have logarithms l as k · arcsinh(l / k): the logarithms of what no float can hold grow with a power of the
#: time or quicker, and these with its logarithm.
_CURVATURE = 700.0


@record
class Density:
    """When something happens, in time from 0: `atoms` are times with the logarithms of their probabilities;
    `landmarks` are times between which `log_density` changes little, `kinks` those at which it is not smooth."""

    log_density: LogValues
    landmarks: Floats
    atoms: tuple[tuple[float, float], ...] = ()
    kinks: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, delay: DelayDistribution, log_weight: LogValues | None = None, weight_kinks: Iterable[float] = ()
    ) -> Density:
        """The density of a delay, times a weight that depends on it."""
        weigh = log_weight or (lambda t: np.zeros_like(t))
        atoms = []
        if delay.atom is not None and delay.atom[1] > 0:
            time, mass = delay.atom
            atoms.append((time, float(np.log(mass) + weigh(np.array([time]))[0])))
        kinks = (*delay.law.kinks, *weight_kinks)
        return cls(lambda t: delay.log_density(t) + weigh(t), delay.landmarks, tuple(atoms), kinks)

    def scaled(self, factor: float) -> Density:
        with np.errstate(divide="ignore"):
            log = float(np.log(factor))
        atoms = tuple((time, mass + log) for time, mass in self.atoms) if factor > 0 else ()
        return Density(lambda t: self.log_density(t) + log, self.landmarks, atoms, self.kinks)

    def cut(self, low: float, high: float) -> Density:
        """Only the times from `low` to `high`."""
        if low <= 0 and high == np.inf:
            return self
        ends = tuple(m for m in (low, high) if 0 < m < np.inf)
        marks = np.unique(np.concatenate([self.landmarks, ends]))
        inside = tuple((time, mass) for time, mass in self.atoms if low <= time <= high)

        def log_density(t: Floats) -> Floats:
            return np.where((t >= low) & (t <= high), self.log_density(t), -np.inf)

        return Density(log_density, marks, inside, (*self.kinks, *ends))

    @property
    def marks(self) -> Floats:
        """The landmarks, and the atoms."""
        return np.concatenate([self.landmarks, [time for time, _ in self.atoms]])

    @property
    def coarse_marks(self) -> Floats:
        """The landmarks that integrals need, whose panels are halved where these are too wide."""
        return self.landmarks if self.kinks else self.landmarks[::2]

    def log_atom(self, time: float) -> float:
        """The logarithm of the probability of this very time."""
        return float(np.logaddexp.reduce([mass for at, mass in self.atoms if at == time] or [-np.inf]))

    def log_mass(self, until: Floats, log_rest: LogValues) -> Floats:
        """The integral from 0 to each of `until` of the density times a function of the rest, until - t."""
        parts = [_log_integrals(self.log_density, log_rest, until, self.coarse_marks, np.empty(0))]
        for at, mass in self.atoms:
            rest = log_rest(np.maximum(until - at, 0.0))
            parts.append(np.where(at <= until, mass + rest, -np.inf))
        return np.asarray(np.logaddexp.reduce(parts, axis=0), float)


def mixture(densities: Sequence[Density]) -> Density:
    marks = np.unique(np.concatenate([d.landmarks for d in densities]))
    atoms = tuple(atom for d in densities for atom in d.atoms)
    kinks = tuple({kink for d in densities for kink in d.kinks})
    return Density(lambda t: np.logaddexp.reduce([d.log_density(t) for d in densities], axis=0), marks, atoms, kinks)


def log_convolution(first: Density, second: Density, times: Floats) -> Floats:
    """The logarithm of the density of the sum of two times, at each of `times`."""
    parts = [_log_integrals(first.log_density, second.log_density, times, first.coarse_marks, second.coarse_marks)]
    parts += [second.log_density(times - at) + mass for at, mass in first.atoms]
    parts += [first.log_density(times - at) + mass for at, mass in second.atoms]
    return np.asarray(np.logaddexp.reduce(parts, axis=0), float)


def _log_integrals(first: LogValues, second: LogValues, times: Floats, marks: Floats, others: Floats) -> Floats:
    """The logarithms of the integrals from 0 to each of `times` of first(t) · second(time - t). Of the first function
    `marks` are landmarks, of the second `others`."""
    blocks = np.split(times, range(_AT_ONCE, len(times), _AT_ONCE))
    return np.concatenate([_log_block(first, second, block, marks, others) for block in blocks])


def _log_block(first: LogValues, second: LogValues, times: Floats, marks: Floats, others: Floats) -> Floats:
    """Each integral has two parts: the half near 0, and that near the end, from which the second function counts."""
    count, twice = len(times), np.tile(times, 2)
    near, far = _log_edges(times, marks, others), _log_edges(times, others, marks)
    edges = np.concatenate([near, far])
    owner, place = np.nonzero(edges[:, 1:] > edges[:, :-1])

    def integrand(number: Ints, log: Floats) -> Floats:
        distance = np.exp(log)
        left, is_near = twice[number] - distance, number < count
        return first(np.where(is_near, distance, left)) + second(np.where(is_near, left, distance)) + log

    return log_integrals(integrand, owner, edges[owner, place], edges[owner, place + 1], count)


def _log_edges(times: Floats, marks: Floats, others: Floats) -> Floats:
    """The logarithms of the distances from one end at which the panels of its half end: at `marks`, which count from
    there, and at `others`, which count from the other end."""
    half = times[:, None] / 2
    geometric = half / _SHRINKAGE ** np.arange(0.0, _SHRUNK + 1)
    edges = np.concatenate([geometric, np.broadcast_to(marks, (len(times), len(marks))), 2 * half - others], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where((edges > 0) & (edges < half), edges, half))
    return np.sort(np.concatenate([logs.min(axis=1, keepdims=True) - _LOWEST, logs], axis=1))


def convolution(first: Density, second: Density, until: float) -> Density:
    """The density of the sum of two times, up to `until`, as a table."""
    atoms = tuple((a + b, p + q) for a, p in first.atoms for b, q in second.atoms)
    if until <= 0:
        return Density(lambda t: np.full_like(t, -np.inf), first.landmarks, atoms)
    sums = np.add.outer(first.landmarks[:: max(1, len(first.landmarks) // 12)], second.landmarks[::4]).ravel()
    kinks = _few(np.add.outer((0.0, *first.kinks), (0.0, *second.kinks)).ravel())
    halves = until * 0.5 ** np.arange(1, 30)
    marks = np.unique(np.concatenate([[until], first.landmarks, second.landmarks, sums, kinks[1:], halves]))
    marks = marks[(marks > 0) & (marks <= until)]
    logs = np.log(np.concatenate([[marks[0] / 2], marks]))
    logs = logs[np.append(True, np.diff(logs) > 0)]

    def exact(log_times: Floats) -> Floats:
        log_density = np.maximum(log_convolution(first, second, np.minimum(np.exp(log_times), until)), _NOTHING)
        return _curved(log_density)

    smooth = not first.kinks and not second.kinks
    interpolated = (
        smooth_table(exact, logs, _TOLERANCE, nothing=float(_curved(_NOTHING)))
        if smooth
        else refined_table(exact, logs, _KINKED_TOLERANCE)
    )
    low, high = interpolated.x[[0, -1]]

    def log_density(t: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            log = np.log(t)
            found = _CURVATURE * np.sinh(interpolated(np.clip(log, low, high)) / _CURVATURE)
        return np.where((t > 0) & (found > _NOTHING / 2), found, -np.inf)

    # Panels are halved where the density changes more between landmarks.
    landmarks = np.union1d(_few(marks), kinks)
    return Density(log_density, landmarks, atoms, tuple(kinks[1:].tolist()))


def _curved(log_density: ArrayLike) -> Floats:
    """A logarithm as tables have it."""
    return np.asarray(_CURVATURE * np.arcsinh(np.asarray(log_density) / _CURVATURE))


def _few(times: Floats) -> Floats:
    """Some of many times, the first among them."""
    times = np.unique(times)
    return times[:: -(-len(times) // _LANDMARKS)]


def panels(until: Floats, landmarks: Floats, from_end: Floats) -> tuple[Ints, Floats, Floats]:
    """The panels of integrals from 0 to each of `until`: owner, beginning and end of each. They end at landmarks, and
    at those of the second delay, which counts from the end."""
    near = 1 / _SHRINKAGE ** np.arange(1.0, _SHRUNK + 1)
    relative = until[:, None] * np.concatenate([[0.0, 1.0], near, 1 - near])
    marks = np.broadcast_to(landmarks, (len(until), len(landmarks)))
    edges = np.concatenate([relative, marks, until[:, None] - from_end], axis=1)
    edges = np.sort(np.clip(edges, 0.0, until[:, None]), axis=1)
    owner, place = np.nonzero(edges[:, 1:] > edges[:, :-1])
    return owner, edges[owner, place], edges[owner, place + 1]

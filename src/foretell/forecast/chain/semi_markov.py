"""The probability of a match within a duration, given how long the configuration has lasted: a semi-Markov first
passage.

A sojourn that just began in i ends after u with a match, or with another configuration j, from which the process goes
on:

    F_i(t) = G_i,match(t) + Σ_j ∫ F_j(t - u) dG_ij(u)

The horizon is divided into steps. The mass that ends within a step is split between its two ends such that the mean is
kept: the error is then of second order, and zero where durations are whole steps. For a configuration of age a the
first sojourn has the distribution of the remaining time, given that it has lasted a.

Censored sojourns count for as long as they were observed (the Aalen-Johansen estimator, bin by bin). Statistics are
those of the pool by configuration: neither lanes nor contexts are distinguished.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.forecast.chain.first_passage import ENOUGH
from foretell.learn.histogram import BINS, EDGES, bin_of
from foretell.learn.sojourns import CENSORED, MATCH, Sojourns
from foretell.learn.trace import find_configurations

STEPS = 96

#: Line segments for each bin of a distribution.
_SEGMENTS = 4

#: The weight of sojourns that must have reached an age for forecasts at that age; older ones use the last such age.
_MIN_LASTING = 5.0


@dataclass(frozen=True)
class SojournDistribution:
    """A distribution function that may stay below 1: piecewise linear between knots, with its integral up to each."""

    time: Floats
    reached: Floats
    area: Floats

    @classmethod
    def of(cls, mass: Floats, least: float, most: float) -> SojournDistribution:
        """From masses by bin. Each is spread over the part of the bin between `least` and `most`: evenly where they cut
        the bin, else with the slope of the neighbouring bins."""
        occupied = np.flatnonzero(mass)
        high = np.minimum(EDGES[occupied + 1], most)
        low = np.minimum(np.maximum(EDGES[occupied], least), high - np.maximum(high * 1e-9, 1e-12))  # never a jump
        uncut = (low == EDGES[occupied]) & (high == EDGES[occupied + 1])
        slope = np.where(uncut, _density_slopes(mass)[occupied], 0.0)[:, None]
        tilt = slope * (np.arange(0.5, _SEGMENTS) / _SEGMENTS - 0.5)
        within = np.cumsum(mass[occupied][:, None] * (1 + tilt) / _SEGMENTS, axis=1)
        knots = low[:, None] + (high - low)[:, None] * np.arange(_SEGMENTS + 1) / _SEGMENTS
        before = np.cumsum(mass[occupied]) - mass[occupied]
        time = np.concatenate([[-1.0], knots.ravel()])
        reached = np.concatenate([[0.0], (before[:, None] + np.insert(within, 0, 0.0, axis=1)).ravel()])
        area = np.concatenate([[0.0], np.cumsum(np.diff(time) * (reached[1:] + reached[:-1]) / 2)])
        return cls(time, reached, area)

    def __call__(self, time: Floats) -> tuple[Floats, Floats]:
        """The probability of having ended by `time`, and its integral up to then."""
        reached = np.interp(time, self.time, self.reached)
        knot = np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, None)
        return reached, self.area[knot] + (time - self.time[knot]) * (self.reached[knot] + reached) / 2


def _density_slopes(mass: Floats) -> Floats:
    """The relative change of the density across each bin: the gentler of the slopes to either side, and 0 where their
    signs differ (van Leer's limiter, which adds no extrema)."""
    width = np.diff(EDGES)
    density, middle = mass / width, (EDGES[1:] + EDGES[:-1]) / 2
    slope = np.zeros(BINS + 1)
    slope[1:-2] = np.diff(density[:-1]) / np.diff(middle[:-1])
    before, after = slope[:-1], slope[1:]
    gentler = np.where(before * after > 0, np.sign(before) * np.minimum(np.abs(before), np.abs(after)), 0.0)
    change = np.divide(gentler[:-1] * width[:-1], density[:-1], out=np.zeros(BINS - 1), where=density[:-1] > 0)
    return np.append(np.clip(change, -2.0, 2.0), 0.0)


@dataclass(frozen=True)
class SemiMarkovTable:
    """P(match within the horizon | configuration, age): `table[i, a]` for `states[i]` at the age `ages[a]`.

    NaN where a configuration was not seen often enough.
    """

    states: Words
    ages: Floats
    table: Floats
    horizon: float
    _oldest: Ints  # [state]: the last age that was seen often enough
    _entered: Floats  # [state, step]: F
    _source: Ints
    _target: Ints
    _distributions: tuple[SojournDistribution, ...]

    @classmethod
    def of(cls, sojourns: Sojourns, horizon: float, *, steps: int = STEPS, enough: float = ENOUGH) -> SemiMarkovTable:
        if not 0 < horizon < np.inf:
            raise ValueError("a horizon must be a finite duration above 0")
        sojourns = sojourns.grouped_by(sojourns.states)
        hazards = _SojournHazards(sojourns)
        edges = np.flatnonzero(sojourns.target != CENSORED)
        source, target = sojourns.source[edges], sojourns.target[edges]
        distributions = tuple(
            SojournDistribution.of(hazards.mass[e], sojourns.least[e], sojourns.most[e]) for e in edges
        )
        entered = _entered(len(sojourns.states), source, target, distributions, horizon, steps)
        ages = _age_edges(sojourns, horizon / steps)
        # Fewer sojourns reach higher ages: those reached too rarely use the last age that is not.
        oldest = np.maximum((hazards.lasting(ages) >= _MIN_LASTING).sum(axis=1) - 1, 0)
        passage = cls(
            states=sojourns.states,
            ages=ages,
            table=np.zeros((0, 0)),
            horizon=horizon,
            _oldest=oldest,
            _entered=entered,
            _source=source,
            _target=target,
            _distributions=distributions,
        )
        latest = np.minimum(np.arange(len(ages)), oldest[:, None])
        table = np.take_along_axis(passage._cdf(ages, last=True)[..., 0], latest, axis=1)
        table[hazards.weight < max(enough, 1e-300)] = np.nan
        return replace(passage, table=table)

    def waiting_time_cdf(self, state: Words, age: Floats) -> Floats:
        """[pair, k]: P(match within k steps of the horizon), k from 0, for each configuration at its age.

        Ages are rounded down to those of the table. An unknown configuration backs off to its most advanced partial
        match alone.
        """
        number = find_configurations(self.states, state)
        latest = np.clip(np.searchsorted(self.ages, age, side="right") - 1, 0, self._oldest[number])
        ages, which = np.unique(latest, return_inverse=True)
        cdf = self._cdf(self.ages[ages], last=False)[number, which.reshape(-1)]
        cdf[(number < 0) | np.isnan(self.table[number, 0])] = np.nan
        return cdf

    def _cdf(self, ages: Floats, *, last: bool) -> Floats:
        """[state, age, step], or only the last step."""
        states, steps = len(self.states), self._entered.shape[1] - 1
        step = self.horizon / steps
        cdf = np.zeros((states, len(ages), 1 if last else steps + 1))
        surviving = np.ones((states, len(ages)))
        for source, target, distribution in zip(self._source, self._target, self._distributions):
            reached, weights = _discretised(distribution, ages, step, steps)
            surviving[source] -= reached[:, 0]
            if target == MATCH:
                cdf[source] += (reached - reached[:, :1])[:, -1:] if last else reached - reached[:, :1]
            elif last:
                cdf[source, :, 0] += weights @ self._entered[target, ::-1]
            else:
                cdf[source] += np.array([np.convolve(row, self._entered[target])[: steps + 1] for row in weights])
        possible = surviving > 1e-9
        cdf = np.divide(cdf, surviving[..., None], out=np.zeros_like(cdf), where=possible[..., None])
        # At age 0 the configuration was just entered, and some of its sojourns may take no time.
        cdf[:, ages == 0] = self._entered[:, None, -1:] if last else self._entered[:, None, :]
        return np.clip(cdf, 0.0, 1.0)


class _SojournHazards:
    """For each edge and bin the probability that a sojourn ends by the edge in the bin, corrected for censoring."""

    def __init__(self, sojourns: Sojourns) -> None:
        states = len(sojourns.states)
        is_censored: Flags = sojourns.target == CENSORED
        ended, censored = np.zeros((states, BINS)), np.zeros((states, BINS))
        np.add.at(ended, sojourns.source[~is_censored], sojourns.bins[~is_censored])
        np.add.at(censored, sojourns.source[is_censored], sojourns.bins[is_censored])
        self.weight: Floats = (ended + censored).sum(axis=1)
        self._at_risk = np.cumsum((ended + censored)[:, ::-1], axis=1)[:, ::-1]
        # Sojourns censored within a bin were at risk for half of it.
        exposed = np.maximum(self._at_risk - censored / 2, ended)
        hazard = np.divide(1.0, exposed, out=np.zeros_like(exposed), where=exposed > 0)
        surviving = np.cumprod(1 - np.minimum(ended * hazard, 1.0), axis=1)
        at_start = np.hstack([np.ones((states, 1)), surviving[:, :-1]])
        self.mass: Floats = sojourns.bins * (hazard * at_start)[sojourns.source]

    def lasting(self, ages: Floats) -> Floats:
        """[state, age]: the weight of the sojourns that reached the age, up to the width of a bin."""
        return self._at_risk[:, bin_of(ages)]


def _entered(
    states: int,
    source: Ints,
    target: Ints,
    distributions: tuple[SojournDistribution, ...],
    horizon: float,
    steps: int,
) -> Floats:
    """F at the ends of the steps: [state, 0 … steps]."""
    passage = np.zeros((states, steps + 1))
    direct = np.zeros((states, steps + 1))
    step, new = horizon / steps, np.zeros(1)
    onwards = [e for e in range(len(distributions)) if target[e] != MATCH]
    weights = np.zeros((len(onwards), steps + 1))
    for e, distribution in enumerate(distributions):
        if target[e] == MATCH:
            direct[source[e]] += distribution(np.arange(steps + 1.0) * step)[0]
    for number, e in enumerate(onwards):
        reached, split = _discretised(distributions[e], new, step, steps)
        weights[number] = split[0]
        weights[number, 0] += reached[0, 0]  # sojourns that take no time
    begin, end = source[onwards], target[onwards]
    # Sojourns shorter than a step depend on the value being solved for. Sojourns without any length could go round for
    # ever; the factor just below one makes the solution the smallest there is, which is the right one.
    at_once = np.zeros((states, states))
    np.add.at(at_once, (begin, end), weights[:, 0] * (1 - 1e-9))
    inverse = np.linalg.inv(np.eye(states) - at_once)
    for n in range(steps + 1):
        onward = np.einsum("ek,ek->e", weights[:, 1 : n + 1], passage[end, :n][:, ::-1])
        known = direct[:, n].copy()
        np.add.at(known, begin, onward)
        passage[:, n] = inverse @ known
    return np.clip(np.maximum.accumulate(passage, axis=1), 0.0, 1.0)


def _discretised(distribution: SojournDistribution, ages: Floats, step: float, steps: int) -> tuple[Floats, Floats]:
    """[age, k]: the probability of having ended by the age plus k steps; and the mass at k steps after the age, where
    the mass within a step is split between its ends."""
    reached, area = distribution(ages[:, None] + np.arange(steps + 1) * step)
    mass = np.diff(reached, axis=1)
    later = np.clip(reached[:, 1:] - np.diff(area, axis=1) / step, 0.0, mass)  # keeps the mean of the step
    weights = np.zeros_like(reached)
    weights[:, :-1] += mass - later
    weights[:, 1:] += later
    return reached, weights


def _age_edges(sojourns: Sojourns, step: float) -> Floats:
    """0, and the edges of the histogram's bins from a quarter of a step to the longest sojourn."""
    longest = float(sojourns.most.max(initial=0.0))
    first, last = bin_of(np.array([step / 4, max(longest, step)]))
    return np.concatenate([[0.0], EDGES[first : min(int(last) + 2, BINS)]])

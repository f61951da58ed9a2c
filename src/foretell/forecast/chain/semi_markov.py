"""How likely a match is within a duration, given how long the configuration has lasted: a semi-Markov first passage.

A sojourn that just began in i ends after u with a match, or with another configuration j, from which it goes on:

    F_i(t) = G_i,match(t) + Σ_j ∫ F_j(t - u) dG_ij(u)

The horizon is cut into steps; what ends within a step is shared between its two ends so that the mean stays right,
which makes the error one of second order, and none where delays are whole steps. For a configuration of age a the
first sojourn's law is that of what is left of it, given that it has lasted a.

Sojourns that had not ended when they were last seen count as long as they were seen (the estimate of Aalen and
Johansen, bin by bin). Neither a lane's own delays nor contexts are looked at: this is the pool's, by configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.forecast.chain.first_passage import ENOUGH
from foretell.learn.histogram import BINS, EDGES, bin_of
from foretell.learn.sojourns import MATCH, STILL, Sojourns
from foretell.learn.trace import places

STEPS = 96

#: Straight lines for each bin of a law.
_PARTS = 4

#: Sojourns that must have lasted so long for a forecast of that age; what is older is seen as the last such age.
_LASTING = 5.0


@dataclass(frozen=True)
class Law:
    """A distribution that may level off below 1: straight lines between knots, and what lies under them."""

    time: Floats
    reached: Floats
    area: Floats

    @classmethod
    def of(cls, mass: Floats, least: float, most: float) -> Law:
        """From masses by bin, each spread over what of the bin lies between the least and the most: evenly where that
        cuts the bin, else leaning as its neighbours do."""
        some = np.flatnonzero(mass)
        high = np.minimum(EDGES[some + 1], most)
        low = np.minimum(np.maximum(EDGES[some], least), high - np.maximum(high * 1e-9, 1e-12))  # never a jump
        whole = (low == EDGES[some]) & (high == EDGES[some + 1])
        leaning = np.where(whole, _leaning(mass)[some], 0.0)[:, None] * (np.arange(0.5, _PARTS) / _PARTS - 0.5)
        parts = np.cumsum(mass[some][:, None] * (1 + leaning) / _PARTS, axis=1)
        knots = low[:, None] + (high - low)[:, None] * np.arange(_PARTS + 1) / _PARTS
        before = np.cumsum(mass[some]) - mass[some]
        time = np.concatenate([[-1.0], knots.ravel()])
        reached = np.concatenate([[0.0], (before[:, None] + np.insert(parts, 0, 0.0, axis=1)).ravel()])
        area = np.concatenate([[0.0], np.cumsum(np.diff(time) * (reached[1:] + reached[:-1]) / 2)])
        return cls(time, reached, area)

    def __call__(self, time: Floats) -> tuple[Floats, Floats]:
        """The probability of having ended by then, and its integral up to then."""
        reached = np.interp(time, self.time, self.reached)
        knot = np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, None)
        return reached, self.area[knot] + (time - self.time[knot]) * (self.reached[knot] + reached) / 2


def _leaning(mass: Floats) -> Floats:
    """How the density changes across each bin, as a part of it: the gentler of the slopes to either side, and none
    where they disagree (van Leer's way, which makes no bumps of its own)."""
    width = np.diff(EDGES)
    density, middle = mass / width, (EDGES[1:] + EDGES[:-1]) / 2
    slope = np.zeros(BINS + 1)
    slope[1:-2] = np.diff(density[:-1]) / np.diff(middle[:-1])
    before, after = slope[:-1], slope[1:]
    gentler = np.where(before * after > 0, np.sign(before) * np.minimum(np.abs(before), np.abs(after)), 0.0)
    change = np.divide(gentler[:-1] * width[:-1], density[:-1], out=np.zeros(BINS - 1), where=density[:-1] > 0)
    return np.append(np.clip(change, -2.0, 2.0), 0.0)


@dataclass(frozen=True)
class Durations:
    """P(match within the horizon | configuration, age): `table[i, a]` for `states[i]` at the age `ages[a]`.

    Between two ages it changes evenly (`at`). NaN where the configuration is not believed.
    """

    states: Words
    ages: Floats
    table: Floats
    horizon: float
    _oldest: Ints  # [state]: the last age that was seen often enough
    _entered: Floats  # [state, step]: F
    _source: Ints
    _target: Ints
    _laws: tuple[Law, ...]

    @classmethod
    def of(cls, sojourns: Sojourns, horizon: float, *, steps: int = STEPS, enough: float = ENOUGH) -> Durations:
        if not 0 < horizon < np.inf:
            raise ValueError("a horizon is a duration of more than nothing")
        states = np.unique(sojourns.states)
        sojourns = sojourns.over(states, np.searchsorted(states, sojourns.states))
        seen = _Seen(sojourns)
        ended = np.flatnonzero(sojourns.target != STILL)
        source, target = sojourns.source[ended], sojourns.target[ended]
        laws = tuple(Law.of(seen.mass[e], sojourns.least[e], sojourns.most[e]) for e in ended)
        entered = _entered(len(sojourns.states), source, target, laws, horizon, steps)
        ages = _ages(sojourns, horizon / steps)
        # The fewer the older: what is too old is seen as the latest that is not.
        oldest = np.maximum((seen.lasting(ages) >= _LASTING).sum(axis=1) - 1, 0)
        found = cls(sojourns.states, ages, np.zeros((0, 0)), horizon, oldest, entered, source, target, laws)
        latest = np.minimum(np.arange(len(ages)), oldest[:, None])
        table = np.take_along_axis(found._waiting(ages, last=True)[..., 0], latest, axis=1)
        table[seen.weight < max(enough, 1e-300)] = np.nan
        return replace(found, table=table)

    def at(self, state: Words, age: Floats) -> Floats:
        """One for each configuration and its age; one never seen is taken as its furthest partial match alone."""
        number = places(self.states, state)
        after = np.clip(np.searchsorted(self.ages, age, side="right"), 1, len(self.ages) - 1)
        low, high = self.ages[after - 1], self.ages[after]
        part = np.clip((age - low) / (high - low), 0.0, 1.0)
        table = np.vstack([self.table, np.full(len(self.ages), np.nan)])  # what is unknown has the number -1
        return np.asarray(table[number, after - 1] * (1 - part) + table[number, after] * part)

    def waiting(self, age: float) -> Floats:
        """[state, k]: P(match within k steps of the horizon | age), k from 0. `passage.interval` takes it."""
        found = self._waiting(np.array([age]), last=False)[:, 0]
        found[np.isnan(self.table[:, 0])] = np.nan
        return found

    def waiting_at(self, state: Words, age: Floats) -> Floats:
        """[pair, k]: the same for each of some configurations at its age."""
        number = places(self.states, state)
        latest = np.clip(np.searchsorted(self.ages, age, side="right") - 1, 0, self._oldest[number])
        ages, which = np.unique(latest, return_inverse=True)
        found = self._waiting(self.ages[ages], last=False)[number, which.reshape(-1)]
        found[(number < 0) | np.isnan(self.table[number, 0])] = np.nan
        return found

    def _waiting(self, ages: Floats, *, last: bool) -> Floats:
        """[state, age, step], or of the steps only the last."""
        states, steps = len(self.states), self._entered.shape[1] - 1
        step = self.horizon / steps
        found = np.zeros((states, len(ages), 1 if last else steps + 1))
        left = np.ones((states, len(ages)))
        for source, target, law in zip(self._source, self._target, self._laws):
            reached, weights = _shared(law, ages, step, steps)
            left[source] -= reached[:, 0]
            if target == MATCH:
                found[source] += (reached - reached[:, :1])[:, -1:] if last else reached - reached[:, :1]
            elif last:
                found[source, :, 0] += weights @ self._entered[target, ::-1]
            else:
                found[source] += np.array([np.convolve(one, self._entered[target])[: steps + 1] for one in weights])
        known = left > 1e-9
        found = np.divide(found, left[..., None], out=np.zeros_like(found), where=known[..., None])
        # An age of 0 is that of what was just entered, even if some of it takes no time.
        found[:, ages == 0] = self._entered[:, None, -1:] if last else self._entered[:, None, :]
        return np.clip(found, 0.0, 1.0)


class _Seen:
    """Per edge the probability of ending by it in each bin, with what was still going on given its due."""

    def __init__(self, sojourns: Sojourns) -> None:
        states = len(sojourns.states)
        still: Flags = sojourns.target == STILL
        ended, censored = np.zeros((states, BINS)), np.zeros((states, BINS))
        np.add.at(ended, sojourns.source[~still], sojourns.bins[~still])
        np.add.at(censored, sojourns.source[still], sojourns.bins[still])
        self.weight: Floats = (ended + censored).sum(axis=1)
        self._at_risk = np.cumsum((ended + censored)[:, ::-1], axis=1)[:, ::-1]
        # Those who were last seen within a bin were at risk for half of it.
        exposed = np.maximum(self._at_risk - censored / 2, ended)
        hazard = np.divide(1.0, exposed, out=np.zeros_like(exposed), where=exposed > 0)
        surviving = np.cumprod(1 - np.minimum(ended * hazard, 1.0), axis=1)
        beginning = np.hstack([np.ones((states, 1)), surviving[:, :-1]])
        self.mass: Floats = sojourns.bins * (hazard * beginning)[sojourns.source]

    def lasting(self, ages: Floats) -> Floats:
        """[state, age]: the weight of the sojourns seen to last so long, or nearly."""
        return self._at_risk[:, bin_of(ages)]


def _entered(states: int, source: Ints, target: Ints, laws: tuple[Law, ...], horizon: float, steps: int) -> Floats:
    """F at the ends of the steps: [state, 0 … steps]."""
    found = np.zeros((states, steps + 1))
    at_match = np.zeros((states, steps + 1))
    step, new = horizon / steps, np.zeros(1)
    onwards = [e for e in range(len(laws)) if target[e] != MATCH]
    weights = np.zeros((len(onwards), steps + 1))
    for e, law in enumerate(laws):
        if target[e] == MATCH:
            at_match[source[e]] += law(np.arange(steps + 1.0) * step)[0]
    for number, e in enumerate(onwards):
        reached, shared = _shared(laws[e], new, step, steps)
        weights[number] = shared[0]
        weights[number, 0] += reached[0, 0]  # what takes no time at all
    begin, end = source[onwards], target[onwards]
    # What takes less than a step looks at the very value that is sought. Sojourns without any length could go round
    # for ever; the least length makes the answer the smallest there is, which is the right one.
    at_once = np.zeros((states, states))
    np.add.at(at_once, (begin, end), weights[:, 0] * (1 - 1e-9))
    solved = np.linalg.inv(np.eye(states) - at_once)
    for n in range(steps + 1):
        onward = np.einsum("ek,ek->e", weights[:, 1 : n + 1], found[end, :n][:, ::-1])
        known = at_match[:, n].copy()
        np.add.at(known, begin, onward)
        found[:, n] = solved @ known
    return np.clip(np.maximum.accumulate(found, axis=1), 0.0, 1.0)


def _shared(law: Law, ages: Floats, step: float, steps: int) -> tuple[Floats, Floats]:
    """[age, k]: what has ended by the age and k steps; and what ends around k steps after it, shared out to the ends
    of the steps."""
    reached, area = law(ages[:, None] + np.arange(steps + 1) * step)
    mass = np.diff(reached, axis=1)
    later = np.clip(reached[:, 1:] - np.diff(area, axis=1) / step, 0.0, mass)  # the mean place within the step
    weights = np.zeros_like(reached)
    weights[:, :-1] += mass - later
    weights[:, 1:] += later
    return reached, weights


def _ages(sojourns: Sojourns, step: float) -> Floats:
    """0, and the edges of the bins from where an age is more than nothing to the longest that was seen."""
    longest = float(sojourns.most.max(initial=0.0))
    first, last = bin_of(np.array([step / 4, max(longest, step)]))
    return np.concatenate([[0.0], EDGES[first : min(int(last) + 2, BINS)]])

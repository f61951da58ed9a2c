"""The probability of an estimate by simulation, without anything that the scorer uses.

Chains of steps are drawn from the first and the last event present and from each event before a gap. Each lost event
counts with its loss, and of the chains in which nothing was seen the wanted ones are counted.

The time of the event at the end of a gap is not drawn: each chain counts with the density of that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Values = NDArray[np.float64]

CHAINS = 200_000


@dataclass(frozen=True)
class Delay:
    description: Mapping[str, Any]

    @property
    def share(self) -> float:
        return float(self.description["share"])

    @property
    def law(self) -> Any:
        match dict(self.description):
            case {"distribution": "exponential", "mean": mean}:
                return stats.expon(scale=mean)
            case {"distribution": "gamma", "shape": shape, "scale": scale}:
                return stats.gamma(shape, scale=scale)
            case {"distribution": "lognormal", "median": median, "sigma": sigma}:
                return stats.lognorm(sigma, scale=median)
            case {"distribution": "uniform", "low": low, "high": high}:
                return stats.uniform(low, high - low)
        raise AssertionError(self.description)


def random_delay(random: Random) -> Delay:
    share = random.choice([0.3, 0.6, 0.9, 1.0])
    name = random.choice(["exponential", "gamma", "lognormal", "uniform"])
    parameters = {
        "exponential": {"mean": random.uniform(0.5, 4)},
        "gamma": {"shape": random.uniform(0.8, 4), "scale": random.uniform(0.3, 2)},
        "lognormal": {"median": random.uniform(0.5, 3), "sigma": random.uniform(0.3, 1)},
        "uniform": {"low": random.choice([0.0, 0.5]), "high": random.uniform(2, 8)},
    }[name]
    return Delay({"distribution": name, "share": share, **parameters})


@dataclass
class GenerativeModel:
    """A sequence of steps, in order. `events` has the times of those present, `bounds` the earliest and the latest time
    of a lost step that has a time condition."""

    order: list[str]
    negated: set[str]
    loss: dict[str, float]
    after: dict[tuple[str, str], Delay]
    before: dict[tuple[str, str], Delay]
    within: float
    events: dict[str, float]
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def description(self) -> dict[str, Any]:
        """As a model file has the delays."""
        after: dict[str, dict[str, Any]] = {}
        before: dict[str, dict[str, Any]] = {}
        for (u, v), delay in self.after.items():
            after.setdefault(v, {})[u] = delay.description
        for (u, v), delay in self.before.items():
            before.setdefault(u, {})[v] = delay.description
        return {"after": after, "before": before}

    def probability(self, rng: np.random.Generator) -> tuple[float, float] | None:
        """With its standard error; None where too few chains are possible."""
        found = [self._at_edges(rng)]
        present = [step for step in self.order if step in self.events]
        found += [self._between(u, v, rng) for u, v in pairwise(present)]
        total, spread = 1.0, 0.0
        for part in found:
            if part is None:
                return None
            mean, error = part
            spread = np.hypot(spread * mean, total * error)
            total *= mean
        return total, float(spread)

    def shares(self, intervals: Mapping[str, tuple[float, float]], rng: np.random.Generator) -> list[Share]:
        """How often lost steps happen before and after these intervals, where all wanted steps happen and no other."""
        found = list[Share]()
        present = [step for step in self.order if step in self.events]
        for u, v in pairwise(present):
            names = self.order[self.order.index(u) : self.order.index(v) + 1]
            for times, weight in self._chains_between(u, v, rng):
                found += self._shares_of(times, weight, names, self.events[u], 1.0, intervals)
        for names, direction, times, weight in self._chains_at_edges(rng):
            found += self._shares_of(times, weight, names, self.events[names[0]], direction, intervals)
        return found

    def _shares_of(
        self,
        times: Values,
        weight: Values,
        names: list[str],
        origin: float,
        direction: float,
        intervals: Mapping[str, tuple[float, float]],
    ) -> list[Share]:
        found = list[Share]()
        for number, name in enumerate(names[1 : len(times)], 1):
            if name in intervals:
                low, high = intervals[name]
                at = origin + direction * times[number]
                found += [Share.of(at < low, weight), Share.of(at > high, weight)]
        return found

    def _chains_between(self, u: str, v: str, rng: np.random.Generator) -> list[tuple[Values, Values]]:
        """The times of the steps of wanted chains, and how much each chain counts."""
        names = self.order[self.order.index(u) : self.order.index(v) + 1]
        length, chain, found = self.events[v] - self.events[u], Chain.begun(len(names) - 1), []
        for place, name in enumerate(names[:-1]):
            delay = self.after[name, v]
            density = np.where(chain.place == place, delay.law.pdf(length - chain.clock), 0.0)
            weight = density * self._as_wanted(chain, names, self.events[u], 1.0)
            if weight.any():
                found.append((chain.times.copy(), weight))
            chain.move(place, names[:-1], self.after, rng)
        return found

    def _chains_at_edges(self, rng: np.random.Generator) -> list[tuple[list[str], float, Values, Values]]:
        present = [step for step in self.order if step in self.events]
        first, last = present[0], present[-1]
        room = self.within - (self.events[last] - self.events[first])
        later = self.order[self.order.index(last) :]
        earlier = self.order[: self.order.index(first) + 1][::-1]
        forward = Chain.drawn(later, self.after, rng)
        backward = Chain.drawn(earlier, {(v, u): delay for (u, v), delay in self.before.items()}, rng)
        lost_after, lost_before = self._length(forward, later), self._length(backward, earlier)
        left = room - lost_after - lost_before
        weight = (left >= 0).astype(float)
        # Of each chain what happens before the window is over that those at the other edge leave.
        for chain, names, other, sign in ((forward, later, lost_before, 1.0), (backward, earlier, lost_after, -1.0)):
            weight *= self._as_wanted(chain.until(room - other), names, self.events[names[0]], sign)
        return [(later, 1.0, forward.times, weight), (earlier, -1.0, backward.times, weight)]

    def _between(self, u: str, v: str, rng: np.random.Generator) -> tuple[float, float] | None:
        names = self.order[self.order.index(u) : self.order.index(v) + 1]
        length = self.events[v] - self.events[u]
        chain = Chain.begun(len(names) - 1)
        weight, wanted = np.zeros(CHAINS), np.zeros(CHAINS)
        for place, name in enumerate(names[:-1]):
            # Of the chains that have come so far, those whose next step is the end of the gap.
            others = np.prod([1 - self.after[name, later].share for later in names[place + 1 : -1]])
            delay = self.after[name, v]
            reached = chain.place == place
            density = np.where(reached, delay.law.pdf(length - chain.clock) * delay.share * others, 0.0)
            weight += density * self._lost(chain, names)
            wanted += density * self._lost(chain, names) * self._as_wanted(chain, names, self.events[u], 1.0)
            chain.move(place, names[:-1], self.after, rng)
        return quotient(wanted, weight)

    def _at_edges(self, rng: np.random.Generator) -> tuple[float, float] | None:
        present = [step for step in self.order if step in self.events]
        first, last = present[0], present[-1]
        room = self.within - (self.events[last] - self.events[first])
        later = self.order[self.order.index(last) :]
        earlier = self.order[: self.order.index(first) + 1][::-1]
        reversed_delays = {(v, u): delay for (u, v), delay in self.before.items()}
        forward = Chain.drawn(later, self.after, rng)
        backward = Chain.drawn(earlier, reversed_delays, rng)
        weight = self._lost(forward.until(room), later) * self._lost(backward.until(room), earlier)
        # The lost ends of the match must fit into the window together.
        lost_after, lost_before = (
            self._length(chain, names) for chain, names in ((forward, later), (backward, earlier))
        )
        wanted = weight * (lost_after + lost_before <= room)
        wanted *= self._as_wanted(forward.until(room - lost_before), later, self.events[last], 1.0)
        wanted *= self._as_wanted(backward.until(room - lost_after), earlier, self.events[first], -1.0)
        return quotient(wanted, weight)

    def _lost(self, chain: Chain, names: list[str]) -> Values:
        """The probability that all steps of a chain were lost."""
        found = np.ones(CHAINS)
        for number, name in enumerate(names[1 : chain.width], 1):
            found *= np.where(np.isfinite(chain.times[number]), self.loss[name], 1.0)
        return found

    def _length(self, chain: Chain, names: list[str]) -> Values:
        """How far the positive steps of a chain reach; infinitely far where one is missing."""
        found = np.zeros(CHAINS)
        for number, name in enumerate(names[1 : chain.width], 1):
            if name not in self.negated:
                found = np.maximum(found, chain.times[number])
        return found

    def _as_wanted(self, chain: Chain, names: list[str], origin: float, direction: float) -> NDArray[np.bool_]:
        found = np.ones(CHAINS, np.bool_)
        for number, name in enumerate(names[1 : chain.width], 1):
            happened = np.isfinite(chain.times[number])
            if name in self.negated:
                found &= ~happened
                continue
            low, high = self.bounds.get(name, (-np.inf, np.inf))
            at = origin + direction * chain.times[number]
            found &= happened & (at >= low) & (at <= high)
        return found


@dataclass(frozen=True)
class Share:
    """A share of weighted chains; NaN where few of them make up the weight."""

    share: float
    error: float

    @classmethod
    def of(cls, chosen: NDArray[np.bool_], weight: Values) -> Share:
        found = quotient(weight * chosen, weight)
        return cls(*(found or (float("nan"), float("nan"))))


@dataclass
class Chain:
    """Chains of steps after an event: the place that each has reached, when, and the time of every step; infinite where
    it has not happened."""

    place: NDArray[np.int64]
    clock: Values
    times: Values

    @classmethod
    def begun(cls, width: int) -> Chain:
        return cls(np.zeros(CHAINS, np.int64), np.zeros(CHAINS), np.full((width, CHAINS), np.inf))

    @classmethod
    def drawn(cls, names: list[str], delays: Mapping[tuple[str, str], Delay], rng: np.random.Generator) -> Chain:
        chain = cls.begun(len(names))
        for place in range(len(names)):
            chain.move(place, names, delays, rng)
        return chain

    @property
    def width(self) -> int:
        return len(self.times)

    def move(
        self, place: int, names: list[str], delays: Mapping[tuple[str, str], Delay], rng: np.random.Generator
    ) -> None:
        """Move on the chains that are at this place; those that do not go on end there."""
        waiting = self.place == place
        for to in range(place + 1, len(names)):
            delay = delays[names[place], names[to]]
            goes = waiting & (rng.random(CHAINS) < delay.share)
            self.clock[goes] += delay.law.rvs(size=int(goes.sum()), random_state=rng)
            self.times[to, goes] = self.clock[goes]
            self.place[goes] = to
            waiting &= ~goes
        self.place[waiting] = -1

    def until(self, time: float | Values) -> Chain:
        """Only what happens up to a time."""
        return Chain(self.place, self.clock, np.where(self.times <= time, self.times, np.inf))


def quotient(wanted: Values, weight: Values) -> tuple[float, float] | None:
    """The quotient of two sums over the chains and its standard error; None where few chains make up the sums."""
    total = weight.sum()
    if total == 0 or total**2 / np.square(weight).sum() < 2_000:
        return None
    found = wanted.sum() / total
    return float(found), float(np.sqrt(np.square(wanted - found * weight).sum()) / total)

"""Probability of a gap: that its unseen positive steps happened and its negated ones did not (AYAC 3).

A gap lies between two events that were seen. In it the pattern has positive steps that were lost and negated steps
that did not come. The steps happen one after the other: each positive one some delay after the one before, each
negated one some delay after the positive one before it. Each thing that happens is lost with its probability ε.
The probability of the gap is that all its positive steps happened and none of its negated ones, given that none of
them was seen:

    P(all positives happened and were lost, no negated happened) / P(nothing was seen)

Where nothing was seen, some first part of the positives may have happened and the chain stopped there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats
from foretell.events.delay_distributions import DelayDistribution

#: The integrals are sums over this many cells, each mass at the middle of its cell: the error falls with the square.
CELLS = 4096


@dataclass(frozen=True)
class HiddenStep:
    """A step that was not seen: its delay and the probability that its event is lost."""

    delay: DelayDistribution
    loss: float


@dataclass(frozen=True)
class Link:
    """The way to one lost positive step, and the negated steps on that way."""

    positive: HiddenStep
    negated: tuple[HiddenStep, ...] = ()


@dataclass(frozen=True)
class Gap:
    """`negated` stand between the last positive and the gap's end.

    Seen backwards (from the first event present) the negated steps on the way to a positive belong to it: where it
    did not happen, there is nothing for them to follow, and they do not count.
    """

    length: float
    links: tuple[Link, ...] = ()
    negated: tuple[HiddenStep, ...] = ()
    backwards: bool = False

    def probability(self) -> float:
        if not self.links and all(hidden.loss == 0 for hidden in self.negated):
            return 1.0  # a step that cannot be lost and was not seen did not happen
        happened = self._chain(unseen=False)[-1]
        unseen = sum(self._chain(unseen=True))
        return 0.0 if unseen <= 0 else float(min(1.0, happened / unseen))

    def published(self) -> float:
        """The paper's own score: S^P = εF, S^N as it is, S^PP with both delays counted from the gap's beginning."""
        negated = [n for link in self.links for n in link.negated] + list(self.negated)
        score = 1.0
        for hidden in negated:
            share = float(hidden.delay.cdf(self.length))
            score *= (1 - share) / (hidden.loss * share + 1 - share) if hidden.loss > 0 else 1.0
        edges = np.linspace(0.0, self._reach(), CELLS + 1)
        before: Floats = np.ones(CELLS + 1)  # how likely all positives so far came by each edge, in order
        for link in self.links:
            mass = np.diff(link.positive.delay.cdf(edges))
            middle = (before[1:] + before[:-1]) / 2
            before = np.concatenate([[0.0], np.cumsum(mass * middle)])
            score *= link.positive.loss
        return float(score * before[-1])

    def _reach(self) -> float:
        """The gap's length, or where it has no end, the time by which every delay has passed."""
        if np.isfinite(self.length):
            return self.length
        everything = [*self.links, *(Link(n) for n in self.negated)]
        return sum(link.positive.delay.reach for link in everything) or 1.0

    def _chain(self, *, unseen: bool) -> list[float]:
        """The probability that exactly the first k positives happened, all lost, for k = 0, 1, ...

        With `unseen` a negated step may have happened and been lost; without, it did not happen.
        """
        reach = self._reach()
        cell = reach / CELLS
        # `mass` lies at the times (i + shift) · cell at which the latest positive may have happened.
        mass: Floats = np.ones(1)
        shift = 0.0
        stopped = []
        for link in self.links:
            left = np.maximum(reach - (np.arange(len(mass)) + shift) * cell, 0.0)
            stays = 1.0 - link.positive.delay.cdf(left)
            if not self.backwards:
                stays = stays * _quiet(link.negated, left, unseen)
            stopped.append(float(np.sum(mass * stays)))
            edges = np.asarray(np.arange(CELLS + 1) * cell, float)
            step: Floats = np.diff(link.positive.delay.cdf(edges)) * link.positive.loss
            step = step * _quiet(link.negated, edges[:-1] + cell / 2, unseen)
            shift += 0.5
            mass = _inside(np.convolve(mass, step)[:CELLS], shift)
        left = np.maximum(reach - (np.arange(len(mass)) + shift) * cell, 0.0)
        stopped.append(float(np.sum(mass * _quiet(self.negated, left, unseen))))
        return stopped


def _inside(mass: Floats, shift: float) -> Floats:
    """The mass inside the gap: of a mass exactly at its end, half."""
    times = np.arange(len(mass)) + shift
    return np.asarray(mass * np.where(times < CELLS, 1.0, np.where(times == CELLS, 0.5, 0.0)), float)


def _quiet(negated: Sequence[HiddenStep], within: Floats, unseen: bool) -> Floats:
    """The probability that no negated step came within the time, or with `unseen` that none was seen."""
    quiet = np.ones_like(within)
    for hidden in negated:
        came = hidden.delay.cdf(within)
        quiet = quiet * (1.0 - (1.0 - hidden.loss) * came if unseen else 1.0 - came)
    return quiet

"""The probability of a gap whose end comes regardless of what happened inside (SCORE INDEPENDENT), and the paper's own
scores (SCORE PUBLISHED; AYAC section 3).

Each positive step of the gap happens some delay after the one before it, each negated one some delay after the positive
one before it. Each event is lost with its probability ε. The probability of the gap is

    P(all positives happened and were lost, no negated one happened) / P(nothing was seen)

Where nothing was seen, some first part of the positives may have happened and the chain stopped there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from foretell.arrays import Floats
from foretell.events.delays.densities import Density, LogValues, convolution
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.lost_times import LostSteps
from foretell.events.delays.tables import refined_table
from foretell.records import record

#: A tabulated logarithm of a probability is as near, and at least this: less counts as nothing.
_TOLERANCE, _LEAST = 1e-6, -700.0


@record
class IndependentStep:
    """A step that was not seen, its delay, and the probability that its event is lost. `low` and `high` bound the
    distance from the beginning of the gap."""

    delay: DelayDistribution
    loss: float
    low: float = 0.0
    high: float = math.inf

    @property
    def bounded(self) -> bool:
        return self.low > 0 or self.high < math.inf


@record
class Link:
    """The way to one lost positive step, and the negated steps on that way."""

    positive: IndependentStep
    negated: tuple[IndependentStep, ...] = ()

    @property
    def way(self) -> tuple[object, ...]:
        """The link without the bounds of its steps."""
        return tuple((step.delay, step.loss) for step in (self.positive, *self.negated))


@record
class IndependentGap:
    """`negated` stand between the last positive step and the gap's end.

    Seen backwards (from the first event present) the negated steps on the way to a positive one belong to it: where it
    did not happen, there is nothing for them to follow, and they do not count. The first links may be known from
    another gap of this length, whose links are a `prefix` of these, but for their bounds.
    """

    length: float
    links: tuple[Link, ...] = ()
    negated: tuple[IndependentStep, ...] = ()
    backwards: bool = False
    prefix: IndependentGap | None = field(default=None, compare=False)

    @property
    def ways(self) -> tuple[tuple[object, ...], ...]:
        return tuple(link.way for link in self.links)

    def probability(self) -> float:
        return float(self.probabilities(np.array([self.length]))[0])

    def published(self) -> float:
        return float(self.published_scores(np.array([self.length]))[0])

    def probabilities(self, lengths: Floats) -> Floats:
        """The probability for each of these lengths, none of which exceeds that of the gap."""
        if not self.links and all(hidden.loss == 0 for hidden in self.negated):
            return np.ones(len(lengths))  # a step that cannot be lost and was not seen did not happen
        happened = self._log_stops(lengths, unseen=False)[-1]
        unseen = np.logaddexp.reduce(self._log_stops(lengths, unseen=True), axis=0)
        with np.errstate(invalid="ignore"):
            likely = np.minimum(1.0, np.exp(happened - unseen))
        return np.where(unseen == -math.inf, 0.0, likely)

    def published_scores(self, lengths: Floats) -> Floats:
        """S^P = εF, S^N as above, S^PP with both delays from the beginning of the gap, N…NPN…N as a product."""
        lengths = np.minimum(lengths, self._reach)
        scores = np.ones(len(lengths))
        for hidden in [n for link in self.links for n in link.negated] + list(self.negated):
            came = hidden.delay.cdf(lengths)
            if hidden.loss > 0:
                scores = scores * (1 - came) / (hidden.loss * came + 1 - came)
        if not self.links:
            return scores
        return scores * math.prod(link.positive.loss for link in self.links) * np.exp(self._in_order(lengths))

    @cached_property
    def _in_order(self) -> LogValues:
        """The logarithm of the probability that all positive steps have come by a time, in order."""
        when = Density.of(self.links[0].positive.delay)
        for link in self.links[1:]:
            when = Density.of(link.positive.delay, _tabulated(when, self._reach))
        return _cumulative(when, self._reach)

    def lost_steps(self) -> LostSteps:
        """The positive steps, for when they happened."""
        rest = Density(_log_quiet(self.negated, unseen=False), np.empty(0), kinks=_kinks(self.negated))
        ways = tuple(_way(link, unseen=False) for link in self.links)
        bounds = tuple((link.positive.low, link.positive.high) for link in self.links)
        return LostSteps(ways, bounds, rest, self._reach)

    @property
    def _reach(self) -> float:
        """The length of the gap, or where it has no end, the time by which every delay has passed."""
        if np.isfinite(self.length):
            return self.length
        delays = [link.positive.delay for link in self.links] + [n.delay for n in self.negated]
        return sum(delay.reach for delay in delays) or 1.0

    def _log_stops(self, lengths: Floats, *, unseen: bool) -> list[Floats]:
        """The logarithms of the probability that exactly the first k positive steps happened, all lost, for k from 0.

        With `unseen` a negated step may have happened and been lost; without, it did not happen, and positive steps
        keep to their bounds.
        """
        lengths = np.minimum(lengths, self._reach)
        arrivals = self._arrivals_of(unseen=unseen)
        stops = []
        for link, when in zip(self.links, [None, *arrivals], strict=False):
            quiet = None if self.backwards else _log_quiet(link.negated, unseen)
            stops.append(_log_mass(when, lengths, _sum(link.positive.delay.log_survival, quiet)))
        last = arrivals[-1] if arrivals else None
        stops.append(_log_mass(last, lengths, _log_quiet(self.negated, unseen)))
        return stops

    def _arrivals_of(self, *, unseen: bool) -> list[Density]:
        """When each positive step happened, all before it lost."""
        return self._unseen_arrivals if unseen else self._wanted_arrivals

    @cached_property
    def _unseen_arrivals(self) -> list[Density]:
        return self._arrivals(unseen=True)

    @cached_property
    def _wanted_arrivals(self) -> list[Density]:
        bounded = any(link.positive.bounded for link in self.links)
        same = not bounded and not any(link.negated for link in self.links)
        return self._unseen_arrivals if same else self._arrivals(unseen=False)

    def _arrivals(self, *, unseen: bool) -> list[Density]:
        known = self.prefix if math.isfinite(self.length) else None
        shared = [] if known is None else known._arrivals_of(unseen=unseen)
        found: list[Density] = []
        for number, link in enumerate(self.links):
            step = link.positive
            if known is not None and number < len(shared) and (unseen or self._keeps_to(known, number)):
                when = shared[number]
            else:
                way = _way(link, unseen)
                when = convolution(found[-1], way, self._reach) if found else way
            found.append(when if unseen else when.cut(step.low, step.high))
        return found

    def _keeps_to(self, known: IndependentGap, number: int) -> bool:
        """Whether the steps before this one have the same bounds in both gaps, and this one has none in the other or
        the same."""
        link = known.links[number]
        return known.links[:number] == self.links[:number] and (link == self.links[number] or not link.positive.bounded)


def _way(link: Link, unseen: bool) -> Density:
    """The delay of a lost step, while no negated one on the way to it came."""
    quiet = _log_quiet(link.negated, unseen) if link.negated else None
    return Density.of(link.positive.delay, quiet, _kinks(link.negated)).scaled(link.positive.loss)


def _kinks(steps: Sequence[IndependentStep]) -> tuple[float, ...]:
    return tuple(kink for step in steps for kink in step.delay.law.kinks)


def _log_mass(when: Density | None, lengths: Floats, log_rest: LogValues) -> Floats:
    return log_rest(lengths) if when is None else when.log_mass(lengths, log_rest)


def _sum(first: LogValues, second: LogValues | None) -> LogValues:
    return first if second is None else lambda time: first(time) + second(time)


def _log_quiet(negated: Sequence[IndependentStep], unseen: bool) -> LogValues:
    """The logarithm of the probability that no negated step came within a time, or with `unseen` that none was seen."""

    def log_quiet(time: Floats) -> Floats:
        quiet = np.zeros_like(time)
        for hidden in negated:
            with np.errstate(divide="ignore"):
                seen = np.log1p(-(1.0 - hidden.loss) * hidden.delay.cdf(time))
            quiet = quiet + (seen if unseen and hidden.loss > 0 else hidden.delay.log_survival(time))
        return quiet

    return log_quiet


def _cumulative(density: Density, until: float) -> LogValues:
    """The logarithm of the probability of having come by a time, of times up to `until`."""

    def log_cumulative(times: Floats) -> Floats:
        flat = np.minimum(times.ravel(), until)
        found = np.full(len(flat), density.log_atom(0.0))
        found[flat > 0] = density.log_mass(flat[flat > 0], np.zeros_like)
        return found.reshape(times.shape)

    return log_cumulative


def _tabulated(density: Density, until: float) -> LogValues:
    """`_cumulative` as a table: an integral of integrals of integrals would have no end."""
    cumulative = _cumulative(density, until)
    marks = np.unique(np.concatenate([density.landmarks, until * 0.5 ** np.arange(0, 30)]))
    logs = np.unique(np.log(marks[marks <= until]))

    def exact(log_times: Floats) -> Floats:
        return np.maximum(cumulative(np.minimum(np.exp(log_times), until)), _LEAST)

    table = refined_table(exact, logs, _TOLERANCE)
    earlier = density.log_atom(0.0)

    def log_cumulative(times: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            at = np.log(times)
        found = np.asarray(table(np.clip(at, logs[0], logs[-1])), float)
        return np.where(at < logs[0], earlier, found)

    return log_cumulative

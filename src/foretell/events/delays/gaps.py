"""The probability of what a gap hides: that its absent positive steps happened and its negated ones did not (LOSING).

A gap lies between two events present, or between an event present and the edge of the window. Hidden in it may be any
of its steps, in the order of the pattern. Such a sequence weighs the product of its losses and the density of going
through it, and the probability of the gap is the weight of the wanted sequence over that of all (decision 0015). Both
ends of the gap are given. AYAC section 3 leaves out the second one, as `independent_gaps` does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator

from foretell.arrays import Floats
from foretell.events.delays.densities import Density, LogValues, convolution, log_convolution, mixture
from foretell.events.delays.distributions import DelayDistribution
from foretell.records import record

#: So many numbers are kept of a gap.
_MOST_KNOWN = 32_768

#: The points of a table of the probability within a time.
_TABLE_POINTS = 200


@record
class HiddenStep:
    """A step that was not seen in a gap. A `wanted` one happened and was lost; one that is not, a negated step, did not
    happen. `low` and `high` bound its distance from the event at which the gap begins."""

    name: str
    loss: float
    wanted: bool
    low: float = 0.0
    high: float = math.inf

    @property
    def kind(self) -> tuple[str, float, bool]:
        """The step without its bounds."""
        return self.name, self.loss, self.wanted


@record
class HiddenSteps:
    """The hidden steps that follow `origin`, an event present, in their order, and the delays from each step straight
    to each later one. Seen backwards from its end, the steps of a gap are in reverse order. The first of them may be
    known from another gap, whose steps are a `prefix` of these, but for their bounds."""

    origin: str
    steps: tuple[HiddenStep, ...]
    delays: Mapping[tuple[str, str], DelayDistribution]
    until: float
    prefix: HiddenSteps | None = field(default=None, compare=False)

    # A place is 0 for the origin, and from 1 on that of a step.

    @cached_property
    def arrivals(self) -> list[Density | None]:
        """By place, when a hidden step happened, by any way; None of the origin and of one that cannot be lost."""
        found: list[Density | None] = [None] if self.prefix is None else list(self.prefix.arrivals)
        for place, step in enumerate(self.steps[len(found) - 1 :], len(found)):
            if step.loss == 0:
                found.append(None)
                continue
            ways = [self.way(0, place)]
            ways += [convolution(a, self.way(i, place), self.until) for i, a in enumerate(found) if a is not None]
            found.append(mixture(ways).scaled(step.loss))
        return found

    @cached_property
    def wanted(self) -> tuple[int, Density | None]:
        """The place of the last wanted step, and when it happened after all wanted ones before it and no other step;
        the origin and None where no step is wanted."""
        known, last, when = 0, 0, None
        if self.prefix is not None and self.prefix.steps == self.steps[: len(self.prefix.steps)]:
            known, (last, when) = len(self.prefix.steps), self.prefix.wanted
        for place, step in enumerate(self.steps[known:], known + 1):
            if step.wanted:
                way = self.way(last, place)
                when = (way if when is None else convolution(when, way, self.until)).cut(step.low, step.high)
                last, when = place, when.scaled(step.loss)
        return last, when

    @cached_property
    def unseen(self) -> dict[float, Floats]:
        """The logarithms of the probability that no step was seen up to the edge, as far as they are known."""
        return {}

    @cached_property
    def kinds(self) -> tuple[tuple[str, float, bool], ...]:
        return tuple(step.kind for step in self.steps)

    @property
    def wanted_places(self) -> list[int]:
        return [place for place, step in enumerate(self.steps, 1) if step.wanted]

    @property
    def last_wanted(self) -> int:
        """The place of the last wanted step; the origin where there is none."""
        return max(self.wanted_places, default=0)

    @property
    def quiet(self) -> Density:
        """How likely no step after the last wanted one comes within a time."""
        start = self.last_wanted
        delays = [self.delays[self.name(start), step.name] for step in self.steps[start:]]
        marks = np.unique(np.concatenate([np.empty(0), *(delay.landmarks for delay in delays)]))
        kinks = tuple(kink for delay in delays for kink in delay.law.kinks)
        return Density(self.log_rest(start), marks, kinks=kinks)

    @property
    def last(self) -> tuple[HiddenStep, ...]:
        """The steps after the last wanted one."""
        return self.steps[self.wanted[0] :]

    def way(self, start: int, end: int) -> Density:
        """The delay from one place straight to another, times the probability that no step between them comes."""
        return self._way(start, self.steps[end - 1].name, end)

    def way_out(self, start: int, end: str) -> Density:
        """The same to the event present at the end of the gap."""
        return self._way(start, end, len(self.steps) + 1)

    def _way(self, start: int, name: str, end: int) -> Density:
        return Density.of(self.delays[self.name(start), name]).scaled(self._none_between(start, end))

    def log_rest(self, place: int) -> LogValues:
        """The logarithm of the probability that none of the steps after a place comes within a time."""
        later = range(place + 1, len(self.steps) + 1)
        weights = [(self._none_between(place, to), self.delays[self.name(place), self.name(to)]) for to in later]
        only = weights[0][-1] if len(weights) == 1 else None

        def log_rest(time: Floats) -> Floats:
            if only is not None:
                return only.log_survival(time)  # exact far out in its tail
            came = sum((weight * delay.cdf(time) for weight, delay in weights), np.zeros_like(time))
            with np.errstate(divide="ignore"):
                return np.asarray(np.log1p(-np.minimum(came, 1.0)), float)

        return log_rest

    def _none_between(self, start: int, end: int) -> float:
        between = (self.delays[self.name(start), self.name(place)].share for place in range(start + 1, end))
        return math.prod(1.0 - share for share in between)

    def name(self, place: int) -> str:
        return self.steps[place - 1].name if place else self.origin

    @property
    def losable(self) -> bool:
        return any(step.loss > 0 for step in self.steps)


#: When a hidden step happened, and the delay from there to the end of the gap; None for the beginning of the gap.
Way = tuple[Density | None, Density]


def between_events(hidden: HiddenSteps, end: str, lengths: Floats) -> Floats:
    """The probability of a gap between two events present, for each length up to `hidden.until`; NaN where the delays
    permit no way."""
    if not hidden.losable:
        return np.ones(len(lengths))  # a step that cannot be lost and was not seen did not happen
    last, when = hidden.wanted
    ways: list[Way] = [(None, hidden.way_out(0, end))]
    ways += [(a, hidden.way_out(place, end)) for place, a in enumerate(hidden.arrivals) if a is not None]
    wanted, every = [(when, hidden.way_out(last, end))], ways
    atoms = _log_atoms(every, lengths)
    # A time that has a probability of its own outweighs all densities.
    return np.where(
        atoms > -math.inf,
        _quotient(_log_atoms(wanted, lengths), atoms),
        _quotient(_log_densities(wanted, lengths), _log_densities(every, lengths)),
    )


def at_edges(edges: Sequence[HiddenSteps], rooms: Floats) -> Floats:
    """The probability of the gaps before the first and after the last event present, for each of what the window may
    leave them; NaN where the delays permit nothing.

    They share it: what is lost at both ends must fit into it together, and negated steps at one end did not happen in
    what those lost at the other leave.
    """
    gaps = [gap for gap in edges if gap.losable]
    if not gaps:
        return np.ones(len(rooms))  # a step that cannot be lost and was not seen did not happen
    until = max(gap.until for gap in gaps)
    rooms = np.clip(rooms, 0.0, until)  # without a window the time by which all delays have passed
    unseen = sum((_log_unseen(gap, rooms) for gap in gaps), np.zeros(len(rooms)))
    if len(gaps) == 1 or all(gap.wanted[1] is None for gap in gaps):
        wanted = sum((_log_wanted_within(gap, rooms) for gap in gaps), np.zeros(len(rooms)))
    else:
        # A gap that only negated steps may be hidden in, or in which these come last, is the first argument.
        first, second = sorted(gaps, key=lambda gap: (gap.wanted[1] is not None, not gap.last))
        wanted = _log_wanted_together(first, second, rooms)
    return _quotient(wanted, unseen)


def _log_wanted_together(negated: HiddenSteps, lost: HiddenSteps, rooms: Floats) -> Floats:
    """The logarithm of the probability that the wanted steps of both edges happened within each of `rooms`, and after
    those at `negated` no more before the room is over that those at `lost` leave."""
    place, when = negated.wanted
    _, other = lost.wanted
    assert other is not None
    both = other if when is None else convolution(when, other, lost.until)
    if not negated.last:
        return both.log_mass(rooms, np.zeros_like)
    within = _tabulated(lost) if when is not None else None
    if len(negated.last) > 1 or (when is not None and lost.last):
        # Somewhat less than it is: they may have been lost after what is left.
        rest = negated.log_rest(place)
        if when is None or within is None:
            return rest(rooms) + _log_wanted_within(lost, rooms)
        return when.log_mass(rooms, _sum(rest, within))
    # Not seen up to the end of the room, less those that were lost in what is left: 1 - (1 - ε) F(room) - ε F(left).
    (step,) = negated.last
    delay = negated.delays[negated.name(place), step.name]

    def log_unseen(left: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-(1.0 - step.loss) * delay.cdf(left)), float)

    def log_lost(left: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(step.loss * delay.cdf(left)), float)

    if when is None or within is None:
        whole = log_unseen(rooms) + _log_wanted_within(lost, rooms)
    else:
        whole = when.log_mass(rooms, _sum(log_unseen, within))
    part = both.log_mass(rooms, _sum(lost.log_rest(lost.wanted[0]), log_lost))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > part, whole + np.log1p(-np.exp(part - whole)), -np.inf)


def _sum(first: LogValues, second: LogValues) -> LogValues:
    return lambda time: first(time) + second(time)


def _tabulated(hidden: HiddenSteps) -> LogValues:
    """`_log_wanted_within` as a table."""
    times = hidden.until * np.linspace(0.0, 1.0, _TABLE_POINTS + 1)[1:] ** 2
    table = PchipInterpolator(np.log(times), np.maximum(_log_wanted_within(hidden, times), -1e8))

    def log_within(left: Floats) -> Floats:
        found = table(np.log(np.clip(left, times[0], times[-1])))
        return np.where(left > 0, np.asarray(found, float), -np.inf)

    return log_within


def _log_wanted_within(hidden: HiddenSteps, lengths: Floats) -> Floats:
    place, when = hidden.wanted
    rest = hidden.log_rest(place)
    return rest(lengths) if when is None else when.log_mass(lengths, rest)


def _log_unseen(hidden: HiddenSteps, lengths: Floats) -> Floats:
    """The logarithm of the probability that no step was seen up to the edge, which does not depend on the bounds of
    steps: gaps that differ in these have it in common."""
    prefix = hidden.prefix
    if prefix is None or len(lengths) > 1 or prefix.kinds != hidden.kinds:
        return _log_unseen_by_integrals(hidden, lengths)
    known, (length,) = prefix.unseen, lengths.tolist()
    found = known.get(length)
    if found is None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        found = known[length] = _log_unseen_by_integrals(prefix, lengths)
    return found


def _log_unseen_by_integrals(hidden: HiddenSteps, lengths: Floats) -> Floats:
    stops = [hidden.log_rest(0)(lengths)]
    stops += [
        arrival.log_mass(lengths, hidden.log_rest(place))
        for place, arrival in enumerate(hidden.arrivals)
        if arrival is not None
    ]
    return np.asarray(np.logaddexp.reduce(stops, axis=0), float)


def _log_densities(ways: list[Way], times: Floats) -> Floats:
    """The logarithm of the density of arriving at each time."""
    logs = [out.log_density(times) if a is None else log_convolution(a, out, times) for a, out in ways]
    return np.asarray(np.logaddexp.reduce(logs, axis=0), float)


def _log_atoms(ways: list[Way], times: Floats) -> Floats:
    """The logarithm of the probability of arriving at each very time."""
    masses: dict[float, list[float]] = {}
    for first, out in ways:
        for at, mass in out.atoms if first is None else _sums(first, out):
            masses.setdefault(at, []).append(mass)
    if not masses:
        return np.full(len(times), -math.inf)
    return np.array([float(np.logaddexp.reduce(masses.get(time, [-np.inf]))) for time in times.tolist()])


def _sums(first: Density, second: Density) -> list[tuple[float, float]]:
    return [(at + to, p + q) for at, p in first.atoms for to, q in second.atoms]


def _quotient(log_wanted: Floats, log_all: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        found = np.minimum(1.0, np.exp(log_wanted - log_all))
    return np.where(log_all == -math.inf, math.nan, found)

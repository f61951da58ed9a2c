"""When the lost steps of a gap happened, given both its ends: quantiles of their distances from its beginning.

The density of a step's distance is that of the way to it, times that of the way from it to the end of the gap, by all
lost steps and by no other (decision 0016).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from foretell.arrays import Floats
from foretell.events.delays.densities import Density, convolution
from foretell.events.delays.gaps import HiddenSteps
from foretell.events.delays.quantiles import quantiles
from foretell.records import record


@record
class LostSteps:
    """Steps of a gap that were lost, one after the other: the way to each from the one before it, and the bounds of its
    distance from the beginning of the gap. `rest` weighs the time from the last one to the end of the gap, which is at
    most `until`."""

    ways: tuple[Density, ...]
    bounds: tuple[tuple[float, float], ...]
    rest: Density
    until: float

    def intervals(self, lengths: Floats) -> Floats:
        """For each length and each step, the ends of the interval of its distance; NaN where no way is possible."""
        lengths = np.minimum(lengths, self.until)
        if not np.isfinite(self.bounds).any():
            return self._of(lengths, self.until)
        # Seen from the end of the gap, the bounds are other ones for each length.
        found = [self._of(lengths[n : n + 1], length) for n, length in enumerate(lengths.tolist())]
        return np.concatenate([np.empty((0, len(self.ways), 2)), *found])

    def _of(self, lengths: Floats, end: float) -> Floats:
        pairs = zip(self.arrivals, self._rests(end), strict=True)
        return np.stack([quantiles(arrival, rest, lengths) for arrival, rest in pairs], axis=1)

    @property
    def arrivals(self) -> list[Density]:
        """When each step happened, after all before it."""
        found: list[Density] = []
        for way, bounds in zip(self.ways, self.bounds, strict=True):
            found.append((convolution(found[-1], way, self.until) if found else way).cut(*bounds))
        return found

    def _rests(self, end: float) -> list[Density]:
        """How likely all after each step is, by the time that is left of a gap with this end."""
        found = [self.rest]
        for way, (low, high) in zip(self.ways[:0:-1], self.bounds[:0:-1], strict=True):
            found.append(convolution(way, found[-1].cut(end - high, end - low), self.until))
        return found[::-1]


def lost_between(hidden: HiddenSteps, end: str) -> LostSteps:
    """The lost steps of a gap between two events present."""
    return _lost(hidden, hidden.way_out(hidden.last_wanted, end), hidden.until)


def lost_at_edge(hidden: HiddenSteps, other: HiddenSteps) -> LostSteps:
    """The lost steps of a gap at an edge of the window, which those at the `other` edge share: all fit into it, and no
    other step happened in what they leave."""
    until = max(hidden.until, other.until)
    quiet = [gap.quiet for gap in (hidden, other)]
    rest = Density(
        lambda left: np.where(left >= 0, quiet[0].log_density(left) + quiet[1].log_density(left), -math.inf),
        np.unique(np.concatenate([density.landmarks for density in quiet])),
        kinks=tuple(kink for density in quiet for kink in density.kinks),
    )
    if other.wanted[1] is not None:
        rest = convolution(other.wanted[1], rest, until)
    return _lost(hidden, rest, until)


def _lost(hidden: HiddenSteps, rest: Density, until: float) -> LostSteps:
    places = [0, *hidden.wanted_places]
    steps = [hidden.steps[place - 1] for place in places[1:]]
    ways = tuple(hidden.way(start, end) for start, end in pairwise(places))
    return LostSteps(ways, tuple((step.low, step.high) for step in steps), rest, until)

"""How long a configuration lasts before the next, or a match, ends it.

A sojourn begins when a configuration is entered and ends when it changes or a match is completed; events that leave it
as it is are just time. What had not ended when the trace did is kept as STILL: it is known to have lasted so long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.learn.histogram import BINS, bin_of
from foretell.learn.trace import Steps, Trace, distinct, furthest, summed

#: What ends a sojourn, besides another configuration.
MATCH, STILL = -1, -2

#: With more edges than this, configurations are told apart only by their furthest partial match: a histogram is large.
MOST_EDGES = 10_000


@dataclass(frozen=True)
class Sojourns:
    """For each edge a histogram of the times it took.

    `states` are configurations; `source[e]` and `target[e]` are numbers in it, or MATCH or STILL as target. `bins[e]`
    are weights by histogram.bin_of; `total[e]` is the weighted sum of the times, `least[e]` and `most[e]` bound them.
    """

    states: Words
    source: Ints
    target: Ints
    bins: Floats
    total: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, trace: Trace, steps: Steps, weight: Floats) -> Sojourns:
        """`weight` is that of each row of the trace."""
        states = np.unique(np.append(trace.state, np.uint64(0)))
        state, time, matched = np.searchsorted(states, steps.state), trace.time[steps.row], trace.matched[steps.row]
        changed = steps.first | matched | (steps.state != steps.source)
        entered = np.maximum.accumulate(np.where(changed, np.arange(len(state)), 0))
        ended = np.flatnonzero(changed & ~steps.first)
        still = np.flatnonzero(steps.last & (trace.seen_time[steps.process] > time[entered]))
        seen = trace.seen_time[steps.process[still]]
        took = np.concatenate([time[ended] - time[entered[ended - 1]], seen - time[entered[still]]])
        source = np.concatenate([state[ended - 1], state[still]])
        target = np.concatenate([np.where(matched[ended], MATCH, state[ended]), np.full(len(still), STILL)])
        weights = weight[steps.row[np.concatenate([ended, still])]]
        width = len(states) + 2
        edges, edge = distinct(source * width + target + 2, len(states) * width)
        if len(edges) > MOST_EDGES:  # then there are at most 65 configurations
            fewer = replace(trace, state=furthest(trace.state))
            return cls.of(fewer, Steps.of(fewer), weight)
        return cls._counted(states, edges, edge, np.maximum(took, 0.0), weights)  # clocks may go back

    @classmethod
    def none(cls) -> Sojourns:
        nothing, nowhere = np.zeros(0), np.zeros(0, np.int64)
        return cls(np.zeros(0, np.uint64), nowhere, nowhere, np.zeros((0, BINS)), nothing, nothing, nothing)

    @classmethod
    def _counted(cls, states: Words, edges: Ints, edge: Ints, took: Floats, weight: Floats) -> Sojourns:
        width, size = len(states) + 2, len(edges)
        bins = summed(edge * BINS + bin_of(took), weight, size * BINS).reshape(size, BINS)
        least, most = np.full(size, np.inf), np.zeros(size)
        np.minimum.at(least, edge, took)
        np.maximum.at(most, edge, took)
        total = summed(edge, weight * took, size)
        return cls(states, edges // width, edges % width - 2, bins, total, least, most)

    def scaled(self, factor: float) -> Sojourns:
        return Sojourns(
            self.states, self.source, self.target, self.bins * factor, self.total * factor, self.least, self.most
        )

    def over(self, states: Words, number: Ints) -> Sojourns:
        """The same over other configurations: number i becomes `number[i]`. Edges that fall together are added.

        What then leads back to its own configuration is no longer a change; it goes, and its sojourn ends too early.
        """
        source = number[self.source]
        target = np.where(self.target < 0, self.target, number[np.where(self.target < 0, self.source, self.target)])
        kept = source != target
        width = len(states) + 2
        edges, edge = np.unique((source * width + target + 2)[kept], return_inverse=True)
        size = len(edges)
        bins, total = np.zeros((size, BINS)), np.zeros(size)
        least, most = np.full(size, np.inf), np.zeros(size)
        np.add.at(bins, edge, self.bins[kept])
        np.add.at(total, edge, self.total[kept])
        np.minimum.at(least, edge, self.least[kept])
        np.maximum.at(most, edge, self.most[kept])
        return Sojourns(states, edges // width, edges % width - 2, bins, total, least, most)


def merge(a: Sojourns, b: Sojourns) -> Sojourns:
    """All that either has seen."""
    joined = Sojourns(
        np.concatenate([a.states, b.states]),
        np.concatenate([a.source, b.source + len(a.states)]),
        np.concatenate([a.target, np.where(b.target < 0, b.target, b.target + len(a.states))]),
        np.concatenate([a.bins, b.bins]),
        np.concatenate([a.total, b.total]),
        np.concatenate([a.least, b.least]),
        np.concatenate([a.most, b.most]),
    )
    merged = _told_apart(joined, joined.states)
    return merged if len(merged.source) <= MOST_EDGES else _told_apart(merged, furthest(merged.states))


def _told_apart(some: Sojourns, by: Words) -> Sojourns:
    states = np.unique(by)
    return some.over(states, np.searchsorted(states, by))

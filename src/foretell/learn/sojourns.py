"""How long a configuration lasts before the next, or a match, ends it.

A sojourn begins when a configuration is entered and ends when it changes or a match is completed; events that leave it
as it is are just time. What had not ended when the trace did is kept as STILL: it is known to have lasted so long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.learn.histogram import BINS, bin_of
from foretell.learn.trace import Floats, Ints, Steps, Trace, Words, summed

#: What ends a sojourn, besides another configuration.
MATCH, STILL = -1, -2


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
        state, time = trace.state[steps.row], trace.time[steps.row]
        changed = steps.first | trace.matched[steps.row] | (state != steps.source)
        entered = np.maximum.accumulate(np.where(changed, np.arange(len(state)), 0))
        ended = np.flatnonzero(changed & ~steps.first)
        still = np.flatnonzero(steps.last)
        process = trace.process[steps.row[still]]
        took = np.concatenate([time[ended] - time[entered[ended - 1]], trace.seen_time[process] - time[entered[still]]])
        source = np.concatenate([steps.source[ended], state[still]])
        states = np.unique(np.concatenate([source, state[ended]]))
        target = np.searchsorted(states, state[ended])
        target[trace.matched[steps.row[ended]]] = MATCH
        target = np.concatenate([target, np.full(len(still), STILL)])
        weights = weight[steps.row[np.concatenate([ended, still])]]
        known = (target != STILL) | (took > 0)
        return cls._counted(states, np.searchsorted(states, source)[known], target[known], took[known], weights[known])

    @classmethod
    def _counted(cls, states: Words, source: Ints, target: Ints, took: Floats, weight: Floats) -> Sojourns:
        took = np.maximum(took, 0.0)  # clocks that went back
        width = len(states) + 2
        edge_of = source * width + (target + 2)
        edges = np.unique(edge_of)  # which is ten times as quick without its inverse
        edge, size = np.searchsorted(edges, edge_of), len(edges)
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
    states = np.unique(np.concatenate([a.states, b.states]))
    joined = Sojourns(
        np.concatenate([a.states, b.states]),
        np.concatenate([a.source, b.source + len(a.states)]),
        np.concatenate([a.target, np.where(b.target < 0, b.target, b.target + len(a.states))]),
        np.concatenate([a.bins, b.bins]),
        np.concatenate([a.total, b.total]),
        np.concatenate([a.least, b.least]),
        np.concatenate([a.most, b.most]),
    )
    return joined.over(states, np.searchsorted(states, joined.states))

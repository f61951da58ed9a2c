"""Sojourn times: how long a configuration lasts until another one, or a match, ends it.

A sojourn starts when a process enters a configuration and ends when the configuration changes or a match is completed;
events that leave it unchanged do not end it. A sojourn that had not ended when the trace did is CENSORED: it is known
to have lasted at least so long.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.learn.histogram import BINS, bin_of
from foretell.learn.trace import Trace, TraceTransitions, furthest, unique_codes, weighted_bincount
from foretell.records import record

#: Targets of a sojourn besides configurations.
MATCH, CENSORED = -1, -2

#: With more edges than this, configurations are reduced to their most advanced partial match: a histogram is large.
MAX_EDGES = 10_000


@record
class Sojourns:
    """For each edge from configuration to configuration a histogram of sojourn times.

    `states` are configurations; `source[e]` and `target[e]` index them, except for the targets MATCH and CENSORED.
    `bins[e]` are weights by histogram.bin_of; `total[e]` is the weighted sum of the times, `least[e]` and `most[e]`
    bound them.
    """

    states: Words
    source: Ints
    target: Ints
    bins: Floats
    total: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, trace: Trace, transitions: TraceTransitions, weight: Floats) -> Sojourns:
        """`weight` is that of each row of the trace."""
        states = np.unique(np.append(trace.state, np.uint64(0)))
        state, row = np.searchsorted(states, transitions.state), transitions.row
        time, matched = trace.time[row], trace.matched[row]
        changed = transitions.first | matched | (transitions.state != transitions.source)
        entered = np.maximum.accumulate(np.where(changed, np.arange(len(state)), 0))
        ended = np.flatnonzero(changed & ~transitions.first)
        last_time = trace.last_time[transitions.process]
        censored = np.flatnonzero(transitions.last & (last_time > time[entered]))
        lasted = np.concatenate([time[ended] - time[entered[ended - 1]], last_time[censored] - time[entered[censored]]])
        source = np.concatenate([state[ended - 1], state[censored]])
        target = np.concatenate([np.where(matched[ended], MATCH, state[ended]), np.full(len(censored), CENSORED)])
        weights = weight[row[np.concatenate([ended, censored])]]
        width = len(states) + 2
        edges, edge = unique_codes(source * width + target + 2, len(states) * width)
        if len(edges) > MAX_EDGES:  # after reduction there are at most 65 configurations
            reduced = replace(trace, state=furthest(trace.state))
            return cls.of(reduced, TraceTransitions.of(reduced), weight)
        return cls._counted(states, edges, edge, np.maximum(lasted, 0.0), weights)  # clocks may go back

    @classmethod
    def none(cls) -> Sojourns:
        nothing, nowhere = np.zeros(0), np.zeros(0, np.int64)
        return cls(np.zeros(0, np.uint64), nowhere, nowhere, np.zeros((0, BINS)), nothing, nothing, nothing)

    @classmethod
    def _counted(cls, states: Words, edges: Ints, edge: Ints, lasted: Floats, weight: Floats) -> Sojourns:
        width, size = len(states) + 2, len(edges)
        bins = weighted_bincount(edge * BINS + bin_of(lasted), weight, size * BINS).reshape(size, BINS)
        least, most = np.full(size, np.inf), np.zeros(size)
        np.minimum.at(least, edge, lasted)
        np.maximum.at(most, edge, lasted)
        total = weighted_bincount(edge, weight * lasted, size)
        return cls(states, edges // width, edges % width - 2, bins, total, least, most)

    def scaled(self, factor: float) -> Sojourns:
        return replace(self, bins=self.bins * factor, total=self.total * factor)

    def renumbered(self, states: Words, number: Ints) -> Sojourns:
        """The same over other configurations: i becomes `number[i]`. Edges that become equal are added.

        An edge that then leads back to its source is no longer a change and is dropped, which ends its sojourn early.
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

    def grouped_by(self, configurations: Words) -> Sojourns:
        """The same with configuration i replaced by `configurations[i]`."""
        states = np.unique(configurations)
        return self.renumbered(states, np.searchsorted(states, configurations))


def merge_sojourns(a: Sojourns, b: Sojourns) -> Sojourns:
    joined = Sojourns(
        np.concatenate([a.states, b.states]),
        np.concatenate([a.source, b.source + len(a.states)]),
        np.concatenate([a.target, np.where(b.target < 0, b.target, b.target + len(a.states))]),
        np.concatenate([a.bins, b.bins]),
        np.concatenate([a.total, b.total]),
        np.concatenate([a.least, b.least]),
        np.concatenate([a.most, b.most]),
    )
    merged = joined.grouped_by(joined.states)
    return merged if len(merged.source) <= MAX_EDGES else merged.grouped_by(furthest(merged.states))

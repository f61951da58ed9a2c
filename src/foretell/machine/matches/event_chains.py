"""The events and gaps of finished matches, gathered from registers and from the kernel's chains.

The kernel links the events of repeated steps, and the gaps that must be searched later, to chains of nodes; a gap is
two nodes. Here the events of all matches come into flat arrays, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.jit import compiled
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.matches.bound_events import BoundEvents
from foretell.records import record


@record
class Gaps:
    """Gaps between events, to be searched for absent or counted steps: each one's match, the number of its step in
    `PostMatchPlan.gaps`, and the positions of the events around it."""

    match: Ints
    number: Ints
    after: Ints
    before: Ints

    @classmethod
    def none(cls) -> Gaps:
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    def of(self, number: int) -> Gaps:
        same = self.number == number
        return Gaps(self.match[same], self.number[same], self.after[same], self.before[same])

    def filter(self, keep: Flags, numbers: Ints) -> Gaps:
        """The gaps of some matches; `numbers` has the new number of each match."""
        kept = keep[self.match]
        return Gaps(numbers[self.match[kept]], self.number[kept], self.after[kept], self.before[kept])


def gather_events(raw: RawMatches, positions: Sequence[Ints | None]) -> tuple[BoundEvents, Gaps]:
    """`positions` has for each step the positions of its events (-1: unbound), or None if its events are in chains."""
    chain = raw.chain.astype(np.int64, copy=False)
    steps = np.array([step for step, known in enumerate(positions) if known is not None], np.int64)
    known = [column for column in positions if column is not None]
    single = np.stack(known) if known else np.zeros((0, len(raw)), np.int64)
    starts, gap_starts = _sizes(chain, raw.nodes, single)
    match, step, position = (np.empty(starts[-1], np.int64) for _ in range(3))
    gaps = tuple(np.empty(gap_starts[-1], np.int64) for _ in range(4))
    _gather(chain, raw.nodes, steps, single, (starts, match, step, position), (gap_starts, *gaps))
    return BoundEvents(raw.lane, starts, position, step), Gaps(*gaps)


def chained_events(raw: RawMatches, step: int, match: Ints) -> tuple[Ints, Ints]:
    """The events of a repeated step in these matches, from their chains alone: where those of each end, from 0 on, and
    their positions."""
    chain = raw.chain.astype(np.int64, copy=False)
    ends = _chained_ends(chain, raw.nodes, step, match)
    return ends, _chained_positions(chain, raw.nodes, step, match, ends)


@compiled
def _chained_ends(chain: Ints, nodes: Any, step: int, match: Ints) -> Ints:
    (parent, _, node_step) = nodes
    ends = np.zeros(match.size + 1, np.int64)
    for i in range(match.size):
        count = 0
        node = chain[match[i]]
        while node != -1:
            if node_step[node] == step:
                count += 1
            node = parent[node]
        ends[i + 1] = ends[i] + count
    return ends


@compiled
def _chained_positions(chain: Ints, nodes: Any, step: int, match: Ints, ends: Ints) -> Ints:
    (parent, node_position, node_step) = nodes
    positions = np.empty(ends[-1], np.int64)
    for i in range(match.size):
        at = ends[i + 1]
        node = chain[match[i]]
        while node != -1:  # from the latest event to the earliest
            if node_step[node] == step:
                at -= 1
                positions[at] = node_position[node]
            node = parent[node]
    return positions


@compiled
def _sizes(chain: Ints, nodes: Any, single: Ints) -> tuple[Ints, Ints]:
    """The starts of each match's events and gaps in the flat arrays, and the ends of the last."""
    (parent, _, step) = nodes
    starts = np.zeros(chain.size + 1, np.int64)
    gap_starts = np.zeros(chain.size + 1, np.int64)
    for i in range(chain.size):
        events, gaps = 0, 0
        for k in range(single.shape[0]):
            if single[k, i] >= 0:
                events += 1
        node = chain[i]
        while node != -1:
            if step[node] >= 0:
                events += 1
            else:
                gaps += 1
            node = parent[node]
        starts[i + 1] = starts[i] + events
        gap_starts[i + 1] = gap_starts[i] + gaps // 2
    return starts, gap_starts


@compiled
def _gather(chain: Ints, nodes: Any, steps: Ints, single: Ints, events: Any, gaps: Any) -> None:
    """Writes the events of each match, from `single` and from its chain, in order; and its gaps."""
    (parent, node_position, node_step) = nodes
    (starts, match, step, position) = events
    (gap_starts, gap_match, number, after, before) = gaps
    for i in range(chain.size):
        first, last, gap = starts[i], starts[i + 1], gap_starts[i]
        match[first:last] = i
        node = chain[i]
        while node != -1:  # from the latest event to the earliest
            if node_step[node] >= 0:
                last -= 1
                position[last], step[last] = node_position[node], node_step[node]
                node = parent[node]
            else:
                # A gap is two nodes, the later one first: see GAP in the kernels.
                gap_match[gap] = i
                number[gap] = -node_step[node] // 2 - 1
                before[gap] = node_position[node]
                after[gap] = node_position[parent[node]]
                gap += 1
                node = parent[parent[node]]
        # The events of the chain are in order. The others, which are few, go to their places among them.
        for k in range(steps.size - 1, -1, -1):
            if single[k, i] < 0:
                continue
            last -= 1
            at = last
            while at + 1 < starts[i + 1] and position[at + 1] < single[k, i]:
                position[at], step[at] = position[at + 1], step[at + 1]
                at += 1
            position[at], step[at] = single[k, i], steps[k]

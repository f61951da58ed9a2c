"""The events and gaps of finished matches, gathered from registers and from the kernel's chains.

The kernel links the events of repeated steps, and the gaps that must be searched later, to chains of nodes; a gap is
two nodes. Here the events of all matches come into flat arrays, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.jit import compiled
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.matches.bound_events import BoundEvents


@dataclass(frozen=True)
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
        first, at, gap = starts[i], starts[i], gap_starts[i]
        node = chain[i]
        taken = 0
        while taken < steps.size or node != -1:
            if taken < steps.size:
                new_step, new_position = steps[taken], single[taken, i]
                taken += 1
                if new_position < 0:
                    continue
            else:
                new_step, new_position = node_step[node], node_position[node]
                if new_step < 0:
                    # A gap is two nodes, the later one first: see GAP in the kernels.
                    gap_match[gap] = i
                    number[gap] = -new_step // 2 - 1
                    before[gap] = new_position
                    after[gap] = node_position[parent[node]]
                    gap += 1
                    node = parent[parent[node]]
                    continue
                node = parent[node]
            # Matches are short and their events almost sorted, so insertion sort is enough.
            to = at
            while to > first and position[to - 1] > new_position:
                position[to], step[to] = position[to - 1], step[to - 1]
                to -= 1
            match[at], position[to], step[to] = i, new_position, new_step
            at += 1

"""The edges that each event of a batch begins runs along: the index of starts of an NFA that many statements share."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.machine.kernels.layout import EDGE_PREDICATE, NONE
from foretell.machine.kernels.structs import StartHits
from foretell.plan.lower.program import CompiledNfa

#: An NFA that begins along fewer edges asks all of them.
FEWEST_STARTS = 16

#: So many edges for each event are written down; where events begin more runs, all starts are asked.
MOST_HITS = 2

_NO_HITS = StartHits(np.zeros(0, np.int64), np.zeros(0, np.uint64))


class StartIndex:
    """Finds the hits of batches. `predicates` are those of the edges that a run begins with."""

    def __init__(self, nfa: CompiledNfa) -> None:
        self._edges: Ints = nfa.tables.starts.astype(np.int64)
        self.predicates: Ints = nfa.tables.edges[self._edges, EDGE_PREDICATE].astype(np.int64)
        few = len(self._edges) < FEWEST_STARTS or not nfa.strict or nfa.lockstep
        self.applies = not few and not (self.predicates == int(NONE)).any()

    def arrays(self, size: int) -> StartHits:
        """Room for the hits of so many events."""
        if not self.applies:
            return _NO_HITS
        return StartHits(np.zeros(size + 1, np.int64), np.zeros(MOST_HITS * size, np.uint64))

    def write(self, hits: StartHits, holds: Flags, count: int) -> int | None:
        """Write the hits of a batch, from the flags of its predicates; return how many there are, None if too many."""
        hits.offsets[0] = -1
        found: dict[int, Ints] = {}
        rows: list[Ints] = []
        total = 0
        for predicate in self.predicates.tolist():
            if predicate not in found:
                found[predicate] = np.flatnonzero(holds[predicate, :count])
            rows.append(found[predicate])
            total += len(rows[-1])
            if total > MOST_HITS * count:
                return None
        row = np.concatenate(rows)
        by_row = np.argsort(row, kind="stable")  # edges stay in their order
        hits.edges[:total] = np.repeat(self._edges, [len(part) for part in rows])[by_row]
        hits.offsets[: count + 1] = np.searchsorted(row[by_row], np.arange(count + 1))
        return total

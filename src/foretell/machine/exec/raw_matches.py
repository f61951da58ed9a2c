"""Matches as an executor hands them over, before HAVING, AFTER MATCH and RETURN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.machine.kernels.structs import Nodes
from foretell.records import record

#: Chains of no match lead here.
NO_NODES = Nodes(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))

#: The memory that it takes to make results of matches, in multiples of what the kernel writes of them.
WORK_ON_MATCHES = 16


@record
class RawMatches:
    """Columns of matches in the order of their last events; `position` is -1 where time completed the match.

    `slots` are the registers that a match carries; `chain` leads to the events of its repeated steps, in `nodes`.
    """

    state: Ints
    lane: Ints
    position: Ints
    first: Ints
    chain: Ints
    rows: Ints
    slots: Ints
    nulls: NDArray[np.uint8]
    nodes: Nodes

    def __len__(self) -> int:
        return len(self.lane)

    @classmethod
    def joined(cls, parts: list[RawMatches]) -> RawMatches:
        """The matches of several batches, whose events are known already: their chains lead nowhere."""
        columns: Any = [replace(part, chain=np.full(len(part), -1)).columns for part in parts]
        whole: Any = (*map(np.concatenate, zip(*columns, strict=True)), parts[-1].nodes)
        return cls(*whole)

    def only(self, keep: Flags | Ints | slice) -> RawMatches:
        return RawMatches(*(*(column[keep] for column in self.columns), self.nodes))

    @property
    def columns(self) -> tuple[Any, ...]:
        return self.state, self.lane, self.position, self.first, self.chain, self.rows, self.slots, self.nulls

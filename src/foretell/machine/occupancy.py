"""The occupancy of a runtime: its partial matches, in all and in the fullest lane, and its memory."""

from __future__ import annotations

import numpy as np

from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.machine.exec.profile_executor import ProfileExecutor
from foretell.machine.kernels import layout
from foretell.machine.runtime import MatchRuntime
from foretell.records import record


@record
class Occupancy:
    """The number of partial matches, of those in the fullest lane, and the bytes that a runtime holds."""

    partial: int = 0
    in_lane: int = 0
    memory: int = 0

    def most(self, other: Occupancy) -> Occupancy:
        """The greater figures of two moments."""
        return Occupancy(
            max(self.partial, other.partial), max(self.in_lane, other.in_lane), max(self.memory, other.memory)
        )


def occupancy_of(runtime: MatchRuntime) -> Occupancy:
    """The occupancy after the latest batch."""
    partial, in_lane = 0, 0
    for group in runtime.groups.values():
        for nfa_group in group.nfa_groups:
            executor = nfa_group.executor
            if executor is not None:
                partial += executor.alive
                in_lane = max(in_lane, _in_fullest_lane(executor))
        group.account()
    return Occupancy(partial, in_lane, sum(runtime.ledger.bytes.values()))


def _in_fullest_lane(executor: NfaExecutor | ArrivalExecutor | ProfileExecutor) -> int:
    if isinstance(executor, ProfileExecutor):
        return 0
    if isinstance(executor, ArrivalExecutor):
        return int(executor.ring.held.max(initial=0))
    lanes = executor.pool.cells[executor.pool.in_use, layout.RUN_LANE]
    return int(np.bincount(lanes).max(initial=0)) if len(lanes) else 0

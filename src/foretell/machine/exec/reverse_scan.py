"""Runs the batches of an NFA through `foretell.machine.kernels.reverse_scan`, where that is quicker."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foretell.machine.kernels import reverse_scan
from foretell.machine.kernels.layout import (
    CHAIN,
    COUNT_KNOWN,
    EDGE_FINAL,
    EDGE_TARGET,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
    LACKING,
    LONGEST,
    RUN_LANE,
    SET,
    SUM_FLOAT,
)
from foretell.machine.kernels.lockstep import SEVERAL
from foretell.machine.kernels.reverse_scan import DONE, NOTHING
from foretell.plan.lower.program import CompiledNfa

if TYPE_CHECKING:
    from foretell.machine.exec.nfa_executor import NfaExecutor

#: Batches of fewer events go one by one: looking at all lanes would take longer.
LEAST = 256

#: So many matches are made together: their registers stay in the cache.
TOGETHER = 1024

#: No machine that is run in reverse computes, so it needs no stacks.
NO_STACKS = np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.uint8)


class ReverseScan:
    """A machine that is worked on so, where a batch allows it."""

    def __init__(self, machine: CompiledNfa) -> None:
        self.machine = machine

    @cached_property
    def _known(self) -> tuple[Any, ...]:
        """What the kernels are told of it: the places of states and where edges lead, as foresee has them; the steps
        that edges chain; of each final slot its kind, its column, the slot that is counted along with it (its own where
        there is none), and the updates that change it, by edges."""
        tables, waiting = self.machine.tables, self.machine.waiting
        edges, updates, finals = (table.astype(np.int64) for table in (tables.edges, tables.updates, tables.finals))
        places = np.zeros(self.machine.states, np.uint8)
        places[waiting] = np.arange(len(waiting))
        leads = np.full(256, len(waiting), np.uint8)
        leads[: len(edges)] = np.where(edges[:, EDGE_FINAL], len(waiting) + 1, places[edges[:, EDGE_TARGET]])
        chained = np.full(256, -1, np.int64)
        kinds, columns = np.full(len(finals), -1), np.zeros(len(finals), np.uint64)
        changes = np.full((len(finals), 256), -1, np.int64)
        for edge, (first, stop) in enumerate(edges[:, [EDGE_UPDATES, EDGE_UPDATES_STOP]]):
            for update in range(first, stop):
                kind, slot, argument = updates[update, :3]
                if kind == CHAIN:
                    chained[edge] = argument
                for at in np.flatnonzero(finals == slot) if kind != CHAIN else ():
                    other = kinds[at] not in (-1, kind) or (kinds[at] == kind and columns[at] != argument)
                    kinds[at], columns[at] = (SET if other else kind), argument
                    changes[at, edge] = update
        keeps = (changes >= 0).astype(np.uint8)
        counted = np.arange(len(finals))
        for i, j in product(np.flatnonzero(kinds == SUM_FLOAT), np.flatnonzero(kinds == COUNT_KNOWN)):
            if columns[i] == columns[j] and (keeps[i] == keeps[j]).all() and kinds[j] != DONE:
                counted[i], kinds[j] = j, DONE
        return places, leads, chained, kinds, columns, counted, keeps, changes, self.machine.chains

    def apply(self, stage: NfaExecutor, ways: NDArray[np.uint8]) -> bool:
        """Whether a batch is worked on so."""
        machine, count = self.machine, ways.shape[1]
        if not self._gains(stage, count) or stage.sight is not None or stage.refused:
            return False
        # There can be no more partial matches than this, in one lane or in all: no limit has to be looked at.
        most = stage.alive + count * len(machine.tables.starts)
        return most <= min(stage.limits.lane, stage.ledger.left) and not (ways == int(SEVERAL)).any()

    def _gains(self, stage: NfaExecutor, count: int) -> bool:
        """Whether it is worth it: there are more events than there is to look at."""
        if not self.machine.kernel.reverse_scan.value or count < LEAST:
            return False
        return stage.alive <= count and stage.lanes[0].size <= 2 * count

    def run(self, stage: NfaExecutor, base: int, given: tuple[Any, ...], make_room: Callable[[], None]) -> None:
        """Feeds a whole batch to a stage."""
        code, events, batch, (waiting, ways, _) = given
        known, tables, count = self._known, self.machine.tables, ways.shape[1]
        lanes, begun, carried = len(stage.lanes[0]), count * len(tables.starts), stage.in_use
        fates = np.full((lanes, len(waiting) + 2), count, np.uint32)
        fates[:, len(waiting)] = count + 1
        nexts, following = np.full(lanes, NOTHING), np.empty(count, np.uint32)
        ends, same = np.full(count + 2, NOTHING), np.empty(begun + len(carried), np.uint32)
        begins = tables.starts, tables.edges, events[3], events[0]
        matches = reverse_scan.foresee(*begins, ways, known[1], fates, nexts, following, ends, same)
        pool, *_, counters = stage.arrays()
        reverse_scan.attach(carried, known[0], stage.cells, fates, ends, same, pool[2], counters)
        stage.make_room_for(reverse_scan.left(int(ends[count]), same) + 1, matches + len(carried), count)
        foreseen = ways, nexts, following, ends, same, carried
        together = (
            np.empty(TOGETHER, np.uint32),
            np.empty(TOGETHER + 1, np.uint32),
            np.empty(count + 8 * TOGETHER, np.uint32),
            np.empty(count + 8 * TOGETHER, np.uint8),
        )
        done = 0
        while True:
            pool, _, registers, _, output, _ = stage.arrays()
            machine = tuple(tables), code, events, batch, pool, registers
            given = known, foreseen, together, NO_STACKS
            if done < count:
                slots = output[6]
                output = *output[:7], slots.view(np.float64), output[7]
                done = reverse_scan.fulfil(done, base, *machine, output, counters, *given)
            if done == count:
                reverse_scan.leave(base, *machine, counters, *given)
            if not counters[LACKING]:
                break
            make_room()
        stage.enlist()
        length = stage.lanes[1]
        length[:] = np.bincount(stage.cells[stage.in_use, RUN_LANE], minlength=lanes)
        counters[LONGEST] = max(counters[LONGEST], length.max(initial=0))

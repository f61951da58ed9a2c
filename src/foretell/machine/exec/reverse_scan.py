"""Runs the batches of an NFA through `foretell.machine.kernels.reverse_scan`, where that is quicker."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foretell.machine.exec.kernel_variants import Extent, kernel_for
from foretell.machine.exec.raw_matches import WORK_ON_MATCHES
from foretell.machine.kernels import reverse_scan
from foretell.machine.kernels.layout import (
    CHAIN,
    COUNT_KNOWN,
    EDGE_FINAL,
    EDGE_TARGET,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
    LACKING,
    RUN_FIRST,
    SET,
    SUM_FLOAT,
    UPDATE_ARGUMENT,
    UPDATE_KIND,
    UPDATE_SLOT,
)
from foretell.machine.kernels.lockstep import SEVERAL
from foretell.machine.kernels.reverse_scan import DONE, NOTHING, Paths, RunEnds, Scratch
from foretell.machine.kernels.structs import Batch
from foretell.plan.lower.program import CompiledNfa

if TYPE_CHECKING:
    from foretell.machine.exec.nfa_executor import NfaExecutor

#: Batches of fewer events go one by one: looking at all lanes would take longer.
LEAST = 256

#: So many matches are made together: their registers stay in the cache.
TOGETHER = 1024


class ReverseScan:
    """Scans whole batches of an NFA's events in reverse, where a batch allows it."""

    def __init__(self, nfa: CompiledNfa) -> None:
        self.nfa = nfa

    @cached_property
    def _paths(self) -> Paths:
        tables, waiting = self.nfa.tables, self.nfa.waiting
        edges, updates, finals = (table.astype(np.int64) for table in (tables.edges, tables.updates, tables.finals))
        places = np.zeros(self.nfa.states, np.uint8)
        places[waiting] = np.arange(len(waiting))
        leads = np.full(256, len(waiting), np.uint8)
        leads[: len(edges)] = np.where(edges[:, EDGE_FINAL], len(waiting) + 1, places[edges[:, EDGE_TARGET]])
        chained = np.full(256, -1, np.int64)
        kinds, columns = np.full(len(finals), -1), np.zeros(len(finals), np.uint64)
        changes = np.full((len(finals), 256), -1, np.int64)
        for edge, (first, stop) in enumerate(edges[:, [EDGE_UPDATES, EDGE_UPDATES_STOP]]):
            for update in range(first, stop):
                kind, slot, argument = updates[update, [UPDATE_KIND, UPDATE_SLOT, UPDATE_ARGUMENT]]
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
        return Paths(
            places=places,
            leads=leads,
            chained=chained,
            kinds=kinds,
            columns=columns,
            counted=counted,
            keeps=keeps,
            changes=changes,
            chains=self.nfa.chains,
        )

    def applies(self, executor: NfaExecutor, ways: NDArray[np.uint8]) -> bool:
        """Whether a batch with these ways is scanned in reverse."""
        count = ways.shape[1]
        if not self.pays_off(executor, count) or executor.probe is not None or executor.stopped:
            return False
        # There can be no more partial matches than this, in one lane or in all: no limit has to be looked at.
        most, ledger = executor.alive + count * len(self.nfa.tables.starts), executor.ledger
        if most > min(ledger.limits.lane, ledger.remaining) or (ways == int(SEVERAL)).any():
            return False
        work = WORK_ON_MATCHES * executor.output.size_of(most)
        return bool(executor.pool.rows_within(ledger.remaining_bytes - work) > most)

    def pays_off(self, executor: NfaExecutor, count: int) -> bool:
        """Whether there are more events than there is to look at."""
        if not self.nfa.kernel.reverse_scan.value or count < LEAST:
            return False
        return executor.alive <= count and executor.pool.lanes.heads.size <= 2 * count

    def run(self, executor: NfaExecutor, batch: Batch, ways: NDArray[np.uint8]) -> None:
        """Process a whole batch."""
        paths, tables, pool, count = self._paths, self.nfa.tables, executor.pool, ways.shape[1]
        lanes, carried = len(pool.lanes.heads), pool.in_use
        # Matches come in the order of their first events, as notifications do.
        carried = carried[np.argsort(pool.cells[carried, RUN_FIRST], kind="stable")]
        # Of each lane and place the event with which a run there is over.
        ends_at = np.full((lanes, len(ways) + 2), count, np.uint32)
        ends_at[:, len(ways)] = count + 1
        run_ends = RunEnds(
            ways=ways,
            nexts=np.full(lanes, NOTHING),
            following=np.empty(count, np.uint32),
            ends=np.full(count + 2, NOTHING),
            same=np.empty(count * len(tables.starts) + len(carried), np.uint32),
            carried=carried,
        )
        matches = reverse_scan.find_run_ends(tables, batch.events, paths.leads, ends_at, run_ends)
        reverse_scan.add_carried(paths.places, ends_at, run_ends, pool.arrays)
        left = reverse_scan.list_length(int(run_ends.ends[count]), run_ends.same)
        pool.reserve(left + 1, count)
        executor.output.reserve(matches + len(carried))
        scratch = Scratch(
            members=np.empty(TOGETHER, np.uint32),
            offsets=np.empty(TOGETHER + 1, np.uint32),
            rows=np.empty(count + 8 * TOGETHER, np.uint32),
            taken=np.empty(count + 8 * TOGETHER, np.uint8),
        )
        done = 0
        while True:
            runs, output = pool.arrays, executor.output.arrays
            if done < count:
                float_slots = output.slots.view(np.float64)
                done = kernel_for(reverse_scan.make_matches, Extent.PREDICATES)(
                    done, tables, batch, runs, output, float_slots, paths, run_ends, scratch
                )
            if done == count:
                kernel_for(reverse_scan.leave_runs, Extent.PREDICATES)(tables, batch, runs, paths, run_ends, scratch)
            if not pool.counters[LACKING]:
                break
            executor.make_room(batch.base + count)
        pool.link_runs()
        pool.count_lanes()

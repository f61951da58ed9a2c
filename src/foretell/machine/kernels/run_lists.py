"""The lists of runs: how runs leave them, are released and swept, and how the nodes of their chains are compacted."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.decorators import compiled, inlined
from foretell.machine.kernels.layout import (
    ALIVE,
    DEAD,
    FREE,
    NONE,
    RUN_BEGAN,
    RUN_LANE,
    RUN_LIST,
    RUN_NEXT,
    RUN_OVER,
    RUN_SERIAL,
    RUN_STATE,
    STATE_WAITS,
    Array,
    S,
    U,
)
from foretell.machine.kernels.structs import NfaTables, Nodes, Runs


@inlined
def release(run: Any, runs: Runs) -> None:
    """Give a run back to the pool."""
    cells, counters = runs.registers.integers, runs.counters
    cells[run, RUN_OVER] = ALIVE
    cells[run, RUN_SERIAL] += 1
    runs.free[U(counters[FREE])] = run
    counters[FREE] += 1
    runs.lanes.lengths[U(cells[run, RUN_LANE])] -= 1


@inlined
def unlink(previous: Any, next_run: Any, place: Any, state: Any, runs: Runs) -> None:
    """Take a run out of its list, in which it stands behind `previous` (NONE: first)."""
    if previous == NONE:
        runs.lanes.heads[place, state] = next_run
    else:
        runs.registers.integers[previous, RUN_NEXT] = S(next_run)


@compiled
def sweep(now: Any, strict: bool, tables: NfaTables, runs: Runs, in_use: Array, dead: Array) -> int:
    """Release runs that can come to nothing: those that are over, too late, or at a dead state; return how many.

    Lanes that have gone quiet keep such runs until room runs out. Only their lists are walked; `strict` says that
    lists are by lane alone.
    """
    cells, heads = runs.registers.integers, runs.lanes.heads
    for i in range(in_use.size):
        run = U(in_use[i])
        state = U(cells[run, RUN_STATE])
        within = tables.state_within[state]
        late = within >= 0 and not tables.states[state, STATE_WAITS] and now > runs.times[run, RUN_BEGAN] + within
        if cells[run, RUN_OVER] == ALIVE and (late or dead[state]):
            cells[run, RUN_OVER] = DEAD
    freed = 0
    for i in range(in_use.size):
        over = U(in_use[i])
        if cells[over, RUN_OVER] != DEAD:
            continue
        place = cells[over, RUN_LANE] if strict else cells[over, RUN_LIST]
        state_list = cells[over, RUN_STATE] if heads.shape[1] > 1 else 0
        previous = NONE
        run = U(heads[place, state_list])
        while run != NONE:
            next_run = U(cells[run, RUN_NEXT])
            if cells[run, RUN_OVER] == DEAD:
                unlink(previous, next_run, place, state_list, runs)
                release(run, runs)
                freed += 1
            else:
                previous = run
            run = next_run
    return freed


@compiled
def link_runs(in_use: Array, cells: Array, heads: Array) -> None:
    """Put the runs of a strict NFA into the lists of their lanes: one for each state, or one for all."""
    for run in in_use:
        place = cells[run, RUN_LANE]
        state_list = cells[run, RUN_STATE] if heads.shape[1] > 1 else 0
        cells[run, RUN_NEXT] = heads[place, state_list]
        heads[place, state_list] = run


@compiled
def keep_nodes(used: int, in_use: Array, chain: Array, nodes: Nodes, new: Nodes) -> int:
    """Copy the nodes that runs lead to, in their order, to other arrays; return how many."""
    place = np.full(used, -1, np.int64)
    for i in range(in_use.size):
        node = np.int64(chain[in_use[i]])
        while node != -1 and place[node] == -1:
            place[node] = 0
            node = np.int64(nodes.parent[node])
    kept = 0
    for old in range(used):
        if place[old] == 0:
            place[old] = kept
            # A node comes after its parent, so the parent has its new place already.
            new.parent[kept] = -1 if nodes.parent[old] == -1 else place[nodes.parent[old]]
            new.position[kept] = nodes.position[old]
            new.step[kept] = nodes.step[old]
            kept += 1
    for i in range(in_use.size):
        if chain[in_use[i]] != -1:
            chain[in_use[i]] = place[chain[in_use[i]]]
    return kept

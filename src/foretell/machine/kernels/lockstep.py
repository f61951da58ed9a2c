"""NFA runs in lockstep: every operator is `,` and predicates answered every guard for the whole batch (w1, w3, w6).

Then the runs of a lane at one state all go the same way. `find_ways` works out which way for the whole batch, an event
finds it by one look, and the list of a state is handed on as it is; what is left for each run is to update its
registers. `strict` does the same for all other patterns under `,`, run by run.

A run's cells are addressed by where they begin (`at`) in one dimension, which is computed once for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.actions import aggregate, copy, lacking, open_fan
from foretell.machine.kernels.batches import joined_batch
from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.layout import (
    CHAIN,
    COUNT,
    COUNT_KNOWN,
    COUNTED,
    CROWDED,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_TARGET,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
    FREE,
    FULL_LANE,
    LACKING,
    LONGEST,
    MATCHES,
    NODES,
    NONE,
    POSITION,
    RUN_BEGAN,
    RUN_CHAIN,
    RUN_FIRST,
    RUN_LANE,
    RUN_NEXT,
    RUN_ROWS,
    RUN_STATE,
    SET,
    STATE_EDGES,
    STATE_EDGES_STOP,
    SUM_FLOAT,
    UPDATE_ARGUMENT,
    UPDATE_KIND,
    UPDATE_SLOT,
    WANTED,
    Array,
    S,
    U,
)
from foretell.machine.kernels.probe import probe_states, show_nothing
from foretell.machine.kernels.structs import (
    Batch,
    BatchEvents,
    Evaluated,
    Lockstep,
    NfaTables,
    Output,
    ProbeArrays,
    Runs,
    Values,
)

#: The way where no edge holds, and where several do; else the way is the edge.
NO_WAY: Any = np.uint64(255)
SEVERAL: Any = np.uint64(254)


@kernel
def find_ways(waiting: Array, states: Array, edges: Array, predicates: Array, ways: Array) -> None:
    """Find the edge along which each event takes the runs of each waiting state."""
    for i in range(U(waiting.size)):
        for row in range(U(ways.shape[1])):
            ways[i, row] = NO_WAY
        for edge in range(states[waiting[i], STATE_EDGES], states[waiting[i], STATE_EDGES_STOP]):
            predicate = edges[edge, EDGE_PREDICATE]
            for row in range(U(ways.shape[1])):
                # Without branches, so that the processor looks at many events together.
                known = ways[i, row]
                way = np.uint8(edge) if known == np.uint8(NO_WAY) else np.uint8(SEVERAL)
                ways[i, row] = way if predicate == NONE or predicates[predicate, row] else known


@inlined
def _apply_updates(edge: Any, at: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, flat: Values) -> None:
    """As actions.apply_updates, with the run's cells at `at`."""
    (floats, cells, nulls) = flat
    updates, columns, nodes, counters = tables.updates, batch.columns, runs.nodes, runs.counters
    for update in range(tables.edges[edge, EDGE_UPDATES], tables.edges[edge, EDGE_UPDATES_STOP]):
        kind, argument = updates[update, UPDATE_KIND], updates[update, UPDATE_ARGUMENT]
        slot = at + updates[update, UPDATE_SLOT]
        if kind == CHAIN:
            node = U(counters[NODES])
            counters[NODES] += 1
            nodes.parent[node] = cells[at + U(RUN_CHAIN)]
            nodes.position[node] = batch.base + S(row)
            nodes.step[node] = S(argument)
            cells[at + U(RUN_CHAIN)] = S(node)
        elif kind == COUNT:
            cells[slot] = 1 if nulls[slot] else cells[slot] + 1
            nulls[slot] = 0
        elif kind == SUM_FLOAT:
            unknown = nulls[slot]
            if unknown != 2 and not columns.nulls[argument, row]:
                total = columns.floats[argument, row] if unknown else floats[slot] + columns.floats[argument, row]
                floats[slot] = total
                nulls[slot] = 0 if np.isfinite(total) else 2
        elif kind == COUNT_KNOWN:
            if not columns.nulls[argument, row]:
                cells[slot] = 1 if nulls[slot] else cells[slot] + 1
                nulls[slot] = 0
        elif kind == POSITION:
            cells[slot] = batch.base + S(row)
            nulls[slot] = 0
        elif kind == SET:
            cells[slot] = columns.integers[argument, row]
            nulls[slot] = columns.nulls[argument, row]
        else:
            run = at // U(runs.registers.nulls.shape[1])
            aggregate(kind, updates[update, UPDATE_SLOT], argument, run, row, batch.code, columns, runs.registers)


@inlined
def _emit(
    state: Any, lane: Any, row: Any, at: Any, finals: Array, flat: Values, output: Output, counters: Array
) -> None:
    """As actions.emit, with the run's cells at `at`."""
    cells, nulls = flat.integers, flat.nulls
    match = U(counters[MATCHES])
    counters[MATCHES] += 1
    output.state[match] = S(state)
    output.lane[match] = S(lane)
    output.row[match] = S(row)
    output.first[match] = cells[at + U(RUN_FIRST)]
    output.chain[match] = cells[at + U(RUN_CHAIN)]
    output.rows[match] = cells[at + U(RUN_ROWS)]
    for i in range(U(finals.size)):
        output.slots[i, match] = cells[at + finals[i]]
        output.nulls[i, match] = nulls[at + finals[i]]


@inlined
def _free_list(run: Any, flat: Values, runs: Runs) -> int:
    """Give all runs of a list back to the pool; return how many."""
    width, counters, count = U(runs.registers.nulls.shape[1]), runs.counters, 0
    while run != NONE:
        runs.free[U(counters[FREE])] = run
        counters[FREE] += 1
        count += 1
        run = U(flat.integers[run * width + U(RUN_NEXT)])
    return count


@inlined
def _hand_on(
    run: Any, edge: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output, flat: Values
) -> int:
    """Take a list along an edge; return how many runs are over with it."""
    cells, heads = flat.integers, runs.lanes.heads
    width = U(runs.registers.nulls.shape[1])
    target = tables.edges[edge, EDGE_TARGET]
    if tables.edges[edge, EDGE_FINAL]:
        over = 0
        while run != NONE:
            at = run * width
            _apply_updates(edge, at, row, tables, batch, runs, flat)
            _emit(target, lane, row, at, tables.finals, flat, output, runs.counters)
            runs.free[U(runs.counters[FREE])] = run
            runs.counters[FREE] += 1
            over += 1
            run = U(cells[at + U(RUN_NEXT)])
        return over
    first, at = run, U(0)
    while run != NONE:
        at = run * width
        _apply_updates(edge, at, row, tables, batch, runs, flat)
        cells[at + U(RUN_STATE)] = S(target)
        run = U(cells[at + U(RUN_NEXT)])
    cells[at + U(RUN_NEXT)] = S(heads[lane, target])
    heads[lane, target] = first
    return 0


@kernel
def _hand_on_copies(
    run: Any, state: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output, flat: Values
) -> Any:
    """Take copies of a list along all edges that hold but the last: return that one, and how many runs were added."""
    cells = runs.registers.integers
    chosen, added = NONE, 0
    for edge in range(tables.states[state, STATE_EDGES], tables.states[state, STATE_EDGES_STOP]):
        predicate = tables.edges[edge, EDGE_PREDICATE]
        if predicate != NONE and not batch.events.predicates[predicate, row]:
            continue
        if chosen != NONE:
            copies, original = NONE, run
            while original != NONE:
                target = copy(original, runs)
                cells[target, RUN_NEXT] = S(copies)
                copies = target
                added += 1
                original = U(cells[original, RUN_NEXT])
            added -= _hand_on(copies, chosen, lane, row, tables, batch, runs, output, flat)
        chosen = edge
    return chosen, added


@inlined
def _begin(
    edge: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output, lockstep: Lockstep
) -> int:
    """Begin a run along an edge, if its guard holds; return how many runs that adds (none where it is a match)."""
    flat, events, counters, heads = lockstep.registers, batch.events, runs.counters, runs.lanes.heads
    cells = flat.integers
    predicate, target = tables.edges[edge, EDGE_PREDICATE], tables.edges[edge, EDGE_TARGET]
    if predicate != NONE and not events.predicates[predicate, row]:
        return 0
    run = U(runs.free[U(counters[FREE] - 1)])
    at = run * U(runs.registers.nulls.shape[1])
    for i in range(U(lockstep.slots.size)):
        flat.nulls[at + lockstep.slots[i]] = 1
    cells[at + U(RUN_STATE)] = S(target)
    cells[at + U(RUN_CHAIN)] = -1
    cells[at + U(RUN_LANE)] = S(lane)
    cells[at + U(RUN_FIRST)] = batch.base + S(row)
    cells[at + U(RUN_ROWS)] = events.rows[row]
    runs.times[run, RUN_BEGAN] = events.start[row]
    _apply_updates(edge, at, row, tables, batch, runs, flat)
    if tables.edges[edge, EDGE_FINAL]:
        _emit(target, lane, row, at, tables.finals, flat, output, counters)
        return 0
    counters[FREE] -= 1
    cells[at + U(RUN_NEXT)] = S(heads[lane, target])
    heads[lane, target] = run
    return 1


@kernel
def run_lockstep(
    first: int, stop: int, nfa: Held[NfaTables], events: BatchEvents, evaluated: Held[Evaluated], pool: Held[Runs],
    matches: Held[Output], probe: ProbeArrays | None, steps: Held[Lockstep], ways: Array,
) -> Any:  # fmt: skip
    """Process the events `first` to `stop` of a batch, in order; return where it stopped (see general.run_events).

    `ways` has the edge that each event takes the runs of each waiting state along: [state, row].
    """
    tables, runs, output = nfa.value, pool.value, matches.value
    batch, lockstep = joined_batch(events, evaluated.value), steps.value
    lanes, counters, fan = runs.lanes, runs.counters, tables.fan
    waiting, flat = lockstep.waiting, lockstep.registers
    most = counters[LONGEST] * fan.runs + fan.starts
    for row in range(U(first), U(stop)):
        lane = events.lane[row]
        count = lanes.lengths[lane]
        starting = tables.begins == NONE or batch.events.predicates[tables.begins, row] != 0
        if count <= 0 and (count < 0 or not starting):
            if probe is not None:
                show_nothing(row, probe)
            continue  # nothing waits, nothing begins; or the lane is refused
        counters[LACKING] = lacking(most, fan.nodes, runs, output)
        if counters[LACKING] != 0:
            counters[WANTED] = most
            if counters[COUNTED] != 0:
                counters[WANTED] = count * open_fan(row, tables, batch.events.predicates) + fan.starts
                counters[LACKING] = lacking(counters[WANTED], fan.nodes, runs, output)
        if counters[LACKING] != 0:
            return S(row)
        if count > 0:
            # From the last state to the first: no edge leads back, so no run is taken on twice.
            for i in range(U(waiting.size)):
                state = waiting[i]
                run = U(lanes.heads[lane, state])
                if run == NONE:
                    continue
                lanes.heads[lane, state] = NONE
                way = U(ways[i, row])
                if way == SEVERAL:
                    way, added = _hand_on_copies(run, state, lane, row, tables, batch, runs, output, flat)
                    count += added
                if way == NO_WAY:
                    count -= _free_list(run, flat, runs)
                else:
                    count -= _hand_on(run, way, lane, row, tables, batch, runs, output, flat)
        if starting:
            for start in range(U(tables.starts.size)):
                count += _begin(tables.starts[start], lane, row, tables, batch, runs, output, lockstep)
        lanes.lengths[lane] = count
        if probe is not None:
            probe_states(row, lane, lane, events.time[row], probe, tables, runs)
        if count > counters[LONGEST]:
            counters[LONGEST] = count
            most = counters[LONGEST] * fan.runs + fan.starts
        if count > lanes.limits[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop

"""NFA runs where every operator is `,`: no run outlives the next event of its lane.

So no run is asked whether it stays, and each event makes the lane's list anew (workloads w1, w3, w6). Where very many
runs may begin, an event finds those that it begins by `StartHits`.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import apply_updates, begun, code_holds, copy, emit, lacking, open_fan, started
from foretell.machine.kernels.batches import joined_batch
from foretell.machine.kernels.decorators import expanded, inlined, kernel
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.layout import (
    COUNTED,
    CROWDED,
    EDGE_CODE,
    EDGE_CODE_STOP,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_TARGET,
    FREE,
    FULL_LANE,
    LACKING,
    LONGEST,
    NONE,
    ONE,
    RUN_BEGAN,
    RUN_NEXT,
    RUN_STATE,
    STATE_EDGES,
    STATE_EDGES_STOP,
    WANTED,
    S,
    U,
)
from foretell.machine.kernels.probe import probe_lane, show_nothing
from foretell.machine.kernels.structs import Batch, BatchEvents, Evaluated, NfaTables, Output, ProbeArrays, Runs


@expanded
def _edge_holds(edge: Any, run: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> bool:
    edges, events = tables.edges, batch.events
    predicate, within = edges[edge, EDGE_PREDICATE], tables.edge_within[edge]
    if predicate != NONE and not events.predicates[predicate, row]:
        return False
    if within >= 0 and events.time[row] > runs.times[run, RUN_BEGAN] + within:
        return False
    return code_holds(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], run, row, batch, runs.registers)


@inlined
def _move(
    edge: Any, run: Any, fresh: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> Any:
    """Take a run along an edge: the first run of the lane's new list, `fresh` where it became a match instead."""
    edges, cells = tables.edges, runs.registers.integers
    apply_updates(edge, run, row, tables, batch, runs)
    if edges[edge, EDGE_FINAL]:
        emit(edges[edge, EDGE_TARGET], lane, S(row), run, tables.finals, runs.registers, output, runs.counters)
        return fresh
    cells[run, RUN_STATE] = S(edges[edge, EDGE_TARGET])
    cells[run, RUN_NEXT] = S(fresh)
    return run


@expanded
def advance_lane(
    run: Any, starting: bool, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> Any:
    """Show an event to the runs of a lane, from the first one on, and begin others; return the new list, its length."""
    cells, free, counters = runs.registers.integers, runs.free, runs.counters
    fresh, count = NONE, 0
    while run != NONE:
        next_run = U(cells[run, RUN_NEXT])
        state = U(cells[run, RUN_STATE])
        chosen = NONE  # the last edge that holds; the run itself moves along it
        for edge in range(tables.states[state, STATE_EDGES], tables.states[state, STATE_EDGES_STOP]):
            if not _edge_holds(edge, run, row, tables, batch, runs):
                continue
            if chosen != NONE:
                target = copy(run, runs)
                moved = _move(chosen, target, fresh, lane, row, tables, batch, runs, output)
                if moved == fresh:
                    counters[FREE] += 1
                else:
                    fresh = moved
                    count += 1
            chosen = edge
        moved = fresh
        if chosen != NONE:
            moved = _move(chosen, run, fresh, lane, row, tables, batch, runs, output)
        if moved == fresh:
            free[U(counters[FREE])] = run
            counters[FREE] += 1
        else:
            fresh = moved
            count += 1
        run = next_run

    hits = batch.hits
    if starting and hits.offsets.size > 0 and hits.offsets[0] == 0:
        for hit in range(U(hits.offsets[row]), U(hits.offsets[row + ONE])):
            target = begun(U(hits.edges[hit]), lane, row, tables, batch, runs, output)
            if target != NONE:
                cells[target, RUN_NEXT] = S(fresh)
                fresh = target
                count += 1
    elif starting:
        for start in range(U(tables.starts.size)):
            target = started(tables.starts[start], lane, row, tables, batch, runs, output)
            if target != NONE:
                cells[target, RUN_NEXT] = S(fresh)
                fresh = target
                count += 1
    return fresh, count


@kernel
def run_strict(
    first: int,
    stop: int,
    nfa: Held[NfaTables],
    events: BatchEvents,
    evaluated: Held[Evaluated],
    pool: Held[Runs],
    matches: Held[Output],
    probe: ProbeArrays | None,
) -> Any:
    """Process the events `first` to `stop` of a batch, in order; return where it stopped (see general.run_events)."""
    tables, runs, output = nfa.value, pool.value, matches.value
    batch = joined_batch(events, evaluated.value)
    lanes, counters = runs.lanes, runs.counters
    for row in range(U(first), U(stop)):
        lane = batch.events.lane[row]
        run = U(lanes.heads[lane, 0])
        starting = tables.begins == NONE or batch.events.predicates[tables.begins, row] != 0
        if (run == NONE and not starting) or lanes.lengths[lane] < 0:
            if probe is not None:
                show_nothing(row, probe)
            continue  # nothing waits, nothing begins; or the lane is refused
        most = counters[LONGEST] * tables.fan.runs + tables.fan.starts
        counters[LACKING] = lacking(most, tables.fan.nodes, runs, output)
        if counters[LACKING] != 0 and counters[COUNTED] != 0:
            most = lanes.lengths[lane] * open_fan(row, tables, batch.events.predicates) + tables.fan.starts
            counters[LACKING] = lacking(most, tables.fan.nodes, runs, output)
        if counters[LACKING] != 0:
            counters[WANTED] = most
            return S(row)
        fresh, count = advance_lane(run, starting, lane, row, tables, batch, runs, output)
        lanes.heads[lane, 0] = fresh
        lanes.lengths[lane] = count
        if probe is not None:
            probe_lane(row, lane, fresh, probe, tables.finals, runs)
        if count > counters[LONGEST]:
            counters[LONGEST] = count
        if count > lanes.limits[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop

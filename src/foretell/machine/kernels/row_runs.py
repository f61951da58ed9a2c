"""Runs that carry rows of a template: what the general kernel does otherwise for them (see `exec.kernel_variants`).

The rows are sorted as the paths of a trie, so those of a run are an interval. Along an edge the rows of a run may part:
each of the children in the trie whose profile the event satisfies has a run of its own. The profiles of an event
ascend, and so do those of the children: of both the next is looked for that is not behind the other.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import apply_updates, begin_match, code_holds, emit
from foretell.machine.kernels.decorators import expanded, inlined, kernel
from foretell.machine.kernels.fresh_runs import add_fresh
from foretell.machine.kernels.general import take
from foretell.machine.kernels.layout import (
    DEAD,
    DESCENT_DEPTH,
    DESCENT_DIRECT,
    EDGE_CODE,
    EDGE_CODE_STOP,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_PROFILE,
    EDGE_TARGET,
    FREE,
    GUARD_CODE,
    GUARD_CODE_STOP,
    GUARD_PROFILE,
    NONE,
    ONE,
    ROWS_COUNT,
    ROWS_SHIFT,
    RUN_BEGAN,
    RUN_OVER,
    RUN_ROWS,
    RUN_STATE,
    STATE_EDGES,
    STATE_EDGES_STOP,
    STATE_KEY,
    STATE_THREADS,
    STATE_THREADS_STOP,
    STATE_TOUCH,
    STATE_WAITS,
    S,
    U,
)
from foretell.machine.kernels.run_index import drop_run, first_visited, next_visited
from foretell.machine.kernels.run_lists import release
from foretell.machine.kernels.structs import Batch, NfaTables, Output, RowBatch, Runs, Values
from foretell.machine.kernels.threads import ask_threads, count_ticks, edge_is_open, mark_ending

#: So many rows are not counted: looking them up would take longer than room for all of them is worth.
_FEW = 8

# ── profiles ──


@inlined
def first_not_below(values: Any, low: int, stop: int, wanted: Any) -> int:
    """The first place from `low` on whose value is not below the wanted one; it is expected to be near."""
    step = 1
    while low + step < stop and values[low + step] < wanted:
        low += step
        step *= 2
    high = min(stop, low + step)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def is_satisfied(site: Any, place: int, row: Any, rows: RowBatch) -> bool:
    """Whether an event satisfies the profile that a row of the template has at a site."""
    low, stop = rows.offsets[site, row], rows.offsets[site, row + ONE]
    wanted = rows.profiles[site, place]
    at = first_not_below(rows.satisfied, low, stop, wanted) if low < stop else stop
    return bool(at < stop and rows.satisfied[at] == wanted)


@inlined
def next_rows(edge: Any, at: int, stop: int, next_profile: int, row: Any, tables: NfaTables, rows: RowBatch) -> Any:
    """The next rows from `at` on that an event may take along an edge: where they begin and end, and the next profile
    of the event. They begin at `stop` where there are none."""
    site = tables.edges[edge, EDGE_PROFILE]
    depth, direct = rows.descents[edge, DESCENT_DEPTH], rows.descents[edge, DESCENT_DIRECT]
    if site != NONE:
        if direct != NONE:
            last = rows.offsets[site, row + ONE]
            while at < stop:
                if next_profile == last:
                    at = stop
                    break
                have, wanted = rows.profiles[site, at], rows.satisfied[next_profile]
                if have == wanted:
                    break
                if have > wanted:
                    next_profile = first_not_below(rows.satisfied, next_profile, last, have)
                elif direct == 1:
                    # Of all rows: the first level says where those of a profile begin.
                    begins = rows.begins[wanted]
                    if begins >= at:
                        at = begins
                        break
                    next_profile += 1
                else:
                    at = first_not_below(rows.profiles[site], at, stop, wanted)
        else:
            while at < stop and not is_satisfied(site, at, row, rows):
                at = stop if depth == NONE else rows.ends[depth - ONE, at]
    end = stop
    if depth != NONE and at < stop:
        end = min(stop, rows.ends[depth - ONE, at])
    return at, end, next_profile


@inlined
def next_first_rows(
    edge: Any, at: int, before: int, next_profile: int, row: Any, tables: NfaTables, rows: RowBatch
) -> Any:
    """The same of all rows for an edge whose site is that of the first level: where the rows with each profile begin
    and stop was looked up for the whole batch. `at` is where the rows taken last end, which began at `before`."""
    site = tables.edges[edge, EDGE_PROFILE]
    depth, first = rows.descents[edge, DESCENT_DEPTH], rows.first
    last = rows.offsets[site, row + ONE]
    if at > before and next_profile < last and at >= rows.stops[next_profile - first]:
        next_profile += 1
        at = -1
    elif at == before:
        at = -1
    if at < 0:
        while next_profile < last and rows.starts[next_profile - first] < 0:
            next_profile += 1
        if next_profile == last:
            return rows.total, rows.total, next_profile
        at = S(rows.starts[next_profile - first])
    end = S(rows.stops[next_profile - first])
    if depth != ONE:
        end = min(end, S(rows.ends[depth - ONE, at]))
    return at, end, next_profile


@inlined
def most_parts(edge: Any, low: int, stop: int, row: Any, tables: NfaTables, rows: RowBatch) -> int:
    """In how many parts the rows may take an edge at most."""
    site = tables.edges[edge, EDGE_PROFILE]
    depth, direct = rows.descents[edge, DESCENT_DEPTH], rows.descents[edge, DESCENT_DIRECT]
    if depth == NONE:
        return 1
    if stop - low <= _FEW:
        return int(stop - low)
    if direct == NONE:
        return int(rows.ranks[depth - ONE, stop] - rows.ranks[depth - ONE, low])
    first, last = rows.offsets[site, row], rows.offsets[site, row + ONE]
    if depth == direct and last - first <= _FEW:
        return int(last - first)
    if direct == 1 and depth == direct:
        return int(last - first)
    if direct == 1:
        count = 0
        for k in range(first, last):
            begins = rows.begins[rows.satisfied[k]]
            if begins >= 0:
                count += rows.ranks[depth - ONE, rows.ends[0, begins]] - rows.ranks[depth - ONE, begins]
        return count
    parts = rows.ranks[depth - ONE, stop] - rows.ranks[depth - ONE, low]
    return int(min(parts, last - first)) if depth == direct else int(parts)


# ── in place of functions of `actions` and `general` ──


@inlined
def row_guard_holds(table_row: Any, first: int, run: Any, row: Any, batch: Batch, registers: Values) -> bool:
    """Whether a guard holds for the rows of a run, which agree on its profile."""
    if table_row[first] != NONE and not batch.events.predicates[table_row[first], row]:
        return False
    site = table_row[first + GUARD_PROFILE]
    if site != NONE and not is_satisfied(site, registers.integers[run, RUN_ROWS] >> ROWS_SHIFT, row, batch.events.rows):
        return False
    return code_holds(table_row[first + GUARD_CODE], table_row[first + GUARD_CODE_STOP], run, row, batch, registers)


@expanded
def advance_rows(
    state: Any, run: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> Any:
    """Show an event to a run that is in time: whether it stays at its state. It never moves: its rows may part."""
    states, cells, rows = tables.states, runs.registers.integers, batch.events.rows
    every_thread = (1 << S(states[state, STATE_THREADS_STOP] - states[state, STATE_THREADS])) - 1
    count_ticks(state, run, row, tables, batch, runs.registers)
    passes, permits = ask_threads(state, run, row, tables, batch, runs.registers)
    if tables.simultaneous and passes != every_thread:
        mark_ending(passes, state, run, tables, runs.registers.integers)
        passes = every_thread
    carried = cells[run, RUN_ROWS]
    low = carried >> ROWS_SHIFT
    stop = low + (carried & ROWS_COUNT)
    for edge in range(states[state, STATE_EDGES], states[state, STATE_EDGES_STOP]):
        if not edge_is_open(edge, passes, permits, every_thread, run, row, tables, batch, runs):
            continue
        profile = 0
        if tables.edges[edge, EDGE_PROFILE] != NONE:
            profile = rows.offsets[tables.edges[edge, EDGE_PROFILE], row]
        at, end, profile = next_rows(edge, low, stop, profile, row, tables, rows)
        while at < stop:
            cells[run, RUN_ROWS] = (at << ROWS_SHIFT) + (end - at)
            code, code_stop = tables.edges[edge, EDGE_CODE], tables.edges[edge, EDGE_CODE_STOP]
            if code_holds(code, code_stop, run, row, batch, runs.registers):
                take(edge, run, False, lane, row, tables, batch, runs, output)
            at, end, profile = next_rows(edge, end, stop, profile, row, tables, rows)
    cells[run, RUN_ROWS] = carried
    return passes == every_thread, False


@expanded
def advance_row_state(
    state: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> bool:
    """Show an event to the runs at a state that it may touch; return whether it touches any."""
    cells, states, rows = runs.registers.integers, tables.states, batch.events.rows
    touch, key = states[state, STATE_TOUCH], states[state, STATE_KEY]
    if touch != NONE and not batch.events.predicates[touch, row]:
        return False
    place = lane if key == NONE else U(batch.columns.integers[key, row])
    time, within, waits = batch.events.time[row], tables.state_within[state], states[state, STATE_WAITS] != 0
    run, profile, at, last = first_visited(state, lane, place, row, rows, runs)
    touched = run != NONE
    while run != NONE:
        next_run, profile, at = next_visited(run, profile, at, last, place, state, rows, runs)
        stays = False
        if cells[run, RUN_OVER] != DEAD:
            if within < 0 or time <= runs.times[run, RUN_BEGAN] + within:
                stays, _ = advance_rows(state, run, lane, row, tables, batch, runs, output)
            elif waits:
                emit(state, lane, -1, run, tables.finals, runs.registers, output, runs.counters)
        if not stays:
            drop_run(run, place, state, runs)
            release(run, runs)
        run = next_run
    return bool(touched)


@expanded
def new_runs_of_row_state(state: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """How many runs and matches an event makes at most of the runs at a state."""
    states, rows = tables.states, batch.events.rows
    touch, key = states[state, STATE_TOUCH], states[state, STATE_KEY]
    if touch != NONE and not batch.events.predicates[touch, row]:
        return 0
    place = lane if key == NONE else U(batch.columns.integers[key, row])
    late = 1 if states[state, STATE_WAITS] else 0  # a run whose window has passed is a match
    run, profile, at, last = first_visited(state, lane, place, row, rows, runs)
    count = 0
    while run != NONE:
        count += max(late, open_rows(state, run, row, tables, batch, runs))
        run, profile, at = next_visited(run, profile, at, last, place, state, rows, runs)
    return count


@expanded
def begin_rows(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> None:
    """Begin runs with an event, for all rows that it satisfies."""
    edges, rows, stop = tables.edges, batch.events.rows, batch.events.rows.total
    for start in range(U(tables.starts.size)):
        edge = tables.starts[start]
        predicate, site = edges[edge, EDGE_PREDICATE], edges[edge, EDGE_PROFILE]
        if predicate != NONE and not batch.events.predicates[predicate, row]:
            continue
        within = tables.edge_within[edge]
        if within >= 0 and batch.events.time[row] > batch.events.start[row] + within:
            continue
        profile = rows.offsets[site, row] if site != NONE else 0
        known = rows.descents[edge, DESCENT_DIRECT] != NONE
        at, end = 0, 0
        if known:
            at, end, profile = next_first_rows(edge, 0, 0, profile, row, tables, rows)
        else:
            at, end, profile = next_rows(edge, 0, stop, profile, row, tables, rows)
        while at < stop:
            run = begin_match(lane, row, batch, runs)
            runs.registers.integers[run, RUN_ROWS] = (at << ROWS_SHIFT) + (end - at)
            if code_holds(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], run, row, batch, runs.registers):
                apply_updates(edge, run, row, tables, batch, runs)
                target = edges[edge, EDGE_TARGET]
                if edges[edge, EDGE_FINAL]:
                    emit(target, lane, S(row), run, tables.finals, runs.registers, output, runs.counters)
                else:
                    runs.counters[FREE] -= 1
                    runs.registers.integers[run, RUN_STATE] = S(target)
                    add_fresh(run, tables, runs)
            if known:
                at, end, profile = next_first_rows(edge, end, at, profile, row, tables, rows)
            else:
                at, end, profile = next_rows(edge, end, stop, profile, row, tables, rows)


@inlined
def rough_row_runs(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """How many runs and matches an event makes at most, by the runs of the lane; the rows below those with a profile
    have to be counted."""
    rows, parts = batch.events.rows, 0
    for edge in range(U(tables.edges.shape[0])):
        depth, direct = rows.descents[edge, DESCENT_DEPTH], rows.descents[edge, DESCENT_DIRECT]
        site = tables.edges[edge, EDGE_PROFILE]
        if depth == NONE:
            parts += 1
        elif depth == direct:
            parts += rows.offsets[site, row + ONE] - rows.offsets[site, row]
        else:
            return int(S(NONE))
    return int(parts * (max(0, runs.lanes.lengths[lane]) + 1))


@kernel
def open_rows(state: Any, run: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """How many runs and matches a run may make of an event at most."""
    states = tables.states
    every_thread = (1 << S(states[state, STATE_THREADS_STOP] - states[state, STATE_THREADS])) - 1
    passes, permits = ask_threads(state, run, row, tables, batch, runs.registers)
    if tables.simultaneous:
        passes = every_thread
    carried = runs.registers.integers[run, RUN_ROWS]
    low = carried >> ROWS_SHIFT
    count = 0
    for edge in range(states[state, STATE_EDGES], states[state, STATE_EDGES_STOP]):
        if edge_is_open(edge, passes, permits, every_thread, run, row, tables, batch, runs):
            count += most_parts(edge, low, low + (carried & ROWS_COUNT), row, tables, batch.events.rows)
    return count


@inlined
def starting_rows(row: Any, tables: NfaTables, batch: Batch) -> int:
    """How many runs and matches may begin with an event at most."""
    count = 0
    for start in range(U(tables.starts.size)):
        edge = tables.starts[start]
        predicate = tables.edges[edge, EDGE_PREDICATE]
        if predicate == NONE or batch.events.predicates[predicate, row]:
            count += most_parts(edge, 0, batch.events.rows.total, row, tables, batch.events.rows)
    return count

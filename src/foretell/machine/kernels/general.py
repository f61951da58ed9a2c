"""NFA runs with registers under any operators: one flat loop over events (Cayuga section 2.3).

A run is a partial match at a state. On each event of its lane it may bind the event along an edge, which makes a new
run further on, and it stays where it is if every operator it waits under lets the event pass. Runs of one state stand
in lists: one for each lane or, where everything that a state waits for has to equal a bound value, one for each lane
and value. An event that cannot touch a state (its touching predicate is false: no operator is interested, no edge, no
negation) leaves its list alone, and so does one with another value: Cayuga's index of affected instances.

Where the arrays might not hold what an event brings, the kernel stops before that event, says in LACKING what it
lacks, and the caller makes room.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import apply_updates, copy, emit, lacking, started
from foretell.machine.kernels.batches import joined_batch
from foretell.machine.kernels.decorators import expanded, inlined, kernel
from foretell.machine.kernels.fresh_runs import add_fresh, admit_fresh, end_instant
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.layout import (
    BYTE,
    BYTE_SHIFT,
    COUNTED,
    CROWDED,
    DEAD,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_TARGET,
    FREE,
    FRESH,
    FULL_LANE,
    FULL_OUTPUT,
    LACKING,
    LONGEST,
    MATCHES,
    NONE,
    ONE,
    RUN_BEGAN,
    RUN_LANE,
    RUN_NEXT,
    RUN_OVER,
    RUN_SERIAL,
    RUN_STATE,
    STATE_EDGES,
    STATE_EDGES_STOP,
    STATE_KEY,
    STATE_THREADS,
    STATE_THREADS_STOP,
    STATE_TICKS,
    STATE_TICKS_STOP,
    STATE_TOUCH,
    STATE_WAITS,
    TIMERS,
    WANTED,
    WORD_MASK,
    WORD_SHIFT,
    S,
    U,
)
from foretell.machine.kernels.probe import probe_changes, show_nothing
from foretell.machine.kernels.run_lists import release, unlink
from foretell.machine.kernels.structs import Batch, BatchEvents, Evaluated, NfaTables, Output, ProbeArrays, Runs
from foretell.machine.kernels.threads import ask_threads, count_ticks, edge_holds, mark_ending
from foretell.machine.kernels.timer_heap import drop_first_timer

# ── one run and one event ──


@inlined
def take(
    edge: Any, run: Any, moves: bool, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> bool:
    """Bind an event along an edge: the run itself moves, or a copy does. Return whether the run itself lives on."""
    target = run if moves else copy(run, runs)
    apply_updates(edge, target, row, tables, batch, runs)
    state = tables.edges[edge, EDGE_TARGET]
    if tables.edges[edge, EDGE_FINAL]:
        emit(state, lane, S(row), target, tables.finals, runs.registers, output, runs.counters)
        if not moves:
            runs.counters[FREE] += 1
        return False
    runs.registers.integers[target, RUN_STATE] = S(state)
    add_fresh(target, tables, runs)
    return moves


@expanded
def advance_run(
    state: Any, run: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> Any:
    """Show an event to a run that is in time: whether it stays at its state, and whether it moved on to another."""
    states = tables.states
    every_thread = (1 << S(states[state, STATE_THREADS_STOP] - states[state, STATE_THREADS])) - 1
    count_ticks(state, run, row, tables, batch, runs.registers)
    passes, permits = ask_threads(state, run, row, tables, batch, runs.registers)
    if tables.simultaneous and passes != every_thread:
        mark_ending(passes, state, run, tables, runs.registers.integers)
        passes = every_thread
    stays = passes == every_thread
    moved = False
    chosen = NONE  # the last edge that holds; the run itself moves along it if it does not stay
    stop = states[state, STATE_EDGES_STOP]
    for edge in range(states[state, STATE_EDGES], stop + ONE):
        is_last = edge == stop
        holds = not is_last and edge_holds(edge, passes, permits, every_thread, run, row, tables, batch, runs)
        if chosen != NONE and (holds or is_last):
            # The only call: each one would be compiled by itself.
            moved = take(chosen, run, is_last and not stays, lane, row, tables, batch, runs, output)
        if holds:
            chosen = edge
    return stays, moved


@kernel
def held_edges(state: Any, run: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """Along how many edges a run binds an event; where the event is counted first, along how many it might."""
    states, edges, predicates = tables.states, tables.edges, batch.events.predicates
    every_thread = (1 << S(states[state, STATE_THREADS_STOP] - states[state, STATE_THREADS])) - 1
    passes, permits = ask_threads(state, run, row, tables, batch, runs.registers)
    if tables.simultaneous:
        passes = every_thread
    counts = states[state, STATE_TICKS] != states[state, STATE_TICKS_STOP]
    held = 0
    for edge in range(states[state, STATE_EDGES], states[state, STATE_EDGES_STOP]):
        if counts:
            predicate = edges[edge, EDGE_PREDICATE]
            held += predicate == NONE or predicates[predicate, row] != 0
        elif edge_holds(edge, passes, permits, every_thread, run, row, tables, batch, runs):
            held += 1
    return held


@inlined
def starting_runs(row: Any, tables: NfaTables, batch: Batch) -> int:
    """How many runs and matches may begin with an event at most."""
    return int(tables.fan.starts)


@inlined
def rough_new_runs(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """How many runs and matches an event makes at most, by the most runs that a lane has had."""
    return int(runs.counters[LONGEST] * tables.fan.runs + tables.fan.starts)


@kernel
def new_runs(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """How many runs and matches an event makes at most.

    `fan` says how many each run might become, by all edges of its state. With many alternatives an event takes few of
    them, and room for all would exhaust the memory.
    """
    count = starting_runs(row, tables, batch)
    return count + new_runs_of_states(lane, row, tables, batch, runs) if runs.lanes.lengths[lane] > 0 else count


@expanded
def new_runs_of_states(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> Any:
    """The same of the runs that there are."""
    count = 0
    for state in range(U(runs.lanes.heads.shape[1])):
        count += new_runs_of_state(state, lane, row, tables, batch, runs)
    return count


@expanded
def new_runs_of_occupied(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> Any:
    """The same where there are many states."""
    occupied, count = runs.lanes.occupied, 0
    for place in range(U(occupied.shape[1])):
        word, state = occupied[lane, place], place << WORD_SHIFT
        while word != 0:
            if word & ONE != 0:
                count += new_runs_of_state(state, lane, row, tables, batch, runs)
            word >>= ONE
            state += ONE
    return count


@expanded
def new_runs_of_state(state: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> int:
    """The same of the runs at one state."""
    cells, states = runs.registers.integers, tables.states
    touch, key = states[state, STATE_TOUCH], states[state, STATE_KEY]
    if touch != NONE and not batch.events.predicates[touch, row]:
        return 0
    place = lane if key == NONE else U(batch.columns.integers[key, row])
    late = 1 if states[state, STATE_WAITS] else 0  # a run whose window has passed is a match
    run = U(runs.lanes.heads[place, state])
    count = 0
    while run != NONE:
        count += max(late, held_edges(state, run, row, tables, batch, runs))
        run = U(cells[run, RUN_NEXT])
    return count


# ── events ──


@expanded
def advance_state(state: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> bool:
    """Show an event to the runs at a state that it may touch; return whether it touches any."""
    cells, lanes, states = runs.registers.integers, runs.lanes, tables.states
    touch, key = states[state, STATE_TOUCH], states[state, STATE_KEY]
    if touch != NONE and not batch.events.predicates[touch, row]:
        return False
    place = lane if key == NONE else U(batch.columns.integers[key, row])
    time, within, waits = batch.events.time[row], tables.state_within[state], states[state, STATE_WAITS] != 0
    previous = NONE
    run = U(lanes.heads[place, state])
    touched = run != NONE
    while run != NONE:
        next_run = U(cells[run, RUN_NEXT])
        stays, moved = False, False
        if cells[run, RUN_OVER] != DEAD:
            if within < 0 or time <= runs.times[run, RUN_BEGAN] + within:
                stays, moved = advance_run(state, run, lane, row, tables, batch, runs, output)
            elif waits:
                emit(state, lane, -1, run, tables.finals, runs.registers, output, runs.counters)
        if moved:
            # It is among the fresh runs now, which count when they are admitted.
            lanes.lengths[lane] -= 1
        if stays:
            previous = run
        else:
            unlink(previous, next_run, place, state, runs)
            if not moved:
                release(run, runs)
        run = next_run
    return bool(touched)


@expanded
def advance_states(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> Any:
    """Show an event to the runs of a lane, state by state; return whether it touches any."""
    touched = False
    for state in range(U(runs.lanes.heads.shape[1])):
        touched |= advance_state(state, lane, row, tables, batch, runs, output)
    return touched


@expanded
def advance_occupied(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> Any:
    """The same where there are many states: only those that have runs, Cayuga's active nodes (section 3.3)."""
    heads, occupied = runs.lanes.heads, runs.lanes.occupied
    touched = False
    for place in range(U(occupied.shape[1])):
        word, state = occupied[lane, place], place << WORD_SHIFT
        while word != 0:
            if word & BYTE == 0:
                word >>= BYTE_SHIFT
                state += BYTE_SHIFT
                continue
            if word & ONE != 0:
                touched |= advance_state(state, lane, row, tables, batch, runs, output)
                if heads[lane, state] == NONE:
                    occupied[lane, place] &= ~(ONE << (state & WORD_MASK))
            word >>= ONE
            state += ONE
    return touched


@expanded
def begin_runs(lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> None:
    """Begin runs with an event."""
    for start in range(U(tables.starts.size)):
        run = started(tables.starts[start], lane, row, tables, batch, runs, output)
        if run != NONE:
            add_fresh(run, tables, runs)


@expanded
def advance_runs(
    starting: bool, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output
) -> Any:
    """Show an event to the runs of a lane, and begin others; return the first of the runs that it made, and whether it
    touched or made any."""
    counters, touched = runs.counters, False
    counters[FRESH] = S(NONE)
    if runs.lanes.lengths[lane] > 0:
        touched = advance_states(lane, row, tables, batch, runs, output)
    if starting:
        begin_runs(lane, row, tables, batch, runs, output)
    fresh = U(counters[FRESH])
    if fresh != NONE:
        admit_fresh(fresh, row, tables, batch, runs)
        touched = True
    return fresh, touched


@kernel
def run_events(
    first: int,
    stop: int,
    nfa: Held[NfaTables],
    events: BatchEvents,
    evaluated: Held[Evaluated],
    pool: Held[Runs],
    matches: Held[Output],
    probe: ProbeArrays | None,
) -> Any:
    """Process the events `first` to `stop` of a batch, in order; return where it stopped.

    Where events are simultaneous, an instant ends with the first later event of the lane.
    """
    tables, runs, output = nfa.value, pool.value, matches.value
    batch = joined_batch(events, evaluated.value)
    lanes, counters, fan = runs.lanes, runs.counters, tables.fan
    for row in range(U(first), U(stop)):
        lane = events.lane[row]
        starting = tables.begins == NONE or batch.events.predicates[tables.begins, row] != 0
        if lanes.lengths[lane] <= 0 and (lanes.lengths[lane] < 0 or not starting):
            if probe is not None:
                show_nothing(row, probe)
            continue  # nothing waits, nothing begins; or the lane is refused
        time = events.time[row]
        if tables.simultaneous and time > lanes.instants[lane]:
            end_instant(lane, tables, runs)
            lanes.instants[lane] = time
        most = rough_new_runs(lane, row, tables, batch, runs)
        counters[LACKING] = lacking(most, fan.nodes, runs, output)
        if counters[LACKING] != 0 and counters[COUNTED] != 0:
            most = new_runs(lane, row, tables, batch, runs)
            counters[LACKING] = lacking(most, fan.nodes, runs, output)
        if counters[LACKING] != 0:
            counters[WANTED] = most
            return S(row)

        fresh, touched = advance_runs(starting, lane, row, tables, batch, runs, output)
        if probe is not None:
            place = lane if probe.key == NONE else U(batch.columns.integers[probe.key, row])
            probe_changes(row, lane, place, time, touched, first, batch.base, probe, tables, runs)
        if fresh != NONE and lanes.lengths[lane] > lanes.limits[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop


@kernel
def pass_time(now: Any, tables: NfaTables, runs: Runs, output: Output) -> bool:
    """Advance time: runs that waited for their windows to pass are matches. False where there is no room for one."""
    cells, timers, counters = runs.registers.integers, runs.timers, runs.counters
    while counters[TIMERS] > 0 and timers.due[0] < now:
        run = U(timers.owner[0])
        if cells[run, RUN_SERIAL] == timers.serial[0] and cells[run, RUN_OVER] != DEAD:
            lane = U(cells[run, RUN_LANE])
            if tables.simultaneous and now > runs.lanes.instants[lane]:
                end_instant(lane, tables, runs)
            if cells[run, RUN_SERIAL] == timers.serial[0]:
                if counters[MATCHES] == output.first.size:
                    counters[LACKING] = FULL_OUTPUT
                    return False
                emit(U(cells[run, RUN_STATE]), lane, -1, run, tables.finals, runs.registers, output, counters)
                cells[run, RUN_OVER] = DEAD
        drop_first_timer(timers, counters[TIMERS])
        counters[TIMERS] -= 1
    return True

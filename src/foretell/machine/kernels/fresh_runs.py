"""Runs that the present event made: the event must not be shown to them, so they enter their lists after it."""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.decorators import expanded, inlined, kernel
from foretell.machine.kernels.layout import (
    AWAKE,
    DEAD,
    ENDING,
    FRESH,
    LONGEST,
    NONE,
    ONE,
    RUN_BEGAN,
    RUN_LANE,
    RUN_LIST,
    RUN_NEXT,
    RUN_OVER,
    RUN_SERIAL,
    RUN_STATE,
    STATE_KEY_SLOT,
    STATE_THREADS,
    STATE_THREADS_STOP,
    STATE_WAITS,
    THREAD_MARK,
    TIMERS,
    WORD_MASK,
    WORD_SHIFT,
    S,
    U,
)
from foretell.machine.kernels.run_lists import release, unlink
from foretell.machine.kernels.structs import Batch, NfaTables, Runs
from foretell.machine.kernels.timer_heap import push_timer


@inlined
def add_fresh(run: Any, tables: NfaTables, runs: Runs) -> None:
    """Put a run among those that the present event made: they must not see it. Set its timer where its state waits."""
    cells, counters = runs.registers.integers, runs.counters
    state = U(cells[run, RUN_STATE])
    cells[run, RUN_NEXT] = counters[FRESH]
    counters[FRESH] = S(run)
    if tables.states[state, STATE_WAITS]:
        due = runs.times[run, RUN_BEGAN] + tables.state_within[state]
        push_timer(due, run, cells[run, RUN_SERIAL], runs.timers, counters[TIMERS])
        counters[TIMERS] += 1


@expanded
def admit_fresh(fresh: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> None:
    """Put the runs that an event made into the lists of their states."""
    cells, lanes, counters = runs.registers.integers, runs.lanes, runs.counters
    while fresh != NONE:
        next_fresh = U(cells[fresh, RUN_NEXT])
        state = U(cells[fresh, RUN_STATE])
        lane = U(cells[fresh, RUN_LANE])
        slot = tables.states[state, STATE_KEY_SLOT]
        place = lane if slot == NONE else U(cells[fresh, slot])
        cells[fresh, RUN_LIST] = S(place)
        cells[fresh, RUN_NEXT] = S(lanes.heads[place, state])
        lanes.heads[place, state] = fresh
        if lanes.occupied.shape[1] > 0:
            lanes.occupied[lane, state >> WORD_SHIFT] |= ONE << (state & WORD_MASK)
        lanes.lengths[lane] += 1
        if lanes.lengths[lane] > counters[LONGEST]:
            counters[LONGEST] = lanes.lengths[lane]
        fresh = next_fresh


@kernel
def end_instant(lane: Any, tables: NfaTables, runs: Runs) -> None:
    """End an instant of simultaneous events in a lane: the runs that it ended go, the runs that it made wake up."""
    cells, heads, states, threads = runs.registers.integers, runs.lanes.heads, tables.states, tables.threads
    for state in range(U(heads.shape[1])):
        previous = NONE
        run = U(heads[lane, state])
        while run != NONE:
            next_run = U(cells[run, RUN_NEXT])
            ends = cells[run, RUN_OVER] == DEAD
            for thread in range(states[state, STATE_THREADS], states[state, STATE_THREADS_STOP]):
                mark = threads[thread, THREAD_MARK]
                ends |= cells[run, mark] == ENDING
                cells[run, mark] = AWAKE
            if ends:
                unlink(previous, next_run, lane, state, runs)
                release(run, runs)
            else:
                previous = run
            run = next_run

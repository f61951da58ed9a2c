"""The threads and edges of a waiting state: which of them an event concerns, for one run of the general kernel."""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import code_holds, guard_holds
from foretell.machine.kernels.decorators import expanded
from foretell.machine.kernels.layout import (
    ANY,
    ASLEEP,
    EDGE_CODE,
    EDGE_CODE_STOP,
    EDGE_PREDICATE,
    EDGE_THREAD,
    ENDING,
    NEGATION_GUARD,
    NEXT,
    NONE,
    RUN_BEGAN,
    STATE_THREADS,
    STATE_THREADS_STOP,
    STATE_TICKS,
    STATE_TICKS_STOP,
    THREAD_GUARD,
    THREAD_KIND,
    THREAD_MARK,
    THREAD_NEGATIONS,
    THREAD_NEGATIONS_STOP,
    TICK_GUARD,
    TICK_MARK,
    TICK_SLOT,
    WHERE,
    Array,
    S,
)
from foretell.machine.kernels.structs import Batch, NfaTables, Runs, Values


@expanded
def count_ticks(state: Any, run: Any, row: Any, tables: NfaTables, batch: Batch, registers: Values) -> None:
    """Count the event in the slots of the state's counters that it concerns."""
    ticks = tables.ticks
    for tick in range(tables.states[state, STATE_TICKS], tables.states[state, STATE_TICKS_STOP]):
        mark = ticks[tick, TICK_MARK]
        if tables.simultaneous and mark != NONE and registers.integers[run, mark] == ASLEEP:
            continue
        if guard_holds(ticks[tick], TICK_GUARD, run, row, batch, registers):
            slot = ticks[tick, TICK_SLOT]
            old = 0 if registers.nulls[run, slot] else registers.integers[run, slot]
            registers.integers[run, slot] = old + 1
            registers.nulls[run, slot] = 0


@expanded
def ask_threads(state: Any, run: Any, row: Any, tables: NfaTables, batch: Batch, registers: Values) -> Any:
    """Which threads let the event pass, and which may bind it, as bits."""
    threads, negations = tables.threads, tables.negations
    passes, permits, bit = 0, 0, 1
    for thread in range(tables.states[state, STATE_THREADS], tables.states[state, STATE_THREADS_STOP]):
        kind = threads[thread, THREAD_KIND]
        if tables.simultaneous and registers.integers[run, threads[thread, THREAD_MARK]] == ASLEEP:
            passes |= bit
            bit <<= 1
            continue
        if kind == NEXT or (kind == WHERE and guard_holds(threads[thread], THREAD_GUARD, run, row, batch, registers)):
            permits |= bit
        else:
            if kind == ANY:
                permits |= bit
            passes |= bit
            for negation in range(threads[thread, THREAD_NEGATIONS], threads[thread, THREAD_NEGATIONS_STOP]):
                if guard_holds(negations[negation], NEGATION_GUARD, run, row, batch, registers):
                    passes &= ~bit
                    break
        bit <<= 1
    return passes, permits


@expanded
def mark_ending(passes: int, state: Any, run: Any, tables: NfaTables, cells: Array) -> None:
    """Threads that do not let an event pass end with its instant, of which other events may still be bound."""
    bit = 1
    for thread in range(tables.states[state, STATE_THREADS], tables.states[state, STATE_THREADS_STOP]):
        if not passes & bit:
            cells[run, tables.threads[thread, THREAD_MARK]] = ENDING
        bit <<= 1


@expanded
def edge_is_open(
    edge: Any, passes: int, permits: int, every_thread: int, run: Any, row: Any, tables: NfaTables, batch: Batch,
    runs: Runs,
) -> bool:  # fmt: skip
    """Whether a run may bind an event along an edge: its thread permits it, all others let the event pass. Its code has
    not been asked."""
    edges, events = tables.edges, batch.events
    predicate = edges[edge, EDGE_PREDICATE]
    if predicate != NONE and not events.predicates[predicate, row]:
        return False
    if edges[edge, EDGE_THREAD]:
        bit = 1 << (S(edges[edge, EDGE_THREAD]) - 1)
        if not (permits & bit) or (passes | bit) != every_thread:
            return False
    elif passes != every_thread:
        return False
    within = tables.edge_within[edge]
    return within < 0 or bool(events.time[row] <= runs.times[run, RUN_BEGAN] + within)


@expanded
def edge_holds(
    edge: Any, passes: int, permits: int, every_thread: int, run: Any, row: Any, tables: NfaTables, batch: Batch,
    runs: Runs,
) -> bool:  # fmt: skip
    """Whether a run binds an event along an edge."""
    edges = tables.edges
    if not edge_is_open(edge, passes, permits, every_thread, run, row, tables, batch, runs):
        return False
    return code_holds(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], run, row, batch, runs.registers)

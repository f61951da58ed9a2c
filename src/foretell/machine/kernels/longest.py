"""NFA runs where AFTER MATCH LONGEST wants the longest match of each first event alone.

As `strict` and `general`, but runs that cannot matter any more end. Where the first of a lane's runs is a match, one
that begins with its first event is taken, and ends here or later. So what began since is excluded. For n events in a
row there is then one run with n matches, of which the last is the longest, and not n runs with n²/2 matches.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import lacking, open_fan
from foretell.machine.kernels.batches import joined_batch
from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.general import advance_runs, new_runs
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.layout import (
    COUNTED,
    CROWDED,
    DEAD,
    FREE,
    FULL_LANE,
    LACKING,
    LONGEST,
    MATCHES,
    NONE,
    RUN_BEGAN,
    RUN_FIRST,
    RUN_NEXT,
    RUN_OVER,
    WANTED,
    Array,
    S,
    U,
)
from foretell.machine.kernels.run_lists import release, unlink
from foretell.machine.kernels.strict import advance_lane
from foretell.machine.kernels.structs import BatchEvents, Evaluated, NfaTables, Output, Runs


@inlined
def _first_match(found: Any, first: Array, counters: Array) -> Any:
    """The earliest first event of the matches since the one numbered `found`."""
    least = first[U(found)]
    for match in range(U(found) + U(1), U(counters[MATCHES])):
        least = min(least, first[match])
    return least


# ── every operator is `,` ──


@inlined
def _first_of(run: Any, cells: Array, least: Any) -> Any:
    """The earliest first event of the runs of a list, if it is before `least`."""
    while run != NONE:
        least = min(least, cells[run, RUN_FIRST])
        run = U(cells[run, RUN_NEXT])
    return least


@inlined
def _end_later_starts(run: Any, first: Any, runs: Runs) -> Any:
    """End the runs of a list that began after an event; return the new list and its length."""
    cells, counters = runs.registers.integers, runs.counters
    kept, count = NONE, 0
    while run != NONE:
        next_run = U(cells[run, RUN_NEXT])
        if cells[run, RUN_FIRST] > first:
            runs.free[U(counters[FREE])] = run
            counters[FREE] += 1
        else:
            cells[run, RUN_NEXT] = S(kept)
            kept = run
            count += 1
        run = next_run
    return kept, count


@kernel
def run_longest(
    first: int, stop: int, nfa: Held[NfaTables], events: BatchEvents, evaluated: Held[Evaluated], pool: Held[Runs],
    matches: Held[Output], undecided: Array,
) -> Any:  # fmt: skip
    """Process the events `first` to `stop` of a batch, in order; return where it stopped (see general.run_events).

    `undecided` marks the lanes with a match that a run with an earlier first event may still exclude: there no run ends
    before its time, because it is not known which match is taken.
    """
    tables, runs, output = nfa.value, pool.value, matches.value
    batch = joined_batch(events, evaluated.value)
    cells, lanes, counters = runs.registers.integers, runs.lanes, runs.counters
    for row in range(U(first), U(stop)):
        lane = batch.events.lane[row]
        run = U(lanes.heads[lane, 0])
        starting = tables.begins == NONE or batch.events.predicates[tables.begins, row] != 0
        if run == NONE and not starting:
            continue
        if lanes.lengths[lane] < 0:
            continue  # refused
        most = counters[LONGEST] * tables.fan.runs + tables.fan.starts
        counters[LACKING] = lacking(most, tables.fan.nodes, runs, output)
        if counters[LACKING] != 0 and counters[COUNTED] != 0:
            most = lanes.lengths[lane] * open_fan(row, tables, batch.events.predicates) + tables.fan.starts
            counters[LACKING] = lacking(most, tables.fan.nodes, runs, output)
        if counters[LACKING] != 0:
            counters[WANTED] = most
            return S(row)
        found = counters[MATCHES]
        fresh, count = advance_lane(run, starting, lane, row, tables, batch, runs, output)
        if counters[MATCHES] > found and not undecided[lane]:
            least = _first_match(found, output.first, counters)
            if _first_of(fresh, cells, least) < least:
                undecided[lane] = 1
            else:
                fresh, count = _end_later_starts(fresh, least, runs)
        lanes.heads[lane, 0] = fresh
        lanes.lengths[lane] = count
        if count > counters[LONGEST]:
            counters[LONGEST] = count
        if count > lanes.limits[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop


# ── other operators ──


@inlined
def _lives(run: Any, state: Any, time: Any, tables: NfaTables, runs: Runs) -> bool:
    """Whether a run may still become a match; the lists of states that no event has touched keep others."""
    within = tables.state_within[state]
    in_time = within < 0 or time <= runs.times[run, RUN_BEGAN] + within
    return bool(runs.registers.integers[run, RUN_OVER] != DEAD and in_time)


@inlined
def _first_of_lane(lane: Any, time: Any, least: Any, tables: NfaTables, runs: Runs) -> Any:
    """The earliest first event of the runs of a lane, if it is before `least`."""
    cells, heads = runs.registers.integers, runs.lanes.heads
    for state in range(U(heads.shape[1])):
        run = U(heads[lane, state])
        while run != NONE:
            if cells[run, RUN_FIRST] < least and _lives(run, state, time, tables, runs):
                least = cells[run, RUN_FIRST]
            run = U(cells[run, RUN_NEXT])
    return least


@inlined
def _end_later_starts_of_lane(lane: Any, first: Any, runs: Runs) -> None:
    """End the runs of a lane that began after an event."""
    cells, heads = runs.registers.integers, runs.lanes.heads
    for state in range(U(heads.shape[1])):
        previous = NONE
        run = U(heads[lane, state])
        while run != NONE:
            next_run = U(cells[run, RUN_NEXT])
            if cells[run, RUN_FIRST] > first:
                unlink(previous, next_run, lane, state, runs)
                release(run, runs)
            else:
                previous = run
            run = next_run


@kernel
def run_longest_events(
    first: int, stop: int, nfa: Held[NfaTables], events: BatchEvents, evaluated: Held[Evaluated], pool: Held[Runs],
    matches: Held[Output], undecided: Array,
) -> Any:  # fmt: skip
    """The same as `run_longest` with operators that pass over events, where lists are by lane."""
    tables, runs, output = nfa.value, pool.value, matches.value
    batch = joined_batch(events, evaluated.value)
    lanes, counters, fan = runs.lanes, runs.counters, tables.fan
    for row in range(U(first), U(stop)):
        lane = events.lane[row]
        starting = tables.begins == NONE or batch.events.predicates[tables.begins, row] != 0
        if lanes.lengths[lane] <= 0 and (lanes.lengths[lane] < 0 or not starting):
            continue  # nothing waits, nothing begins; or the lane is refused
        most = counters[LONGEST] * fan.runs + fan.starts
        counters[LACKING] = lacking(most, fan.nodes, runs, output)
        if counters[LACKING] != 0 and counters[COUNTED] != 0:
            most = new_runs(lane, row, tables, batch, runs)
            counters[LACKING] = lacking(most, fan.nodes, runs, output)
        if counters[LACKING] != 0:
            counters[WANTED] = most
            return S(row)
        found = counters[MATCHES]
        fresh, _ = advance_runs(starting, lane, row, tables, batch, runs, output)
        if counters[MATCHES] > found and not undecided[lane]:
            least = _first_match(found, output.first, counters)
            if _first_of_lane(lane, events.time[row], least, tables, runs) < least:
                undecided[lane] = 1
            else:
                _end_later_starts_of_lane(lane, least, runs)
        if fresh != NONE and lanes.lengths[lane] > lanes.limits[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop

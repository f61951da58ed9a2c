"""NFA runs found from the end of a batch: the ways of runs are known for the whole batch, and none of them divides.

The runs of a lane at a state before an event go along one edge or die, so where they end is where that edge leads from
there: going back through the events, one look for each state tells the end of all runs that may be there. A run then
needs no list and no cells while it lives. Matches are made when their last event has come, some thousand together:
first the path of each, then what is kept along it, one register after the other. This pays off where every event
begins a match (w3); where few do, `lockstep` has less to do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from foretell.machine.kernels.actions import apply_update, apply_updates, begin
from foretell.machine.kernels.decorators import expanded, inlined, kernel
from foretell.machine.kernels.layout import (
    COUNT,
    COUNT_KNOWN,
    EDGE_PREDICATE,
    EDGE_TARGET,
    FREE,
    FULL_NODES,
    FULL_OUTPUT,
    LACKING,
    MATCHES,
    NODES,
    NONE,
    RUN_CHAIN,
    RUN_FIRST,
    RUN_LANE,
    RUN_ROWS,
    RUN_STATE,
    SUM_FLOAT,
    Array,
    S,
    U,
)
from foretell.machine.kernels.structs import Batch, Events, NfaTables, Output, Runs

#: No event, no run.
NOTHING: Any = np.uint32(2**32 - 1)

#: The kind of a final slot that is counted along with another.
DONE = -2


class Paths(NamedTuple):
    """The paths of the plan: the place of each state among those that wait, where each edge leads (behind the waiting
    states come one place for runs that die and one for those that are complete), the step that each edge chains (-1:
    none). Of each final slot its kind, its column, the slot that is counted along with it (its own where there is
    none); [slot, edge] whether the edge changes it, and by which update."""

    places: Array
    leads: Array
    chained: Array
    kinds: Array
    columns: Array
    counted: Array
    keeps: Array
    changes: Array
    chains: bool


class RunEnds(NamedTuple):
    """Of [state, row] the edge; of each lane its first event; of each event the next one of its lane; of each event the
    first of the runs that are over with it, and of each run the next of these. `carried` are the runs that earlier
    batches left; their numbers come behind those of the runs that begin in this batch."""

    ways: Array
    nexts: Array
    following: Array
    ends: Array
    same: Array
    carried: Array


class Scratch(NamedTuple):
    """Matches that are made together: their runs, where the path of each begins; rows and edges of all paths."""

    members: Array
    offsets: Array
    rows: Array
    taken: Array


@kernel
def find_run_ends(tables: NfaTables, events: Events, leads: Array, ends_at: Array, run_ends: RunEnds) -> int:
    """Go through the events from the last to the first; return how many matches begin in this batch.

    `ends_at` has for each lane and waiting state the event with which a run there is over: the number of events where
    it outlives them, one more where it dies.
    """
    ways, ends, same, starts = run_ends.ways, run_ends.ends, run_ends.same, tables.starts
    count, states, complete = U(ways.shape[1]), U(ways.shape[0]), 0
    for back in range(count):
        row = count - U(1) - back
        lane = events.lane[row]
        ends_at[lane, states + U(1)] = row
        for start in range(U(starts.size)):
            edge = starts[start]
            predicate = tables.edges[edge, EDGE_PREDICATE]
            if predicate != NONE and not events.predicates[predicate, row]:
                continue
            begun = row * U(starts.size) + start
            over = ends_at[lane, leads[edge]]
            same[begun] = ends[over]
            ends[over] = begun
            complete += S(over < count)
        run_ends.following[row] = run_ends.nexts[lane]
        run_ends.nexts[lane] = row
        # No edge leads back, so the states are taken in order: a later one still has its end after the event.
        for i in range(states):
            state = states - U(1) - i
            ends_at[lane, state] = ends_at[lane, leads[ways[state, row]]]
    return complete


@kernel
def add_carried(places: Array, ends_at: Array, run_ends: RunEnds, runs: Runs) -> None:
    """Put the runs that earlier batches left before those that begin in this one. Free those that die."""
    cells, counters, carried = runs.registers.integers, runs.counters, run_ends.carried
    first = U(run_ends.same.size - carried.size)
    for back in range(U(carried.size)):
        number = U(carried.size) - U(1) - back
        run = U(carried[number])
        over = ends_at[U(cells[run, RUN_LANE]), places[U(cells[run, RUN_STATE])]]
        if over == U(run_ends.ends.size - 1):
            runs.free[U(counters[FREE])] = run
            counters[FREE] += 1
        else:
            run_ends.same[first + number] = run_ends.ends[over]
            run_ends.ends[over] = first + number


@inlined
def _follow(place: Any, row: Any, length: Any, leads: Array, run_ends: RunEnds, scratch: Scratch) -> Any:
    """Append the rest of a path, from a place and the event `row` on; return its length."""
    complete = U(run_ends.ways.shape[0]) + U(1)
    while place != complete and row != NOTHING:
        edge = run_ends.ways[place, row]
        scratch.rows[length] = row
        scratch.taken[length] = edge
        length += U(1)
        place = U(leads[edge])
        row = U(run_ends.following[row])
    return length


@kernel
def _chain(number: Any, base: int, chained: Array, chains: Array, scratch: Scratch, runs: Runs) -> None:
    """Link the events of repeated steps. `chains` has the last node that a match had before, then its last one."""
    nodes, offsets = runs.nodes, scratch.offsets
    node = U(runs.counters[NODES])
    for match in range(number):
        parent = chains[match]
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            step = chained[scratch.taken[i]]
            if step >= 0:
                nodes.parent[node] = parent
                nodes.position[node] = base + S(scratch.rows[i])
                nodes.step[node] = step
                parent = S(node)
                node += U(1)
        chains[match] = parent
    runs.counters[NODES] = S(node)


# These three agree with actions.apply_update.


@kernel
def _count(number: Any, keeps: Array, scratch: Scratch, out: Array, out_null: Array) -> None:
    """COUNT of each match."""
    offsets = scratch.offsets
    for match in range(number):
        more = 0
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            more += S(keeps[scratch.taken[i]])
        if more:
            out[match] = more if out_null[match] else out[match] + more
            out_null[match] = 0


@kernel
def _count_known(number: Any, keeps: Array, nulls: Array, scratch: Scratch, out: Array, out_null: Array) -> None:
    """COUNT_KNOWN of each match."""
    offsets = scratch.offsets
    for match in range(number):
        more = 0
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            more += S(keeps[scratch.taken[i]] and nulls[scratch.rows[i]] == 0)
        if more:
            out[match] = more if out_null[match] else out[match] + more
            out_null[match] = 0


@kernel
def _sum(
    number: Any, keeps: Array, values: Array, nulls: Array, scratch: Scratch, out: Array, out_null: Array,
    counts: bool, out_count: Array, out_count_null: Array,
) -> None:  # fmt: skip
    """SUM_FLOAT of each match, and where it `counts` COUNT_KNOWN of the same: an average needs both."""
    rows, taken, offsets = scratch.rows, scratch.taken, scratch.offsets
    for match in range(number):
        null, total, more = out_null[match], out[match], 0
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            if keeps[taken[i]] and not nulls[rows[i]]:
                total = values[rows[i]] if null == 1 else total + values[rows[i]]
                null = np.uint8(0) if null == 1 else null
                more += 1
        if null != 1:
            out[match] = total
            out_null[match] = 0 if null == 0 and np.isfinite(total) else 2
        if counts and more:
            out_count[match] = more if out_count_null[match] else out_count[match] + more
            out_count_null[match] = 0


@kernel
def _update(
    number: Any, slot: Any, changes: Array, spare: Any, updates: Array, scratch: Scratch, out: Array, out_null: Array,
    batch: Batch, runs: Runs,
) -> None:  # fmt: skip
    """All other kinds of updates, in the cells of a spare run."""
    registers, offsets = runs.registers, scratch.offsets
    for match in range(number):
        registers.integers[spare, slot], registers.nulls[spare, slot] = out[match], out_null[match]
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            update = changes[scratch.taken[i]]
            if update >= 0:
                apply_update(U(update), spare, U(scratch.rows[i]), updates, batch, runs)
        out[match], out_null[match] = registers.integers[spare, slot], registers.nulls[spare, slot]


@expanded
def _begin_match(
    match: Any, member: Any, length: Any, paths: Paths, run_ends: RunEnds, scratch: Scratch, tables: NfaTables,
    batch: Batch, runs: Runs, output: Output,
) -> Any:  # fmt: skip
    """Write what a match has before the batch, or with its first event there; return the length of all paths."""
    starts, finals, cells = tables.starts, tables.finals, runs.registers.integers
    begun = U(run_ends.same.size - run_ends.carried.size)
    if member < begun:
        row = member // U(starts.size)
        edge = starts[member - row * U(starts.size)]
        scratch.rows[length], scratch.taken[length] = row, edge
        output.first[match] = batch.base + S(row)
        output.rows[match] = batch.events.rows[row]
        output.lane[match] = S(batch.events.lane[row])
        output.chain[match] = -1
        for i in range(U(finals.size)):
            output.nulls[i, match] = 1
        return _follow(U(paths.leads[edge]), U(run_ends.following[row]), length + U(1), paths.leads, run_ends, scratch)
    run = U(run_ends.carried[member - begun])
    output.first[match] = cells[run, RUN_FIRST]
    output.rows[match] = cells[run, RUN_ROWS]
    output.lane[match] = cells[run, RUN_LANE]
    output.chain[match] = cells[run, RUN_CHAIN]
    for i in range(U(finals.size)):
        output.slots[i, match] = cells[run, finals[i]]
        output.nulls[i, match] = runs.registers.nulls[run, finals[i]]
    place, row = U(paths.places[U(cells[run, RUN_STATE])]), U(run_ends.nexts[U(cells[run, RUN_LANE])])
    return _follow(place, row, length, paths.leads, run_ends, scratch)


@expanded
def _fill_slots(
    number: Any, first: Any, spare: Any, paths: Paths, scratch: Scratch, tables: NfaTables, batch: Batch, runs: Runs,
    output: Output, float_slots: Array,
) -> None:  # fmt: skip
    """Write the final slots of matches that are made together, one slot after the other."""
    columns = batch.columns
    for i in range(U(tables.finals.size)):
        slots, nulls = output.slots[i, first:], output.nulls[i, first:]
        if paths.kinds[i] == COUNT:
            _count(number, paths.keeps[i], scratch, slots, nulls)
        elif paths.kinds[i] == COUNT_KNOWN:
            _count_known(number, paths.keeps[i], columns.nulls[paths.columns[i]], scratch, slots, nulls)
        elif paths.kinds[i] == SUM_FLOAT:
            other, column = U(paths.counted[i]), paths.columns[i]
            _sum(
                number, paths.keeps[i], columns.floats[column], columns.nulls[column], scratch, float_slots[i, first:],
                nulls, other != i, output.slots[other, first:], output.nulls[other, first:],
            )  # fmt: skip
        elif paths.kinds[i] != DONE:
            _update(
                number, tables.finals[i], paths.changes[i], spare, tables.updates, scratch, slots, nulls, batch, runs
            )


@kernel
def make_matches(
    first: int, tables: NfaTables, batch: Batch, runs: Runs, output: Output, float_slots: Array, paths: Paths,
    run_ends: RunEnds, scratch: Scratch,
) -> Any:  # fmt: skip
    """Make the matches in the order of their last events, from the event `first` on; return where room ran out.

    `float_slots` are the slots of the output as floats.
    """
    counters, members = runs.counters, scratch.members
    count, begun = U(run_ends.ways.shape[1]), U(run_ends.same.size - run_ends.carried.size)
    spare = U(runs.free[U(counters[FREE] - 1)])
    over, member = U(first), U(run_ends.ends[first])
    while True:
        first_over, first_member = over, member
        number, length = U(0), U(0)
        done = U(counters[MATCHES])
        while number < U(members.size):
            while member == NOTHING and over < count:
                over += U(1)
                member = U(run_ends.ends[over])
            if over >= count or length + over + U(2) > U(scratch.rows.size):
                break
            match = done + number
            if match >= U(output.row.size):
                break
            members[number] = member
            scratch.offsets[number] = length
            length = _begin_match(match, member, length, paths, run_ends, scratch, tables, batch, runs, output)
            output.state[match] = S(tables.edges[scratch.taken[length - U(1)], EDGE_TARGET])
            output.row[match] = S(over)
            number += U(1)
            member = U(run_ends.same[member])
        if number == 0 and over >= count:
            return S(count)
        if number == 0 or U(runs.nodes.parent.size) - U(counters[NODES]) < length:
            counters[LACKING] = FULL_NODES if number else FULL_OUTPUT
            run_ends.ends[first_over] = first_member
            return S(first_over)
        scratch.offsets[number] = length
        if paths.chains:
            _chain(number, batch.base, paths.chained, output.chain[done:], scratch, runs)
        _fill_slots(number, done, spare, paths, scratch, tables, batch, runs, output, float_slots)
        counters[MATCHES] += S(number)
        for i in range(number):
            if U(members[i]) >= begun:
                runs.free[U(counters[FREE])] = run_ends.carried[U(members[i]) - begun]
                counters[FREE] += 1


@kernel
def list_length(member: int, same: Array) -> int:
    """How many runs are in a list."""
    count = 0
    while member != NOTHING:
        count += 1
        member = same[U(member)]
    return count


@kernel
def leave_runs(tables: NfaTables, batch: Batch, runs: Runs, paths: Paths, run_ends: RunEnds, scratch: Scratch) -> None:
    """Make the runs that are left after the last event, as far as there are nodes for them."""
    cells, starts, rows, taken = runs.registers.integers, tables.starts, scratch.rows, scratch.taken
    count, begun = U(run_ends.ways.shape[1]), U(run_ends.same.size - run_ends.carried.size)
    member = U(run_ends.ends[count])
    while member != NOTHING:
        run_ends.ends[count] = member
        run, length = NONE, U(0)
        if member < begun:
            row = member // U(starts.size)
            rows[0], taken[0] = row, starts[member - row * U(starts.size)]
            length = U(1)
            place, row = U(paths.leads[taken[0]]), U(run_ends.following[row])
        else:
            run = U(run_ends.carried[member - begun])
            place, row = U(paths.places[U(cells[run, RUN_STATE])]), U(run_ends.nexts[U(cells[run, RUN_LANE])])
        length = _follow(place, row, length, paths.leads, run_ends, scratch)
        if U(runs.nodes.parent.size) - U(runs.counters[NODES]) < length:
            runs.counters[LACKING] = FULL_NODES
            return
        if member < begun:
            row = U(rows[0])
            run = begin(batch.events.lane[row], row, batch, runs)
            runs.counters[FREE] -= 1
        for i in range(length):
            edge = U(taken[i])
            apply_updates(edge, run, U(rows[i]), tables, batch, runs)
            cells[run, RUN_STATE] = S(tables.edges[edge, EDGE_TARGET])
        member = U(run_ends.same[member])
    run_ends.ends[count] = NOTHING

"""Instances whose ways are known for the whole batch, and none of which divides: their fates are found from its end.

What stands at a state of a lane before an event goes along one edge or dies, so where it ends is where that edge leads
from there: going back through the events, one look for each state tells the fate of all that may stand there. An
instance then needs no list and no cells while it lives. Matches are made when their last event has come, some thousand
together: first the way of each, then what is kept along it, one register after the other. This is worth it where every
event begins a match (w3); where few do, foretell.machine.kernels.lockstep has less to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.actions import begin, keep
from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import (
    COUNT,
    COUNT_KNOWN,
    EDGE_PREDICATE,
    EDGE_TARGET,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
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

#: No event, no instance.
NOTHING: Any = np.uint32(2**32 - 1)

#: The kind of a slot that is counted along with another.
DONE = -2

# fmt: off


@kernel
def foresee(starts: Array, edges: Array, predicates: Array, event_lane: Array, ways: Array, leads: Array,
            fates: Array, nexts: Array, following: Array, ends: Array, same: Array) -> int:
    """Goes through the events from the last to the first; how many matches there are that begin here.

    `fates` has for each lane and waiting state the event at which what stands there is over: the number of events where
    it outlives them, one more where it dies. `leads` are the places of the edges' targets there. Behind those of the
    states come one for what dies, and one for what is complete. `ends` has the first of those that begin in this batch
    by where they are over, `same` the next. `following` is the next event of the lane, `nexts` its first.
    """
    count, states, complete = U(ways.shape[1]), U(ways.shape[0]), 0
    for back in range(count):
        row = count - U(1) - back
        lane = event_lane[row]
        fates[lane, states + U(1)] = row
        for start in range(U(starts.size)):
            edge = starts[start]
            predicate = edges[edge, EDGE_PREDICATE]
            if predicate != NONE and not predicates[predicate, row]:
                continue
            begun = row * U(starts.size) + start
            over = fates[lane, leads[edge]]
            same[begun] = ends[over]
            ends[over] = begun
            complete += S(over < count)
        following[row] = nexts[lane]
        nexts[lane] = row
        # No edge leads back, so the states are taken in order: what a later one has is still that after the event.
        for i in range(states):
            state = states - U(1) - i
            fates[lane, state] = fates[lane, leads[ways[state, row]]]
    return complete


@kernel
def attach(carried: Array, places: Array, cells: Array, fates: Array, ends: Array, same: Array, free: Array,
           counters: Array) -> None:
    """Puts those that earlier batches have left before those that begin in this one. What dies is let go."""
    first = U(same.size - carried.size)
    for back in range(U(carried.size)):
        number = U(carried.size) - U(1) - back
        instance = U(carried[number])
        over = fates[U(cells[instance, RUN_LANE]), places[U(cells[instance, RUN_STATE])]]
        if over == U(ends.size - 1):
            free[U(counters[FREE])] = instance
            counters[FREE] += 1
        else:
            same[first + number] = ends[over]
            ends[over] = first + number


@inlined
def _way(place: Any, row: Any, length: Any, leads: Array, ways: Array, following: Array, path: Any) -> Any:
    """Goes on from a place with the event `row`: how long the path is then, and where it ends."""
    (rows, taken) = path
    complete = U(ways.shape[0]) + U(1)
    while place != complete and row != NOTHING:
        edge = ways[place, row]
        rows[length] = row
        taken[length] = edge
        length += U(1)
        place = U(leads[edge])
        row = U(following[row])
    return length, place


@kernel
def _chain(number: Any, base: int, chained: Array, chains: Array, offsets: Array, path: Any, registers: Any,
           counters: Array) -> None:
    """Links the events of repeated steps. `chains` has the node that a match had before, and then its last."""
    (_, _, _, node_parent, node_position, node_step) = registers
    (rows, taken) = path
    node = U(counters[NODES])
    for match in range(number):
        parent = chains[match]
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            step = chained[taken[i]]
            if step >= 0:
                node_parent[node] = parent
                node_position[node] = base + S(rows[i])
                node_step[node] = step
                parent = S(node)
                node += U(1)
        chains[match] = parent
    counters[NODES] = S(node)


@kernel
def _counted(number: Any, keeps: Array, offsets: Array, path: Any, out: Array, out_null: Array) -> None:
    """COUNT: see binding.keep, with which these agree."""
    (_, taken) = path
    for match in range(number):
        more = 0
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            more += S(keeps[taken[i]])
        if more:
            out[match] = more if out_null[match] else out[match] + more
            out_null[match] = 0


@kernel
def _counted_known(number: Any, keeps: Array, nulls: Array, offsets: Array, path: Any, out: Array,
                   out_null: Array) -> None:
    (rows, taken) = path
    for match in range(number):
        more = 0
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            more += S(keeps[taken[i]] and nulls[rows[i]] == 0)
        if more:
            out[match] = more if out_null[match] else out[match] + more
            out_null[match] = 0


@kernel
def _summed(number: Any, keeps: Array, values: Array, nulls: Array, offsets: Array, path: Any, out: Array,
            out_null: Array, counts: bool, out_count: Array, out_count_null: Array) -> None:
    """SUM_FLOAT, and where it `counts` COUNT_KNOWN of the same: an average needs both."""
    (rows, taken) = path
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
def _kept(number: Any, slot: Any, changes: Array, base: int, updates: Array, offsets: Array, path: Any, out: Array,
          out_null: Array, scratch: Any, code: Any, batch: Any, registers: Any, counters: Array, stacks: Any) -> None:
    """All other kinds, in the cells of an instance that is free."""
    (_, slot_i, slot_null, _, _, _) = registers
    (rows, taken) = path
    for match in range(number):
        slot_i[scratch, slot], slot_null[scratch, slot] = out[match], out_null[match]
        for i in range(U(offsets[match]), U(offsets[match + U(1)])):
            update = changes[taken[i]]
            if update >= 0:
                keep(U(update), U(update) + U(1), updates, code, scratch, U(rows[i]), base + S(rows[i]), batch,
                     registers, counters, stacks)
        out[match], out_null[match] = slot_i[scratch, slot], slot_null[scratch, slot]


@kernel
def fulfil(first: int, base: int, tables: Any, code: Any, events: Any, batch: Any, pool: Any, registers: Any,
           output: Any, counters: Array, known: Any, foreseen: Any, together: Any, stacks: Any) -> Any:
    """Makes the matches in the order of their last events, from those of the event `first` on; where room ran out."""
    (_, _, _, _, edges, updates, _, _, starts, finals) = tables
    (event_lane, _, _, _, event_rows) = events
    (cells, _, free) = pool
    (column_f, _, column_null, _, _, _) = batch
    (_, slot_i, slot_null, node_parent, _, _) = registers
    (out_first, out_rows, out_state, out_lane, out_row, out_chain, out_slot, out_slot_f, out_null) = output
    (places, leads, chained, kinds, columns, counted, keeps, changes, chains) = known
    (ways, nexts, following, ends, same, carried) = foreseen
    (ones, offsets, rows, taken) = together
    path = (rows, taken)
    count, fresh = U(ways.shape[1]), U(same.size - carried.size)
    scratch = U(free[U(counters[FREE] - 1)])
    over, one = U(first), U(ends[first])
    while True:
        begin_over, begin_one = over, one
        number, length = U(0), U(0)
        found = U(counters[MATCHES])
        while number < U(ones.size):
            while one == NOTHING and over < count:
                over += U(1)
                one = U(ends[over])
            if over >= count:
                break
            if length + over + U(2) > U(rows.size):
                break
            here = found + number
            if here >= U(out_row.size):
                break
            ones[number] = one
            offsets[number] = length
            if one < fresh:
                row = one // U(starts.size)
                edge = starts[one - row * U(starts.size)]
                rows[length], taken[length] = row, edge
                length += U(1)
                place = U(leads[edge])
                out_first[here] = base + S(row)
                out_rows[here] = event_rows[row]
                out_lane[here] = S(event_lane[row])
                out_chain[here] = -1
                for i in range(U(finals.size)):
                    out_null[i, here] = 1
                row = U(following[row])
            else:
                instance = U(carried[one - fresh])
                place = U(places[U(cells[instance, RUN_STATE])])
                out_first[here] = cells[instance, RUN_FIRST]
                out_rows[here] = cells[instance, RUN_ROWS]
                out_lane[here] = cells[instance, RUN_LANE]
                out_chain[here] = cells[instance, RUN_CHAIN]
                for i in range(U(finals.size)):
                    out_slot[i, here] = slot_i[instance, finals[i]]
                    out_null[i, here] = slot_null[instance, finals[i]]
                row = U(nexts[U(cells[instance, RUN_LANE])])
            length, _ = _way(place, row, length, leads, ways, following, path)
            out_state[here] = S(edges[taken[length - U(1)], EDGE_TARGET])
            out_row[here] = S(over)
            number += U(1)
            one = U(same[one])
        if number == 0 and over >= count:
            return S(count)
        if number == 0 or U(node_parent.size) - U(counters[NODES]) < length:
            counters[LACKING] = FULL_NODES if number else FULL_OUTPUT
            ends[begin_over] = begin_one
            return S(begin_over)
        offsets[number] = length
        if chains:
            _chain(number, base, chained, out_chain[found:], offsets, path, registers, counters)
        for i in range(U(finals.size)):
            out_i, nulls = out_slot[i, found:], out_null[i, found:]
            if kinds[i] == COUNT:
                _counted(number, keeps[i], offsets, path, out_i, nulls)
            elif kinds[i] == COUNT_KNOWN:
                _counted_known(number, keeps[i], column_null[columns[i]], offsets, path, out_i, nulls)
            elif kinds[i] == SUM_FLOAT:
                other = U(counted[i])
                _summed(number, keeps[i], column_f[columns[i]], column_null[columns[i]], offsets, path,
                        out_slot_f[i, found:], nulls, other != i, out_slot[other, found:], out_null[other, found:])
            elif kinds[i] != DONE:
                _kept(number, finals[i], changes[i], base, updates, offsets, path, out_i, nulls, scratch, code, batch,
                      registers, counters, stacks)
        counters[MATCHES] += S(number)
        for match in range(number):
            if U(ones[match]) >= fresh:
                free[U(counters[FREE])] = carried[U(ones[match]) - fresh]
                counters[FREE] += 1


@kernel
def left(one: int, same: Array) -> int:
    """How many are in a list."""
    count = 0
    while one != NOTHING:
        count += 1
        one = same[U(one)]
    return count


@kernel
def leave(base: int, tables: Any, code: Any, events: Any, batch: Any, pool: Any, registers: Any, counters: Array,
          known: Any, foreseen: Any, together: Any, stacks: Any) -> None:
    """Makes the instances that are left after the last event, as far as there are nodes for them."""
    (_, _, _, _, edges, updates, _, _, starts, _) = tables
    (event_lane, _, event_start, _, event_rows) = events
    cells = pool[0]
    (places, leads, _, _, _, _, _, _, _) = known
    (ways, nexts, following, ends, same, carried) = foreseen
    (_, _, rows, taken) = together
    count, fresh = U(ways.shape[1]), U(same.size - carried.size)
    one = U(ends[count])
    while one != NOTHING:
        ends[count] = one
        length = U(0)
        if one < fresh:
            row = one // U(starts.size)
            rows[0], taken[0] = row, starts[one - row * U(starts.size)]
            length = U(1)
            place, row = U(leads[taken[0]]), U(following[row])
        else:
            instance = U(carried[one - fresh])
            place, row = U(places[U(cells[instance, RUN_STATE])]), U(nexts[U(cells[instance, RUN_LANE])])
        length, _ = _way(place, row, length, leads, ways, following, (rows, taken))
        if U(registers[3].size) - U(counters[NODES]) < length:
            counters[LACKING] = FULL_NODES
            return
        if one < fresh:
            row = U(rows[0])
            instance = begin(event_lane[row], event_start[row], base + S(row), event_rows[row], pool, registers,
                             counters)
            counters[FREE] -= 1
        for i in range(length):
            edge = U(taken[i])
            keep(edges[edge, EDGE_UPDATES], edges[edge, EDGE_UPDATES_STOP], updates, code, instance, U(rows[i]),
                 base + S(rows[i]), batch, registers, counters, stacks)
            cells[instance, RUN_STATE] = S(edges[edge, EDGE_TARGET])
        one = U(same[one])
    ends[count] = NOTHING


# fmt: on

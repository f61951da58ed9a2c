"""Instances where every operator is `,` and every condition was answered for the batch before (w1, w3, w6).

Then the instances of a lane that stand at one state all go the same way. Which way is worked out for the whole batch,
an event finds it by one look, and the list of a state is handed on as it is; what is left to do for each instance is to
keep what it keeps. foretell.machine.kernels.strict does the same for all else under `,`, one instance after the other.

An instance's cells and their NULLs are addressed by where they begin (`at`), which is worked out once for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.actions import aggregate, copy, room
from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import (
    CHAIN,
    COUNT,
    COUNT_KNOWN,
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
    Array,
    S,
    U,
)
from foretell.machine.kernels.probe import look_at_states

#: Where no edge holds, and where several do; else it is the edge itself.
NO_WAY: Any = np.uint64(255)
SEVERAL: Any = np.uint64(254)

# fmt: off


@kernel
def find_ways(waiting: Array, states: Array, edges: Array, predicates: Array, ways: Array) -> None:
    """Along which edge each event takes what stands at each of the waiting states."""
    for i in range(U(waiting.size)):
        for row in range(U(ways.shape[1])):
            ways[i, row] = NO_WAY
        for edge in range(states[waiting[i], STATE_EDGES], states[waiting[i], STATE_EDGES_STOP]):
            predicate = edges[edge, EDGE_PREDICATE]
            for row in range(U(ways.shape[1])):
                # Without branches, so that many events are looked at together.
                known = ways[i, row]
                way = np.uint8(edge) if known == np.uint8(NO_WAY) else np.uint8(SEVERAL)
                ways[i, row] = way if predicate == NONE or predicates[predicate, row] else known


@inlined
def _keep(first: Any, stop: Any, at: Any, row: Any, position: int, updates: Array, code: Any, batch: Any,
          instances: Any, registers: Any, counters: Array) -> None:
    """See binding.keep."""
    (cells, floats, nulls) = instances
    (column_f, column_i, column_null, _, _, _) = batch
    (_, _, _, node_parent, node_position, node_step) = registers
    for u in range(first, stop):
        kind, slot, argument = updates[u, 0], at + updates[u, 1], updates[u, 2]
        if kind == CHAIN:
            node = U(counters[NODES])
            counters[NODES] += 1
            node_parent[node] = cells[at + U(RUN_CHAIN)]
            node_position[node] = position
            node_step[node] = S(argument)
            cells[at + U(RUN_CHAIN)] = S(node)
        elif kind == COUNT:
            cells[slot] = 1 if nulls[slot] else cells[slot] + 1
            nulls[slot] = 0
        elif kind == SUM_FLOAT:
            unknown = nulls[slot]
            if unknown != 2 and not column_null[argument, row]:
                total = column_f[argument, row] if unknown else floats[slot] + column_f[argument, row]
                floats[slot] = total
                nulls[slot] = 0 if np.isfinite(total) else 2
        elif kind == COUNT_KNOWN:
            if not column_null[argument, row]:
                cells[slot] = 1 if nulls[slot] else cells[slot] + 1
                nulls[slot] = 0
        elif kind == POSITION:
            cells[slot] = position
            nulls[slot] = 0
        elif kind == SET:
            cells[slot] = column_i[argument, row]
            nulls[slot] = column_null[argument, row]
        else:
            aggregate(kind, updates[u, 1], argument, code, at // U(registers[2].shape[1]), row, batch, registers)


@inlined
def _emit(there: Any, lane: Any, row: Any, at: Any, finals: Array, instances: Any, output: Any,
          counters: Array) -> None:
    """See binding.emit."""
    (cells, _, nulls) = instances
    (out_first, out_rows, out_state, out_lane, out_row, out_chain, out_slot, out_null) = output
    match = U(counters[MATCHES])
    counters[MATCHES] += 1
    out_state[match] = S(there)
    out_lane[match] = S(lane)
    out_row[match] = S(row)
    out_first[match] = cells[at + U(RUN_FIRST)]
    out_chain[match] = cells[at + U(RUN_CHAIN)]
    out_rows[match] = cells[at + U(RUN_ROWS)]
    for i in range(U(finals.size)):
        out_slot[i, match] = cells[at + finals[i]]
        out_null[i, match] = nulls[at + finals[i]]


@inlined
def _hand_on(instance: Any, edge: Any, lane: Any, row: Any, position: int, tables: Any, code: Any, batch: Any,
             pool: Any, heads: Array, registers: Any, output: Any, counters: Array, instances: Any) -> int:
    """Takes a list along an edge; how many instances are over with it."""
    (_, _, _, _, edges, updates, _, _, _, finals) = tables
    cells, free = instances[0], pool[2]
    width = U(registers[2].shape[1])
    there, first, stop = edges[edge, EDGE_TARGET], edges[edge, EDGE_UPDATES], edges[edge, EDGE_UPDATES_STOP]
    if edges[edge, EDGE_FINAL]:
        over = 0
        while instance != NONE:
            at = instance * width
            _keep(first, stop, at, row, position, updates, code, batch, instances, registers, counters)
            _emit(there, lane, row, at, finals, instances, output, counters)
            free[U(counters[FREE])] = instance
            counters[FREE] += 1
            over += 1
            instance = U(cells[at + U(RUN_NEXT)])
        return over
    top, at = instance, U(0)
    while instance != NONE:
        at = instance * width
        _keep(first, stop, at, row, position, updates, code, batch, instances, registers, counters)
        cells[at + U(RUN_STATE)] = S(there)
        instance = U(cells[at + U(RUN_NEXT)])
    cells[at + U(RUN_NEXT)] = S(heads[lane, there])
    heads[lane, there] = top
    return 0


@kernel
def _hand_on_copies(instance: Any, here: Any, lane: Any, row: Any, position: int, tables: Any, predicates: Array,
                    code: Any, batch: Any, pool: Any, heads: Array, registers: Any, output: Any, counters: Array,
                    instances: Any) -> Any:
    """Takes copies of a list along all edges that hold but the last; that one, and by how many there are more now."""
    (states, _, _, _, edges, _, _, _, _, _) = tables
    cells = pool[0]
    chosen, more = NONE, 0
    for edge in range(states[here, STATE_EDGES], states[here, STATE_EDGES_STOP]):
        predicate = edges[edge, EDGE_PREDICATE]
        if predicate != NONE and not predicates[predicate, row]:
            continue
        if chosen != NONE:
            copies, one = NONE, instance
            while one != NONE:
                target = copy(one, pool, registers, counters)
                cells[target, RUN_NEXT] = S(copies)
                copies = target
                more += 1
                one = U(cells[one, RUN_NEXT])
            more -= _hand_on(copies, chosen, lane, row, position, tables, code, batch, pool, heads, registers, output,
                             counters, instances)
        chosen = edge
    return chosen, more


@kernel
def run_plain(first: int, stop: int, base: int, begins: Any, fan: tuple[int, int, int], tables: Any, code: Any,
              events: Any, batch: Any, pool: Any, lanes: Any, registers: Any, timers: Any, output: Any,
              counters: Array, plain: Any, watch: Any) -> Any:
    """Feeds the events `first` to `stop` of a batch, in order; returns where it stopped. See instances.run_events.

    `plain` are the waiting states, which way each event takes them, and the slots; then all cells of all instances as
    integers, as floats, and which are NULL.
    """
    (states, _, _, _, edges, updates, state_within, _, starts, finals) = tables
    (event_lane, event_time, event_start, predicates, event_rows) = events
    (heads, lane_length, lane_limit, _) = lanes
    (waiting, ways, slots, cells, floats, nulls) = plain
    instances = (cells, floats, nulls)
    (_, times, free) = pool
    width = U(registers[2].shape[1])
    moving, beginning, nodes = fan
    watched = watch[0].size > 0
    most = counters[LONGEST] * moving + beginning
    for row in range(U(first), U(stop)):
        lane = event_lane[row]
        count = lane_length[lane]
        starting = begins == NONE or predicates[begins, row] != 0
        if count <= 0 and (count < 0 or not starting):
            continue  # nothing waits, nothing begins; or the lane is refused
        counters[LACKING] = room(most, nodes, registers, output, timers, counters)
        if counters[LACKING] != 0:
            return S(row)
        position = base + S(row)
        if count > 0:
            # From the last state to the first: no edge leads back, so nothing is taken on twice.
            for i in range(U(waiting.size)):
                here = waiting[i]
                instance = U(heads[lane, here])
                if instance == NONE:
                    continue
                heads[lane, here] = NONE
                way = U(ways[i, row])
                if way == SEVERAL:
                    way, more = _hand_on_copies(instance, here, lane, row, position, tables, predicates, code, batch,
                                                pool, heads, registers, output, counters, instances)
                    count += more
                if way != NO_WAY:
                    count -= _hand_on(instance, way, lane, row, position, tables, code, batch, pool, heads, registers,
                                      output, counters, instances)
                    continue
                while instance != NONE:
                    free[U(counters[FREE])] = instance
                    counters[FREE] += 1
                    count -= 1
                    instance = U(cells[instance * width + U(RUN_NEXT)])
        if starting:
            for start in range(U(starts.size)):
                edge = starts[start]
                predicate = edges[edge, EDGE_PREDICATE]
                if predicate != NONE and not predicates[predicate, row]:
                    continue
                there = edges[edge, EDGE_TARGET]
                instance = U(free[U(counters[FREE] - 1)])
                at = instance * width
                for i in range(U(slots.size)):
                    nulls[at + slots[i]] = 1
                cells[at + U(RUN_STATE)] = S(there)
                cells[at + U(RUN_CHAIN)] = -1
                cells[at + U(RUN_LANE)] = S(lane)
                cells[at + U(RUN_FIRST)] = position
                cells[at + U(RUN_ROWS)] = event_rows[row]
                times[instance, RUN_BEGAN] = event_start[row]
                _keep(edges[edge, EDGE_UPDATES], edges[edge, EDGE_UPDATES_STOP], at, row, position, updates, code,
                      batch, instances, registers, counters)
                if edges[edge, EDGE_FINAL]:
                    _emit(there, lane, row, at, finals, instances, output, counters)
                    continue
                counters[FREE] -= 1
                cells[at + U(RUN_NEXT)] = S(heads[lane, there])
                heads[lane, there] = instance
                count += 1
        lane_length[lane] = count
        if watched:
            look_at_states(row, lane, lane, event_time[row], watch, states, state_within, pool, heads, finals,
                           registers)
        if count > counters[LONGEST]:
            counters[LONGEST] = count
            most = counters[LONGEST] * moving + beginning
        if count > lane_limit[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop


# fmt: on

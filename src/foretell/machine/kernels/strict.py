"""Instances with registers where every operator is `,`: no instance outlives the next event of its lane.

So nothing has to be asked about staying, and the lane's list is made anew by each event (w1, w3, w6).
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import copy, emit, keep, room, started, true
from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.layout import (
    CROWDED,
    EDGE_CODE,
    EDGE_CODE_STOP,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_TARGET,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
    FREE,
    FULL_LANE,
    LACKING,
    LONGEST,
    NONE,
    RUN_BEGAN,
    RUN_NEXT,
    RUN_STATE,
    STATE_EDGES,
    STATE_EDGES_STOP,
    Array,
    S,
    U,
)
from foretell.machine.kernels.probe import look_at_lane

# fmt: off


@kernel
def run_strict(first: int, stop: int, base: int, begins: Any, fan: tuple[int, int, int], tables: Any, code: Any,
               events: Any, batch: Any, pool: Any, lanes: Any, registers: Any, timers: Any, output: Any,
               counters: Array, stacks: Any, watch: Any) -> Any:
    """Feeds the events `first` to `stop` of a batch, in order; returns where it stopped. See instances.run_events."""
    (states, _, _, _, edges, updates, _, edge_within, starts, finals) = tables
    (event_lane, event_time, _, predicates, _) = events
    (cells, times, free) = pool
    (heads, lane_length, lane_limit, _) = lanes
    moving, beginning, nodes = fan
    watched = watch[0].size > 0
    for row in range(U(first), U(stop)):
        lane = event_lane[row]
        instance = U(heads[lane, 0])
        starting = begins == NONE or predicates[begins, row] != 0
        if instance == NONE and not starting:
            continue
        if lane_length[lane] < 0:
            continue  # refused
        counters[LACKING] = room(counters[LONGEST] * moving + beginning, nodes, registers, output, timers, counters)
        if counters[LACKING] != 0:
            return S(row)
        time = event_time[row]
        position = base + S(row)
        fresh, count = NONE, 0
        while instance != NONE:
            next_instance = U(cells[instance, RUN_NEXT])
            here = U(cells[instance, RUN_STATE])
            chosen = NONE  # the last edge that holds; the instance itself moves along it
            for edge in range(states[here, STATE_EDGES], states[here, STATE_EDGES_STOP]):
                predicate = edges[edge, EDGE_PREDICATE]
                if predicate != NONE and not predicates[predicate, row]:
                    continue
                within = edge_within[edge]
                if within >= 0 and time > times[instance, RUN_BEGAN] + within:
                    continue
                if not true(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], code, batch, row, registers, instance,
                            stacks):
                    continue
                if chosen != NONE:
                    target = copy(instance, pool, registers, counters)
                    keep(edges[chosen, EDGE_UPDATES], edges[chosen, EDGE_UPDATES_STOP], updates, code, target, row,
                         position, batch, registers, counters, stacks)
                    if edges[chosen, EDGE_FINAL]:
                        emit(edges[chosen, EDGE_TARGET], lane, S(row), target, finals, registers, output, counters)
                        counters[FREE] += 1
                    else:
                        cells[target, RUN_STATE] = S(edges[chosen, EDGE_TARGET])
                        cells[target, RUN_NEXT] = S(fresh)
                        fresh = target
                        count += 1
                chosen = edge
            if chosen != NONE:
                keep(edges[chosen, EDGE_UPDATES], edges[chosen, EDGE_UPDATES_STOP], updates, code, instance, row,
                     position, batch, registers, counters, stacks)
                if edges[chosen, EDGE_FINAL]:
                    emit(edges[chosen, EDGE_TARGET], lane, S(row), instance, finals, registers, output, counters)
                    chosen = NONE
                else:
                    cells[instance, RUN_STATE] = S(edges[chosen, EDGE_TARGET])
                    cells[instance, RUN_NEXT] = S(fresh)
                    fresh = instance
                    count += 1
            if chosen == NONE:
                free[U(counters[FREE])] = instance
                counters[FREE] += 1
            instance = next_instance

        if starting:
            for start in range(U(starts.size)):
                target = started(starts[start], lane, row, position, tables, code, events, batch, pool, registers,
                                 output, counters, stacks)
                if target != NONE:
                    cells[target, RUN_NEXT] = S(fresh)
                    fresh = target
                    count += 1
        heads[lane, 0] = fresh
        lane_length[lane] = count
        if watched:
            look_at_lane(row, lane, fresh, watch, pool, finals, registers)
        if count > counters[LONGEST]:
            counters[LONGEST] = count
        if count > lane_limit[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop

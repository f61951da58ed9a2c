"""Instances with registers where every operator is `,`: no instance outlives the next event of its lane.

So nothing has to be asked about staying, and the lane's list is made anew by each event (w1, w3, w6).
"""

from __future__ import annotations

from typing import Any

from foretell.compiled import kernel
from foretell.machine.binding import FREE, FRESH, FULL, FULL_LANE, LONGEST, Array, begin, copy, emit, keep, room, true

# fmt: off


@kernel
def run_strict(first: int, stop: int, base: int, fan: tuple[int, int, int], program: Any, updates: Any, code: Any,
               events: Any, batch: Any, pool: Any, lanes: Any, registers: Any, timers: Any, output: Any,
               counters: Array, stacks: Any) -> int:
    """Feeds the events `first` to `stop` of a batch, in order; returns where it stopped. See run_events."""
    (_, _, _, _, _, _, _, state_edge, _, edge_predicate, edge_code, edge_update, edge_target, state_within,
     state_accept, _, start_edge, _, _, _, _, _, _, _, finals, begins, _, _) = program
    (event_lane, event_time, event_start, predicates, event_rows) = events
    (state, following, _, _, began, first_position, _, _, free) = pool
    (heads, lane_length, lane_limit, _) = lanes
    moving, beginning, nodes = fan
    for row in range(first, stop):
        lane = event_lane[row]
        instance = heads[lane, 0]
        if instance == -1 and begins >= 0 and not predicates[begins, row]:
            continue
        if lane_length[lane] < 0:
            continue  # refused
        counters[FULL] = room(counters[LONGEST] * moving + beginning, nodes, registers, output, timers, counters)
        if counters[FULL] != 0:
            return row
        time = event_time[row]
        position = base + row
        fresh, count = -1, 0
        while instance != -1:
            next_instance = following[instance]
            here = state[instance]
            chosen = -1  # the last edge that holds; the instance itself moves along it
            for edge in range(state_edge[here], state_edge[here + 1]):
                predicate = edge_predicate[edge]
                if predicate >= 0 and not predicates[predicate, row]:
                    continue
                within = state_within[edge_target[edge]]
                if within >= 0 and time > began[instance] + within:
                    continue
                if not true(edge_code[edge, 0], edge_code[edge, 1], code, batch, row, registers, instance, stacks):
                    continue
                if chosen >= 0:
                    target = copy(instance, pool, registers, counters)
                    keep(edge_update[chosen, 0], edge_update[chosen, 1], updates, code, target, row, position, batch,
                         registers, counters, stacks)
                    there = edge_target[chosen]
                    if state_accept[there] >= 0:
                        emit(there, lane, row, first_position[target], target, finals, registers, output, counters)
                        counters[FREE] += 1
                    else:
                        state[target] = there
                        following[target] = fresh
                        fresh = target
                        count += 1
                chosen = edge
            if chosen >= 0:
                keep(edge_update[chosen, 0], edge_update[chosen, 1], updates, code, instance, row, position, batch,
                     registers, counters, stacks)
                there = edge_target[chosen]
                if state_accept[there] >= 0:
                    emit(there, lane, row, first_position[instance], instance, finals, registers, output, counters)
                    chosen = -1
                else:
                    state[instance] = there
                    following[instance] = fresh
                    fresh = instance
                    count += 1
            if chosen < 0:
                free[counters[FREE]] = instance
                counters[FREE] += 1
            instance = next_instance

        if begins < 0 or predicates[begins, row]:
            for start in range(start_edge.size):
                edge = start_edge[start]
                predicate = edge_predicate[edge]
                if predicate >= 0 and not predicates[predicate, row]:
                    continue
                target = begin(row, lane, event_start[row], position, event_rows[row], pool, registers, counters)
                if not true(edge_code[edge, 0], edge_code[edge, 1], code, batch, row, registers, target, stacks):
                    continue
                there = edge_target[edge]
                if state_within[there] >= 0 and time > event_start[row] + state_within[there]:
                    continue
                keep(edge_update[edge, 0], edge_update[edge, 1], updates, code, target, row, position, batch,
                     registers, counters, stacks)
                if state_accept[there] >= 0:
                    emit(there, lane, row, position, target, finals, registers, output, counters)
                    continue
                counters[FREE] -= 1
                state[target] = there
                following[target] = fresh
                fresh = target
                count += 1
        heads[lane, 0] = fresh
        lane_length[lane] = count
        if count > counters[LONGEST]:
            counters[LONGEST] = count
        if count > lane_limit[lane]:
            counters[FRESH] = lane
            counters[FULL] = FULL_LANE
            return row + 1
    return stop

"""Instances with registers: one flat loop over events (Cayuga section 2.3; DESIGN section 3).

An instance is a partial match at a state. On each event of its lane it may bind the event along an edge, which makes a
new instance further on, and it stays where it is if every operator it waits under lets the event pass. Instances of one
lane and state stand in one list: an event that cannot touch a state (its touching predicate is false: no operator is
interested, no edge, no negation) leaves the whole list alone, which is Cayuga's index of affected instances.

All is flat arrays; nothing is allocated here. Where the arrays might not hold what an event brings, the kernel stops
before that event and says so, and the caller grows them.

Arrays that go together travel as tuples, in this order:

| tuple | holds |
| --- | --- |
| program | states, threads, negations and edges, see foretell.plan.program |
| updates | what each edge keeps of its event: kind, slot, argument, end of code, whether its result is a float |
| code | operations, constants, heap of strings |
| events | lane, end time, start time, position, flags of the predicates, rows of the template that begin with it |
| batch | columns as floats, as integers, nulls; parameters likewise |
| pool | of each instance: state, next of its lane and state, when it began, first position, is it over; free ones |
| lanes | first instance at each state; how many in all; first of those new in the present instant; its time |
| registers | slots as floats, as integers, nulls; chain; nodes: parent, position, step; row of a FOR EACH table |
| output | of each match: state, lane, row of its last event, first position, chain, template rows, slots, nulls |
| counters | free instances, next node, matches written, what ran out, first of the instances this event made |
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from foretell.compiled import compiled, inlined, kernel
from foretell.machine.evaluate import COMPARE_COLUMN_SLOT_F, COMPARE_COLUMN_SLOT_I, holds, run_code

Array: TypeAlias = np.ndarray[Any, Any]
Arrays: TypeAlias = tuple[Array, ...]

# How a state waits for its next event.
NEXT, ANY, WHERE = 0, 1, 2

# What an edge keeps of the event it binds.
POSITION, SET, COUNT, COUNT_KNOWN, SUM_INT, SUM_FLOAT, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT, CHAIN, RUN, GAP = range(
    13
)

# What ran out.
MOST = np.int64(2**63 - 1)
FULL_POOL, FULL_NODES, FULL_OUTPUT = 1, 2, 3

# fmt: off


@kernel
def _judge(start: int, stop: int, code: Any, batch: Any, row: int, registers: Any, instance: int, stacks: Any) -> bool:
    """Any condition. The call costs more than most conditions do, so `_holds` spares it for the commonest."""
    (ops, const_f, const_i, heap_offsets, heap_data) = code
    (column_f, column_i, column_null, parameter_f, parameter_i, parameter_null) = batch
    (slot_f, slot_i, slot_null, _, _, _, _, parameter_row) = registers
    (stack_f, stack_i, stack_null) = stacks
    return holds(ops, start, stop, const_f, const_i, column_f, column_i, column_null, row, slot_f, slot_i, slot_null,
                 instance, parameter_f, parameter_i, parameter_null, parameter_row[instance],
                 heap_offsets, heap_data, stack_f, stack_i, stack_null)


@inlined
def _holds(start: int, stop: int, code: Any, batch: Any, row: int, registers: Any, instance: int, stacks: Any) -> bool:
    """Whether a condition is true. No code holds; one comparison of a column with a slot is done on the spot."""
    if start == stop:
        return True
    ops = code[0]
    op = ops[start, 0]
    if stop - start == 1 and op in (COMPARE_COLUMN_SLOT_F, COMPARE_COLUMN_SLOT_I):
        column, outcomes, slot = ops[start, 1] >> 3, ops[start, 1] & 7, ops[start, 2]
        if batch[2][column, row] or registers[2][instance, slot]:
            return False
        if op == COMPARE_COLUMN_SLOT_F:
            one, other = batch[0][column, row], registers[0][instance, slot]
            outcome = 1 if one < other else (4 if one > other else 2)
        else:
            number, another = batch[1][column, row], registers[1][instance, slot]
            outcome = 1 if number < another else (4 if number > another else 2)
        return bool((outcomes & outcome) != 0)
    return _judge(start, stop, code, batch, row, registers, instance, stacks)


@inlined
def overflows(one: int, other: int) -> bool:
    """Whether a sum does not fit 64 bits. It must be asked before adding: LLVM takes it that sums do not overflow."""
    if other >= 0:
        return bool(one > MOST - other)
    return bool(one < -MOST - 1 - other)


@kernel
def _aggregate(kind: int, slot: int, column: int, instance: int, row: int, batch: Any, registers: Any) -> None:
    """An aggregate one event further. It is null until something is known; null 2 marks one that does not fit."""
    (column_f, column_i, column_null, _, _, _) = batch
    (slot_f, slot_i, slot_null, _, _, _, _, _) = registers
    unknown = slot_null[instance, slot]
    if unknown == 2 or column_null[column, row]:
        return
    slot_null[instance, slot] = 0
    if kind == COUNT_KNOWN:
        slot_i[instance, slot] = 1 if unknown else slot_i[instance, slot] + 1
    elif kind == SUM_INT:
        value = column_i[column, row]
        old = 0 if unknown else slot_i[instance, slot]
        if overflows(old, value):
            slot_null[instance, slot] = 2
        else:
            slot_i[instance, slot] = old + value
    elif kind == SUM_FLOAT:
        total_f = column_f[column, row] if unknown else slot_f[instance, slot] + column_f[column, row]
        if not np.isfinite(total_f):
            slot_null[instance, slot] = 2
        slot_f[instance, slot] = total_f
    elif kind in (MIN_INT, MAX_INT):
        value = column_i[column, row]
        if unknown or (value < slot_i[instance, slot] if kind == MIN_INT else value > slot_i[instance, slot]):
            slot_i[instance, slot] = value
    else:
        value_f = column_f[column, row]
        if unknown or (value_f < slot_f[instance, slot] if kind == MIN_FLOAT else value_f > slot_f[instance, slot]):
            slot_f[instance, slot] = value_f


@kernel
def _compute(slot: int, start: int, stop: int, is_float: int, code: Any, instance: int, row: int, batch: Any,
             registers: Any, stacks: Any) -> None:
    """The value of an expression into a slot."""
    (ops, const_f, const_i, heap_offsets, heap_data) = code
    (column_f, column_i, column_null, parameter_f, parameter_i, parameter_null) = batch
    (slot_f, slot_i, slot_null, _, _, _, _, parameter_row) = registers
    (stack_f, stack_i, stack_null) = stacks
    run_code(ops, start, stop, const_f, const_i, column_f, column_i, column_null, row, slot_f, slot_i, slot_null,
             instance, parameter_f, parameter_i, parameter_null, parameter_row[instance],
             heap_offsets, heap_data, stack_f, stack_i, stack_null)
    slot_null[instance, slot] = stack_null[0]
    if is_float:
        slot_f[instance, slot] = stack_f[0]
    else:
        slot_i[instance, slot] = stack_i[0]


@inlined
def _keep(first: int, stop: int, updates: Any, code: Any, instance: int, row: int, position: int, batch: Any,
          registers: Any, counters: Array, stacks: Any) -> None:
    """Writes down what an edge keeps of its event."""
    (update_kind, update_slot, update_argument, update_stop, update_float) = updates
    (_, slot_i, slot_null, chain, node_parent, node_position, node_step, _) = registers
    for u in range(first, stop):
        kind, slot, argument = update_kind[u], update_slot[u], update_argument[u]
        if kind == POSITION:
            slot_i[instance, slot] = position
            slot_null[instance, slot] = 0
        elif kind == SET:
            # One buffer holds both kinds of value, so the bits are all there is to copy.
            slot_i[instance, slot] = batch[1][argument, row]
            slot_null[instance, slot] = batch[2][argument, row]
        elif kind == COUNT:
            slot_i[instance, slot] = 1 if slot_null[instance, slot] else slot_i[instance, slot] + 1
            slot_null[instance, slot] = 0
        elif kind == CHAIN:
            node = counters[1]
            counters[1] = node + 1
            node_parent[node] = chain[instance]
            node_position[node] = position
            node_step[node] = argument
            chain[instance] = node
        elif kind == GAP:
            # The gap of a negation, from the event before to this one, as two nodes that are no events.
            node = counters[1]
            counters[1] = node + 2
            node_parent[node] = chain[instance]
            node_position[node] = slot_i[instance, slot]
            node_step[node] = -2 * argument - 1
            node_parent[node + 1] = node
            node_position[node + 1] = position
            node_step[node + 1] = -2 * argument - 2
            chain[instance] = node + 1
        elif kind == RUN:
            _compute(slot, argument, update_stop[u], update_float[u], code, instance, row, batch, registers, stacks)
        else:
            _aggregate(kind, slot, argument, instance, row, batch, registers)


@inlined
def _emit(there: int, lane: int, row: int, first: int, instance: int, registers: Any, output: Any,
          counters: Array) -> None:
    """Writes a match down."""
    (_, slot_i, slot_null, chain, _, _, _, parameter_row) = registers
    (out_state, out_lane, out_row, out_first, out_chain, out_rows, out_slot, out_null) = output
    match = counters[2]
    counters[2] = match + 1
    out_state[match] = there
    out_lane[match] = lane
    out_row[match] = row
    out_first[match] = first
    out_chain[match] = chain[instance]
    out_rows[match] = parameter_row[instance]
    for slot in range(slot_i.shape[1]):
        out_slot[match, slot] = slot_i[instance, slot]
        out_null[match, slot] = slot_null[instance, slot]


@inlined
def _release(instance: int, lane: int, pool: Any, lanes: Any, counters: Array) -> None:
    """Gives an instance back."""
    pool[5][counters[0]] = instance
    counters[0] += 1
    lanes[1][lane] -= 1


@inlined
def _admit(fresh: int, lane: int, pool: Any, lanes: Any) -> None:
    """Puts new instances into the lists of their states."""
    (state, following, _, _, _, _) = pool
    (heads, lane_length, _, _) = lanes
    while fresh != -1:
        next_fresh = following[fresh]
        here = state[fresh]
        following[fresh] = heads[lane, here]
        heads[lane, here] = fresh
        lane_length[lane] += 1
        fresh = next_fresh


@kernel
def _settle(lane: int, pool: Any, lanes: Any, counters: Array) -> None:
    """Ends an instant of simultaneous events in a lane: what it ended goes, what it made may be seen."""
    (_, following, _, _, over, _) = pool
    (heads, _, new_head, _) = lanes
    for here in range(heads.shape[1]):
        previous = -1
        instance = heads[lane, here]
        while instance != -1:
            next_instance = following[instance]
            if over[instance]:
                over[instance] = 0
                if previous == -1:
                    heads[lane, here] = next_instance
                else:
                    following[previous] = next_instance
                _release(instance, lane, pool, lanes, counters)
            else:
                previous = instance
            instance = next_instance
    _admit(new_head[lane], lane, pool, lanes)
    new_head[lane] = -1


@inlined
def _take(edge: int, instance: int, moves: bool, lane: int, row: int, position: int, program: Any, updates: Any,
          code: Any, batch: Any, pool: Any, registers: Any, output: Any, counters: Array, stacks: Any) -> bool:
    """Binds the event along an edge: the instance itself moves, or a copy does. Whether the instance lives on."""
    (state, following, began, first_position, _, free) = pool
    (_, slot_i, slot_null, chain, _, _, _, parameter_row) = registers
    edge_update, edge_target, state_accept = program[11], program[12], program[14]
    if moves:
        target = instance
    else:
        counters[0] -= 1
        target = free[counters[0]]
        for slot in range(slot_i.shape[1]):
            slot_i[target, slot] = slot_i[instance, slot]
            slot_null[target, slot] = slot_null[instance, slot]
        chain[target] = chain[instance]
        began[target] = began[instance]
        first_position[target] = first_position[instance]
        parameter_row[target] = parameter_row[instance]
    _keep(edge_update[edge, 0], edge_update[edge, 1], updates, code, target, row, position, batch, registers, counters,
          stacks)
    there = edge_target[edge]
    if state_accept[there] >= 0:
        _emit(there, lane, row, first_position[target], target, registers, output, counters)
        if not moves:
            counters[0] += 1
        return False
    state[target] = there
    following[target] = counters[4]
    counters[4] = target
    return moves


@kernel
def run_events(first: int, stop: int, simultaneous: bool, fan: tuple[int, int, int], program: Any, updates: Any,
               code: Any, events: Any, batch: Any, pool: Any, lanes: Any, registers: Any, output: Any,
               counters: Array, stacks: Any) -> int:
    """Feeds the events `first` to `stop` of a batch, in order, to the machine; returns where it stopped.

    `fan` is how many instances one instance may become on one event, how many may begin with it, and how many nodes
    one of them may need. Where events are simultaneous, an instant ends with the first later event of the lane.
    """
    (state_thread, thread_kind, thread_predicate, thread_code, thread_negation, negation_predicate, negation_code,
     state_edge, edge_thread, edge_predicate, edge_code, edge_update, edge_target, state_within, state_accept,
     state_waits, start_edge, state_tick, tick_slot, tick_predicate, tick_code, state_touch) = program
    (event_lane, event_time, event_start, event_position, predicates, event_rows) = events
    (state, following, began, first_position, over, free) = pool
    (heads, lane_length, new_head, lane_time) = lanes
    (_, slot_i, slot_null, chain, node_parent, _, _, parameter_row) = registers
    slots = slot_i.shape[1]
    moving, beginning, nodes = fan
    for row in range(first, stop):
        lane = event_lane[row]
        time = event_time[row]
        position = event_position[row]
        if simultaneous and time > lane_time[lane]:
            _settle(lane, pool, lanes, counters)
            lane_time[lane] = time
        most = lane_length[lane] * moving + beginning
        if counters[0] < most:
            counters[3] = FULL_POOL
            return row
        if node_parent.size - counters[1] < most * nodes:
            counters[3] = FULL_NODES
            return row
        if output[0].size - counters[2] < most:
            counters[3] = FULL_OUTPUT
            return row

        counters[4] = -1  # the instances made by this event must not see it
        if lane_length[lane] > 0:
            for here in range(heads.shape[1]):
                instance = heads[lane, here]
                if instance == -1 or (state_touch[here] >= 0 and not predicates[state_touch[here], row]):
                    continue
                first_thread, stop_thread = state_thread[here], state_thread[here + 1]
                everyone = (1 << (stop_thread - first_thread)) - 1
                first_edge, stop_edge = state_edge[here], state_edge[here + 1]
                previous = -1
                while instance != -1:
                    next_instance = following[instance]
                    in_time = state_within[here] < 0 or time <= began[instance] + state_within[here]
                    stays = in_time
                    gone = False  # moved on, or given to a match
                    if not in_time and state_waits[here]:
                        _emit(here, lane, -1, first_position[instance], instance, registers, output, counters)
                    if in_time:
                        for tick in range(state_tick[here], state_tick[here + 1]):
                            predicate = tick_predicate[tick]
                            if (predicate < 0 or predicates[predicate, row]) and _judge(
                                tick_code[tick, 0], tick_code[tick, 1], code, batch, row, registers, instance, stacks
                            ):
                                counted = tick_slot[tick]
                                old = 0 if slot_null[instance, counted] else slot_i[instance, counted]
                                slot_i[instance, counted] = old + 1
                                slot_null[instance, counted] = 0
                        # Which threads let the event pass, and which may bind it, as bits.
                        passes, permits = 0, 0
                        for thread in range(first_thread, stop_thread):
                            bit = 1 << (thread - first_thread)
                            kind = thread_kind[thread]
                            if kind == NEXT:
                                permits |= bit
                                continue
                            if kind == ANY:
                                permits |= bit
                            else:
                                predicate = thread_predicate[thread]
                                if (predicate < 0 or predicates[predicate, row]) and _holds(
                                    thread_code[thread, 0], thread_code[thread, 1], code, batch, row, registers,
                                    instance, stacks
                                ):
                                    permits |= bit
                                    continue
                            passes |= bit
                            for negation in range(thread_negation[thread, 0], thread_negation[thread, 1]):
                                predicate = negation_predicate[negation]
                                if (predicate < 0 or predicates[predicate, row]) and _judge(
                                    negation_code[negation, 0], negation_code[negation, 1], code, batch, row,
                                    registers, instance, stacks
                                ):
                                    passes &= ~bit
                                    break
                        stays = passes == everyone
                        chosen = -1  # the last edge that holds; the instance moves along it if it does not stay
                        for edge in range(first_edge, stop_edge):
                            predicate = edge_predicate[edge]
                            if predicate >= 0 and not predicates[predicate, row]:
                                continue
                            if edge_thread[edge] >= 0:
                                bit = 1 << edge_thread[edge]
                                if not (permits & bit) or (passes | bit) != everyone:
                                    continue
                            elif not stays:
                                continue
                            within = state_within[edge_target[edge]]
                            if within >= 0 and time > began[instance] + within:
                                continue
                            if not _holds(
                                edge_code[edge, 0], edge_code[edge, 1], code, batch, row, registers, instance, stacks
                            ):
                                continue
                            if chosen >= 0:
                                _take(chosen, instance, False, lane, row, position, program, updates, code, batch,
                                      pool, registers, output, counters, stacks)
                            chosen = edge
                        if chosen >= 0:
                            gone = _take(chosen, instance, not stays and not simultaneous, lane, row, position,
                                         program, updates, code, batch, pool, registers, output, counters, stacks)
                    if gone:
                        # It stands among the new ones now, which count when they are admitted.
                        lane_length[lane] -= 1
                    if stays or (simultaneous and in_time):
                        if not stays:
                            over[instance] = 1  # other events of this instant may still be bound
                        previous = instance
                    else:
                        if previous == -1:
                            heads[lane, here] = next_instance
                        else:
                            following[previous] = next_instance
                        if not gone:
                            _release(instance, lane, pool, lanes, counters)
                    instance = next_instance

        for start in range(start_edge.size):
            edge = start_edge[start]
            predicate = edge_predicate[edge]
            if predicate >= 0 and not predicates[predicate, row]:
                continue
            target = free[counters[0] - 1]
            for slot in range(slots):
                slot_null[target, slot] = 1
            chain[target] = -1
            parameter_row[target] = event_rows[row]
            if not _holds(edge_code[edge, 0], edge_code[edge, 1], code, batch, row, registers, target, stacks):
                continue
            there = edge_target[edge]
            if state_within[there] >= 0 and time > event_start[row] + state_within[there]:
                continue
            began[target] = event_start[row]
            first_position[target] = position
            _keep(edge_update[edge, 0], edge_update[edge, 1], updates, code, target, row, position, batch, registers,
                  counters, stacks)
            if state_accept[there] >= 0:
                _emit(there, lane, row, position, target, registers, output, counters)
                continue
            counters[0] -= 1
            state[target] = there
            following[target] = counters[4]
            counters[4] = target

        if counters[4] != -1:
            if simultaneous:
                last = counters[4]
                while following[last] != -1:
                    last = following[last]
                following[last] = new_head[lane]
                new_head[lane] = counters[4]
            else:
                _admit(counters[4], lane, pool, lanes)
    return stop


@kernel
def pass_time(now: Any, lane_count: int, program: Any, pool: Any, lanes: Any, registers: Any, output: Any,
              counters: Array) -> int:
    """Lets time pass in all lanes: what waits for its window to pass is a match. Returns where room ran out."""
    state_within, state_waits = program[13], program[15]
    (_, following, began, first_position, _, _) = pool
    (heads, lane_length, _, lane_time) = lanes
    for lane in range(lane_count):
        if now > lane_time[lane]:
            _settle(lane, pool, lanes, counters)
        if output[0].size - counters[2] < lane_length[lane]:
            counters[3] = FULL_OUTPUT
            return lane
        for here in range(heads.shape[1]):
            previous = -1
            instance = heads[lane, here]
            while instance != -1:
                next_instance = following[instance]
                if state_within[here] >= 0 and now > began[instance] + state_within[here]:
                    if state_waits[here]:
                        _emit(here, lane, -1, first_position[instance], instance, registers, output, counters)
                    if previous == -1:
                        heads[lane, here] = next_instance
                    else:
                        following[previous] = next_instance
                    _release(instance, lane, pool, lanes, counters)
                else:
                    previous = instance
                instance = next_instance
    return lane_count


@compiled
def keep_nodes(used: int, instances: Array, chain: Array, parent: Array, position: Array, step: Array) -> int:
    """Moves the nodes that instances lead to to the front, in their order; how many there are."""
    place = np.full(used, -1, np.int64)
    for i in range(instances.size):
        node = chain[instances[i]]
        while node != -1 and place[node] == -1:
            place[node] = 0
            node = parent[node]
    kept = 0
    for node in range(used):
        if place[node] == 0:
            place[node] = kept
            # A node comes after its parent, so the parent has its new place already.
            parent[kept] = -1 if parent[node] == -1 else place[parent[node]]
            position[kept] = position[node]
            step[kept] = step[node]
            kept += 1
    for i in range(instances.size):
        if chain[instances[i]] != -1:
            chain[instances[i]] = place[chain[instances[i]]]
    return kept

"""Instances with registers: one flat loop over events (Cayuga section 2.3; DESIGN section 3).

An instance is a partial match at a state. On each event of its lane it may bind the event along an edge, which makes a
new instance further on, and it stays where it is if every operator it waits under lets the event pass. Instances of one
state stand in lists: one for each lane or, where everything a state waits for has to equal something bound, one for
each lane and value. An event that cannot touch a state (its touching predicate is false: no operator is interested, no
edge, no negation) leaves its list alone, and so does one with another value: Cayuga's index of affected instances.

Where the arrays might not hold what an event brings, the kernel stops before that event and says so, and the caller
grows them. What the tuples hold is said in foretell.machine.binding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.compiled import compiled, inlined, kernel
from foretell.machine.binding import (
    FOUND,
    FREE,
    FRESH,
    FULL,
    FULL_LANE,
    FULL_OUTPUT,
    LONGEST,
    TIMERS,
    Array,
    begin,
    copy,
    emit,
    judge,
    keep,
    room,
    true,
)

# How a state waits for its next event.
NEXT, ANY, WHERE = 0, 1, 2

# What has become of an instance: it goes on; it is done and only stands in its list.
ALIVE, DEAD = 0, 1

# The mark of a thread where events are simultaneous. It may wait on; it must be bound in the present instant, or the
# instance ends with it; it began in the present instant, and sees nothing of it.
AWAKE, ENDING, ASLEEP = 0, 1, 2

# fmt: off


# ── timers: a binary heap ──


@inlined
def _wait(until: Any, instance: int, pool: Any, timers: Any, counters: Array) -> None:
    """Remembers that an instance is a match once time has passed a point."""
    (due, whom, serials) = timers
    serial = pool[7]
    at = counters[TIMERS]
    counters[TIMERS] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if due[above] <= until:
            break
        due[at], whom[at], serials[at] = due[above], whom[above], serials[above]
        at = above
    due[at], whom[at], serials[at] = until, instance, serial[instance]


@inlined
def _drop_first(timers: Any, counters: Array) -> None:
    """Takes the earliest timer off the heap."""
    (due, whom, serials) = timers
    last = counters[TIMERS] - 1
    counters[TIMERS] = last
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and due[below + 1] < due[below]:
            below += 1
        if due[last] <= due[below]:
            break
        due[at], whom[at], serials[at] = due[below], whom[below], serials[below]
        at = below
    due[at], whom[at], serials[at] = due[last], whom[last], serials[last]


# ── lists ──


@inlined
def _release(instance: int, pool: Any, lanes: Any, counters: Array) -> None:
    """Gives an instance back."""
    (_, _, in_lane, _, _, _, over, serial, free) = pool
    over[instance] = ALIVE
    serial[instance] += 1
    free[counters[FREE]] = instance
    counters[FREE] += 1
    lanes[1][in_lane[instance]] -= 1


@inlined
def _admit(fresh: int, program: Any, pool: Any, lanes: Any, registers: Any, counters: Array) -> None:
    """Puts new instances into the lists of their states."""
    (state, following, in_lane, in_list, _, _, _, _, _) = pool
    (heads, lane_length, _, _) = lanes
    state_key_slot = program[23]
    while fresh != -1:
        next_fresh = following[fresh]
        here = state[fresh]
        lane = in_lane[fresh]
        place = lane if state_key_slot[here] < 0 else registers[1][fresh, state_key_slot[here]]
        in_list[fresh] = place
        following[fresh] = heads[place, here]
        heads[place, here] = fresh
        lane_length[lane] += 1
        if lane_length[lane] > counters[LONGEST]:
            counters[LONGEST] = lane_length[lane]
        fresh = next_fresh


@kernel
def settle(lane: int, program: Any, pool: Any, lanes: Any, registers: Any, counters: Array) -> None:
    """Ends an instant of simultaneous events in a lane: what it ended goes, what it made wakes up."""
    (_, following, _, _, _, _, over, _, _) = pool
    heads, state_thread, thread_mark, slot_i = lanes[0], program[0], program[26], registers[1]
    for here in range(heads.shape[1]):
        previous = -1
        instance = heads[lane, here]
        while instance != -1:
            next_instance = following[instance]
            ends = over[instance] == DEAD
            for thread in range(state_thread[here], state_thread[here + 1]):
                ends |= slot_i[instance, thread_mark[thread]] == ENDING
                slot_i[instance, thread_mark[thread]] = AWAKE
            if ends:
                if previous == -1:
                    heads[lane, here] = next_instance
                else:
                    following[previous] = next_instance
                _release(instance, pool, lanes, counters)
            else:
                previous = instance
            instance = next_instance


@inlined
def _take(edge: int, instance: int, moves: bool, lane: int, row: int, position: int, program: Any, updates: Any,
          code: Any, batch: Any, pool: Any, registers: Any, timers: Any, output: Any, counters: Array,
          stacks: Any) -> bool:
    """Binds the event along an edge: the instance itself moves, or a copy does. Whether the instance lives on."""
    (state, following, _, _, began, first_position, _, _, _) = pool
    edge_update, edge_target, state_within, state_accept, state_waits = (
        program[11], program[12], program[13], program[14], program[15])
    target = instance if moves else copy(instance, pool, registers, counters)
    keep(edge_update[edge, 0], edge_update[edge, 1], updates, code, target, row, position, batch, registers, counters,
         stacks)
    there = edge_target[edge]
    if state_accept[there] >= 0:
        emit(there, lane, row, first_position[target], target, program[24], registers, output, counters)
        if not moves:
            counters[FREE] += 1
        return False
    state[target] = there
    following[target] = counters[FRESH]
    counters[FRESH] = target
    if state_waits[there]:
        _wait(began[target] + state_within[there], target, pool, timers, counters)
    return moves


# ── events ──


@kernel
def run_events(first: int, stop: int, base: int, simultaneous: bool, fan: tuple[int, int, int], program: Any,
               updates: Any, code: Any, events: Any, batch: Any, pool: Any, lanes: Any, registers: Any, timers: Any,
               output: Any, counters: Array, stacks: Any) -> int:
    """Feeds the events `first` to `stop` of a batch, in order, to the machine; returns where it stopped.

    `fan` is how many instances one instance may become on one event, how many may begin with it, and how many nodes
    one of them may need. Where events are simultaneous, an instant ends with the first later event of the lane.
    """
    (state_thread, thread_kind, thread_predicate, thread_code, thread_negation, negation_predicate, negation_code,
     state_edge, edge_thread, edge_predicate, edge_code, edge_update, edge_target, state_within, state_accept,
     state_waits, start_edge, state_tick, tick_slot, tick_predicate, tick_code, state_touch, state_key, _,
     finals, begins, thread_mark, tick_mark) = program
    (event_lane, event_time, event_start, predicates, event_rows) = events
    (state, following, _, _, began, first_position, over, _, _) = pool
    (heads, lane_length, lane_limit, lane_time) = lanes
    (_, slot_i, slot_null, _, _, _, _, _) = registers
    moving, beginning, nodes = fan
    for row in range(first, stop):
        lane = event_lane[row]
        if lane_length[lane] <= 0 and (lane_length[lane] < 0 or (not simultaneous and begins >= 0
                                                                 and not predicates[begins, row])):
            continue  # nothing waits, nothing begins; or the lane is refused
        time = event_time[row]
        position = base + row
        if simultaneous and time > lane_time[lane]:
            settle(lane, program, pool, lanes, registers, counters)
            lane_time[lane] = time
        counters[FULL] = room(counters[LONGEST] * moving + beginning, nodes, registers, output, timers, counters)
        if counters[FULL] != 0:
            return row

        counters[FRESH] = -1  # the instances made by this event must not see it
        if lane_length[lane] > 0:
            for here in range(heads.shape[1]):
                if state_touch[here] >= 0 and not predicates[state_touch[here], row]:
                    continue
                place = lane if state_key[here] < 0 else batch[1][state_key[here], row]
                instance = heads[place, here]
                if instance == -1:
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
                    if over[instance] == DEAD:
                        in_time, stays = False, False
                    elif not in_time and state_waits[here]:
                        emit(here, lane, -1, first_position[instance], instance, finals, registers, output, counters)
                    if in_time:
                        for tick in range(state_tick[here], state_tick[here + 1]):
                            predicate = tick_predicate[tick]
                            if simultaneous and tick_mark[tick] >= 0 and slot_i[instance, tick_mark[tick]] == ASLEEP:
                                continue
                            if (predicate < 0 or predicates[predicate, row]) and judge(
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
                            if simultaneous and slot_i[instance, thread_mark[thread]] == ASLEEP:
                                passes |= bit
                                continue
                            if kind == NEXT:
                                permits |= bit
                                continue
                            if kind == ANY:
                                permits |= bit
                            else:
                                predicate = thread_predicate[thread]
                                if (predicate < 0 or predicates[predicate, row]) and true(
                                    thread_code[thread, 0], thread_code[thread, 1], code, batch, row, registers,
                                    instance, stacks
                                ):
                                    permits |= bit
                                    continue
                            passes |= bit
                            for negation in range(thread_negation[thread, 0], thread_negation[thread, 1]):
                                predicate = negation_predicate[negation]
                                if (predicate < 0 or predicates[predicate, row]) and judge(
                                    negation_code[negation, 0], negation_code[negation, 1], code, batch, row,
                                    registers, instance, stacks
                                ):
                                    passes &= ~bit
                                    break
                        if simultaneous and passes != everyone:
                            # What does not pass ends with the instant, of which other events may still be bound.
                            for thread in range(first_thread, stop_thread):
                                if not passes & (1 << (thread - first_thread)):
                                    slot_i[instance, thread_mark[thread]] = ENDING
                            passes = everyone
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
                            if not true(
                                edge_code[edge, 0], edge_code[edge, 1], code, batch, row, registers, instance, stacks
                            ):
                                continue
                            if chosen >= 0:
                                _take(chosen, instance, False, lane, row, position, program, updates, code, batch,
                                      pool, registers, timers, output, counters, stacks)
                            chosen = edge
                        if chosen >= 0:
                            gone = _take(chosen, instance, not stays, lane, row, position, program, updates, code,
                                         batch, pool, registers, timers, output, counters, stacks)
                    if gone:
                        # It stands among the new ones now, which count when they are admitted.
                        lane_length[lane] -= 1
                    if stays:
                        previous = instance
                    else:
                        if previous == -1:
                            heads[place, here] = next_instance
                        else:
                            following[previous] = next_instance
                        if not gone:
                            _release(instance, pool, lanes, counters)
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
                following[target] = counters[FRESH]
                counters[FRESH] = target
                if state_waits[there]:
                    _wait(event_start[row] + state_within[there], target, pool, timers, counters)

        if counters[FRESH] != -1:
            _admit(counters[FRESH], program, pool, lanes, registers, counters)
            if lane_length[lane] > lane_limit[lane]:
                counters[FRESH] = lane
                counters[FULL] = FULL_LANE
                return row + 1
    return stop


@kernel
def pass_time(now: Any, simultaneous: bool, program: Any, pool: Any, lanes: Any, registers: Any, timers: Any,
              output: Any, counters: Array) -> bool:
    """Lets time pass: what waited for its window to pass is a match. False where there is no room for one more."""
    (state, _, in_lane, _, _, first_position, over, serial, _) = pool
    (due, whom, serials) = timers
    lane_time = lanes[3]
    while counters[TIMERS] > 0 and due[0] < now:
        instance = whom[0]
        if serial[instance] == serials[0] and over[instance] != DEAD:
            lane = in_lane[instance]
            if simultaneous and now > lane_time[lane]:
                settle(lane, program, pool, lanes, registers, counters)
            if serial[instance] == serials[0]:
                if counters[FOUND] == output[0].size:
                    counters[FULL] = FULL_OUTPUT
                    return False
                emit(state[instance], lane, -1, first_position[instance], instance, program[24], registers, output,
                     counters)
                over[instance] = DEAD
        _drop_first(timers, counters)
    return True


# ── memory ──


@compiled
def sweep(now: Any, strict: bool, program: Any, pool: Any, lanes: Any, in_use: Array, dead: Array,
          counters: Array) -> int:
    """Releases what can come to nothing: what is over, what its window has left, what stands at a dead state.

    Lanes that have gone quiet keep such instances until room runs out. Only their lists are walked; `strict` says that
    a lane has but one.
    """
    (state, following, in_lane, in_list, began, _, over, _, _) = pool
    heads = lanes[0]
    state_within, state_waits = program[13], program[15]
    freed = 0
    for i in range(in_use.size):
        one = in_use[i]
        here = state[one]
        late = state_within[here] >= 0 and not state_waits[here] and now > began[one] + state_within[here]
        if over[one] == ALIVE and (late or dead[here]):
            over[one] = DEAD
    for i in range(in_use.size):
        one = in_use[i]
        if over[one] != DEAD:
            continue
        here, place = (0, in_lane[one]) if strict else (state[one], in_list[one])
        previous = -1
        instance = heads[place, here]
        while instance != -1:
            next_instance = following[instance]
            if over[instance] == DEAD:
                if previous == -1:
                    heads[place, here] = next_instance
                else:
                    following[previous] = next_instance
                _release(instance, pool, lanes, counters)
                freed += 1
            else:
                previous = instance
            instance = next_instance
    return freed


@compiled
def keep_nodes(used: int, instances: Array, chain: Array, parent: Array, position: Array, step: Array,
               new_parent: Array, new_position: Array, new_step: Array) -> int:
    """Copies the nodes that instances lead to, in their order, to other arrays; how many there are."""
    place = np.full(used, -1, np.int64)
    for i in range(instances.size):
        node = np.int64(chain[instances[i]])
        while node != -1 and place[node] == -1:
            place[node] = 0
            node = np.int64(parent[node])
    kept = 0
    for one in range(used):
        if place[one] == 0:
            place[one] = kept
            # A one comes after its parent, so the parent has its new place already.
            new_parent[kept] = -1 if parent[one] == -1 else place[parent[one]]
            new_position[kept] = position[one]
            new_step[kept] = step[one]
            kept += 1
    for i in range(instances.size):
        if chain[instances[i]] != -1:
            chain[instances[i]] = place[chain[instances[i]]]
    return kept


# fmt: on

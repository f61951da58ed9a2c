"""Instances with registers: one flat loop over events (Cayuga section 2.3; DESIGN section 3).

An instance is a partial match at a state. On each event of its lane it may bind the event along an edge, which makes a
new instance further on, and it stays where it is if every operator it waits under lets the event pass. Instances of one
state stand in lists: one for each lane or, where everything a state waits for has to equal something bound, one for
each lane and value. An event that cannot touch a state (its touching predicate is false: no operator is interested, no
edge, no negation) leaves its list alone, and so does one with another value: Cayuga's index of affected instances.

Where the arrays might not hold what an event brings, the kernel stops before that event and says so, and the caller
grows them. What the tuples hold is said in foretell.machine.kernels.layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.actions import copy, emit, holds_here, keep, room, started, true
from foretell.machine.kernels.decorators import compiled, inlined, kernel
from foretell.machine.kernels.layout import (
    ALIVE,
    ANY,
    ASLEEP,
    AWAKE,
    CROWDED,
    DEAD,
    EDGE_CODE,
    EDGE_CODE_STOP,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_TARGET,
    EDGE_THREAD,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
    ENDING,
    FREE,
    FRESH,
    FULL_LANE,
    FULL_OUTPUT,
    LACKING,
    LONGEST,
    MATCHES,
    NEGATION_GUARD,
    NEXT,
    NONE,
    RUN_BEGAN,
    RUN_LANE,
    RUN_LIST,
    RUN_NEXT,
    RUN_OVER,
    RUN_SERIAL,
    RUN_STATE,
    STATE_EDGES,
    STATE_EDGES_STOP,
    STATE_KEY,
    STATE_KEY_SLOT,
    STATE_THREADS,
    STATE_THREADS_STOP,
    STATE_TICKS,
    STATE_TICKS_STOP,
    STATE_TOUCH,
    STATE_WAITS,
    THREAD_GUARD,
    THREAD_KIND,
    THREAD_MARK,
    THREAD_NEGATIONS,
    THREAD_NEGATIONS_STOP,
    TICK_GUARD,
    TICK_MARK,
    TICK_SLOT,
    TIMERS,
    WHERE,
    Array,
    S,
    U,
)
from foretell.machine.kernels.probe import look_at_states

# fmt: off


# ── timers: a binary heap ──


@kernel
def _wait(until: Any, instance: Any, serial: Any, due: Array, whom: Array, serials: Array, counters: Array) -> None:
    """Remembers that an instance is a match once time has passed a point."""
    at = counters[TIMERS]
    counters[TIMERS] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if due[above] <= until:
            break
        due[at], whom[at], serials[at] = due[above], whom[above], serials[above]
        at = above
    due[at], whom[at], serials[at] = until, instance, serial


@kernel
def _drop_first(due: Array, whom: Array, serials: Array, counters: Array) -> None:
    """Takes the earliest timer off the heap."""
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
def _release(instance: Any, pool: Any, lanes: Any, counters: Array) -> None:
    """Gives an instance back."""
    (cells, _, free) = pool
    cells[instance, RUN_OVER] = ALIVE
    cells[instance, RUN_SERIAL] += 1
    free[U(counters[FREE])] = instance
    counters[FREE] += 1
    lanes[1][U(cells[instance, RUN_LANE])] -= 1


@inlined
def _admit(fresh: Any, states: Array, pool: Any, lanes: Any, registers: Any, counters: Array) -> None:
    """Puts new instances into the lists of their states."""
    cells = pool[0]
    (heads, lane_length, _, _) = lanes
    while fresh != NONE:
        next_fresh = U(cells[fresh, RUN_NEXT])
        here = U(cells[fresh, RUN_STATE])
        lane = U(cells[fresh, RUN_LANE])
        slot = states[here, STATE_KEY_SLOT]
        place = lane if slot == NONE else U(cells[fresh, slot])
        cells[fresh, RUN_LIST] = S(place)
        cells[fresh, RUN_NEXT] = S(heads[place, here])
        heads[place, here] = fresh
        lane_length[lane] += 1
        if lane_length[lane] > counters[LONGEST]:
            counters[LONGEST] = lane_length[lane]
        fresh = next_fresh


@kernel
def settle(lane: Any, states: Array, threads: Array, pool: Any, lanes: Any, counters: Array) -> None:
    """Ends an instant of simultaneous events in a lane: what it ended goes, what it made wakes up."""
    cells, heads = pool[0], lanes[0]
    for here in range(U(heads.shape[1])):
        previous = NONE
        instance = U(heads[lane, here])
        while instance != NONE:
            next_instance = U(cells[instance, RUN_NEXT])
            ends = cells[instance, RUN_OVER] == DEAD
            for thread in range(states[here, STATE_THREADS], states[here, STATE_THREADS_STOP]):
                mark = threads[thread, THREAD_MARK]
                ends |= cells[instance, mark] == ENDING
                cells[instance, mark] = AWAKE
            if ends:
                if previous == NONE:
                    heads[lane, here] = next_instance
                else:
                    cells[previous, RUN_NEXT] = S(next_instance)
                _release(instance, pool, lanes, counters)
            else:
                previous = instance
            instance = next_instance


@inlined
def _take(edge: Any, instance: Any, moves: bool, lane: Any, row: Any, position: int, tables: Any, code: Any, batch: Any,
          pool: Any, registers: Any, timers: Any, output: Any, counters: Array, stacks: Any) -> bool:
    """Binds the event along an edge: the instance itself moves, or a copy does. Whether the instance lives on."""
    (cells, times, _) = pool
    (states, _, _, _, edges, updates, state_within, _, _, finals) = tables
    target = instance if moves else copy(instance, pool, registers, counters)
    keep(edges[edge, EDGE_UPDATES], edges[edge, EDGE_UPDATES_STOP], updates, code, target, row, position, batch,
         registers, counters, stacks)
    there = edges[edge, EDGE_TARGET]
    if edges[edge, EDGE_FINAL]:
        emit(there, lane, S(row), target, finals, registers, output, counters)
        if not moves:
            counters[FREE] += 1
        return False
    cells[target, RUN_STATE] = S(there)
    cells[target, RUN_NEXT] = counters[FRESH]
    counters[FRESH] = S(target)
    if states[there, STATE_WAITS]:
        _wait(times[target, RUN_BEGAN] + state_within[there], target, cells[target, RUN_SERIAL], timers[0], timers[1],
              timers[2], counters)
    return moves


# ── events ──


@kernel
def run_events(first: int, stop: int, base: int, begins: Any, simultaneous: bool, fan: tuple[int, int, int],
               tables: Any, code: Any, events: Any, batch: Any, pool: Any, lanes: Any, registers: Any, timers: Any,
               output: Any, counters: Array, stacks: Any, watch: Any) -> Any:
    """Feeds the events `first` to `stop` of a batch, in order, to the machine; returns where it stopped.

    Where events are simultaneous, an instant ends with the first later event of the lane.
    """
    (states, threads, negations, ticks, edges, _, state_within, edge_within, starts, finals) = tables
    (event_lane, event_time, event_start, predicates, _) = events
    (cells, times, _) = pool
    (heads, lane_length, lane_limit, lane_time) = lanes
    slot_null = registers[2]
    moving, beginning, nodes = fan
    watched, watched_key = watch[0].size > 0, watch[2]
    for row in range(U(first), U(stop)):
        lane = event_lane[row]
        starting = begins == NONE or predicates[begins, row] != 0
        if lane_length[lane] <= 0 and (lane_length[lane] < 0 or not starting):
            continue  # nothing waits, nothing begins; or the lane is refused
        time = event_time[row]
        position = base + S(row)
        if simultaneous and time > lane_time[lane]:
            settle(lane, states, threads, pool, lanes, counters)
            lane_time[lane] = time
        counters[LACKING] = room(counters[LONGEST] * moving + beginning, nodes, registers, output, timers, counters)
        if counters[LACKING] != 0:
            return S(row)

        counters[FRESH] = S(NONE)  # the instances made by this event must not see it
        if lane_length[lane] > 0:
            for here in range(U(heads.shape[1])):
                touch = states[here, STATE_TOUCH]
                if touch != NONE and not predicates[touch, row]:
                    continue
                key = states[here, STATE_KEY]
                place = lane if key == NONE else U(batch[1][key, row])
                instance = U(heads[place, here])
                if instance == NONE:
                    continue
                first_thread, stop_thread = states[here, STATE_THREADS], states[here, STATE_THREADS_STOP]
                everyone = (1 << S(stop_thread - first_thread)) - 1
                waits = states[here, STATE_WAITS] != 0
                within = state_within[here]
                previous = NONE
                while instance != NONE:
                    next_instance = U(cells[instance, RUN_NEXT])
                    in_time = within < 0 or time <= times[instance, RUN_BEGAN] + within
                    stays = in_time
                    gone = False  # moved on, or given to a match
                    if cells[instance, RUN_OVER] == DEAD:
                        in_time, stays = False, False
                    elif not in_time and waits:
                        emit(here, lane, -1, instance, finals, registers, output, counters)
                    if in_time:
                        for tick in range(states[here, STATE_TICKS], states[here, STATE_TICKS_STOP]):
                            mark = ticks[tick, TICK_MARK]
                            if simultaneous and mark != NONE and cells[instance, mark] == ASLEEP:
                                continue
                            if holds_here(ticks[tick], TICK_GUARD, row, predicates, code, batch, registers, instance,
                                          stacks):
                                counted = ticks[tick, TICK_SLOT]
                                old = 0 if slot_null[instance, counted] else cells[instance, counted]
                                cells[instance, counted] = old + 1
                                slot_null[instance, counted] = 0
                        # Which threads let the event pass, and which may bind it, as bits.
                        passes, permits, bit = 0, 0, 1
                        for thread in range(first_thread, stop_thread):
                            kind = threads[thread, THREAD_KIND]
                            if simultaneous and cells[instance, threads[thread, THREAD_MARK]] == ASLEEP:
                                passes |= bit
                                bit <<= 1
                                continue
                            wanted = kind == NEXT or (
                                kind == WHERE
                                and holds_here(threads[thread], THREAD_GUARD, row, predicates, code, batch, registers,
                                               instance, stacks)
                            )
                            if wanted:
                                permits |= bit
                            else:
                                if kind == ANY:
                                    permits |= bit
                                passes |= bit
                                first_negation = threads[thread, THREAD_NEGATIONS]
                                stop_negation = threads[thread, THREAD_NEGATIONS_STOP]
                                for negation in range(first_negation, stop_negation):
                                    if holds_here(negations[negation], NEGATION_GUARD, row, predicates, code, batch,
                                                  registers, instance, stacks):
                                        passes &= ~bit
                                        break
                            bit <<= 1
                        if simultaneous and passes != everyone:
                            # What does not pass ends with the instant, of which other events may still be bound.
                            bit = 1
                            for thread in range(first_thread, stop_thread):
                                if not passes & bit:
                                    cells[instance, threads[thread, THREAD_MARK]] = ENDING
                                bit <<= 1
                            passes = everyone
                        stays = passes == everyone
                        chosen = NONE  # the last edge that holds; the instance moves along it if it does not stay
                        for edge in range(states[here, STATE_EDGES], states[here, STATE_EDGES_STOP]):
                            predicate = edges[edge, EDGE_PREDICATE]
                            if predicate != NONE and not predicates[predicate, row]:
                                continue
                            if edges[edge, EDGE_THREAD]:
                                bit = 1 << (S(edges[edge, EDGE_THREAD]) - 1)
                                if not (permits & bit) or (passes | bit) != everyone:
                                    continue
                            elif not stays:
                                continue
                            if edge_within[edge] >= 0 and time > times[instance, RUN_BEGAN] + edge_within[edge]:
                                continue
                            if not true(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], code, batch, row,
                                        registers, instance, stacks):
                                continue
                            if chosen != NONE:
                                _take(chosen, instance, False, lane, row, position, tables, code, batch, pool,
                                      registers, timers, output, counters, stacks)
                            chosen = edge
                        if chosen != NONE:
                            gone = _take(chosen, instance, not stays, lane, row, position, tables,
                                         code, batch, pool, registers, timers, output, counters, stacks)
                    if gone:
                        # It stands among the new ones now, which count when they are admitted.
                        lane_length[lane] -= 1
                    if stays:
                        previous = instance
                    else:
                        if previous == NONE:
                            heads[place, here] = next_instance
                        else:
                            cells[previous, RUN_NEXT] = S(next_instance)
                        if not gone:
                            _release(instance, pool, lanes, counters)
                    instance = next_instance

        if starting:
            for start in range(U(starts.size)):
                target = started(starts[start], lane, row, position, tables, code, events, batch, pool, registers,
                                 output, counters, stacks)
                if target == NONE:
                    continue
                there = U(cells[target, RUN_STATE])
                cells[target, RUN_NEXT] = counters[FRESH]
                counters[FRESH] = S(target)
                if states[there, STATE_WAITS]:
                    _wait(event_start[row] + state_within[there], target, cells[target, RUN_SERIAL], timers[0],
                          timers[1], timers[2], counters)

        fresh = U(counters[FRESH])
        if fresh != NONE:
            _admit(fresh, states, pool, lanes, registers, counters)
        if watched:
            spot = lane if watched_key == NONE else U(batch[1][watched_key, row])
            look_at_states(row, lane, spot, time, watch, states, state_within, pool, heads, finals, registers)
        if fresh != NONE and lane_length[lane] > lane_limit[lane]:
            counters[CROWDED] = S(lane)
            counters[LACKING] = FULL_LANE
            return S(row) + 1
    return stop


@kernel
def pass_time(now: Any, simultaneous: bool, tables: Any, pool: Any, lanes: Any, registers: Any, timers: Any,
              output: Any, counters: Array) -> bool:
    """Lets time pass: what waited for its window to pass is a match. False where there is no room for one more."""
    cells = pool[0]
    (due, whom, serials) = timers
    lane_time = lanes[3]
    while counters[TIMERS] > 0 and due[0] < now:
        instance = U(whom[0])
        if cells[instance, RUN_SERIAL] == serials[0] and cells[instance, RUN_OVER] != DEAD:
            lane = U(cells[instance, RUN_LANE])
            if simultaneous and now > lane_time[lane]:
                settle(lane, tables[0], tables[1], pool, lanes, counters)
            if cells[instance, RUN_SERIAL] == serials[0]:
                if counters[MATCHES] == output[0].size:
                    counters[LACKING] = FULL_OUTPUT
                    return False
                emit(U(cells[instance, RUN_STATE]), lane, -1, instance, tables[9], registers, output, counters)
                cells[instance, RUN_OVER] = DEAD
        _drop_first(due, whom, serials, counters)
    return True


# ── memory ──


@compiled
def sweep(now: Any, strict: bool, states: Array, state_within: Array, pool: Any, lanes: Any, in_use: Array, dead: Array,
          counters: Array) -> int:
    """Releases what can come to nothing: what is over, what its window has left, what stands at a dead state.

    Lanes that have gone quiet keep such instances until room runs out. Only their lists are walked; `strict` says that
    they are by lane alone.
    """
    (cells, times, _) = pool
    heads = lanes[0]
    for i in range(in_use.size):
        one = U(in_use[i])
        here = U(cells[one, RUN_STATE])
        within = state_within[here]
        late = within >= 0 and not states[here, STATE_WAITS] and now > times[one, RUN_BEGAN] + within
        if cells[one, RUN_OVER] == ALIVE and (late or dead[here]):
            cells[one, RUN_OVER] = DEAD
    freed = 0
    for i in range(in_use.size):
        one = U(in_use[i])
        if cells[one, RUN_OVER] != DEAD:
            continue
        place = cells[one, RUN_LANE] if strict else cells[one, RUN_LIST]
        here = cells[one, RUN_STATE] if heads.shape[1] > 1 else 0
        previous = NONE
        instance = U(heads[place, here])
        while instance != NONE:
            next_instance = U(cells[instance, RUN_NEXT])
            if cells[instance, RUN_OVER] == DEAD:
                if previous == NONE:
                    heads[place, here] = next_instance
                else:
                    cells[previous, RUN_NEXT] = S(next_instance)
                _release(instance, pool, lanes, counters)
                freed += 1
            else:
                previous = instance
            instance = next_instance
    return freed


@compiled
def enlist(in_use: Array, cells: Array, heads: Array) -> None:
    """Puts the instances of a strict machine into the lists of their lanes: one for each state, or one for all."""
    for one in in_use:
        place = cells[one, RUN_LANE]
        here = cells[one, RUN_STATE] if heads.shape[1] > 1 else 0
        cells[one, RUN_NEXT] = heads[place, here]
        heads[place, here] = one


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
    for old in range(used):
        if place[old] == 0:
            place[old] = kept
            # A node comes after its parent, so the parent has its new place already.
            new_parent[kept] = -1 if parent[old] == -1 else place[parent[old]]
            new_position[kept] = position[old]
            new_step[kept] = step[old]
            kept += 1
    for i in range(instances.size):
        if chain[instances[i]] != -1:
            chain[instances[i]] = place[chain[instances[i]]]
    return kept


# fmt: on

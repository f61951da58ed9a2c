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

from foretell.jit import compiled, inlined, kernel
from foretell.machine.kernels.layout import (
    BEGAN,
    CODE,
    CODE_STOP,
    EDGES,
    EDGES_STOP,
    FINAL,
    FOLLOWING,
    FOUND,
    FREE,
    FRESH,
    FULL,
    FULL_LANE,
    FULL_OUTPUT,
    KEY,
    KEY_SLOT,
    LANE,
    LIST,
    LONGEST,
    NONE,
    OVER,
    PREDICATE,
    SERIAL,
    STATE,
    TARGET,
    THREAD,
    THREADS,
    THREADS_STOP,
    TICKS,
    TICKS_STOP,
    TIMERS,
    TOUCH,
    UPDATES,
    UPDATES_STOP,
    WAITS,
    Array,
    S,
    U,
    copy,
    emit,
    holds_here,
    keep,
    room,
    started,
    true,
)
from foretell.machine.observe.observer import look_at_states

# How a state waits for its next event.
NEXT, ANY, WHERE = 0, 1, 2

# What has become of an instance: it goes on; it is done and only stands in its list.
ALIVE, DEAD = 0, 1

# The mark of a thread where events are simultaneous. It may wait on; it must be bound in the present instant, or the
# instance ends with it; it began in the present instant, and sees nothing of it.
AWAKE, ENDING, ASLEEP = 0, 1, 2

# The slots of these marks: columns of the threads and of the ticks.
THREAD_MARK, TICK_MARK = 6, 4

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
    cells[instance, OVER] = ALIVE
    cells[instance, SERIAL] += 1
    free[U(counters[FREE])] = instance
    counters[FREE] += 1
    lanes[1][U(cells[instance, LANE])] -= 1


@inlined
def _admit(fresh: Any, states: Array, pool: Any, lanes: Any, registers: Any, counters: Array) -> None:
    """Puts new instances into the lists of their states."""
    cells = pool[0]
    (heads, lane_length, _, _) = lanes
    while fresh != NONE:
        next_fresh = U(cells[fresh, FOLLOWING])
        here = U(cells[fresh, STATE])
        lane = U(cells[fresh, LANE])
        slot = states[here, KEY_SLOT]
        place = lane if slot == NONE else U(cells[fresh, slot])
        cells[fresh, LIST] = S(place)
        cells[fresh, FOLLOWING] = S(heads[place, here])
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
            next_instance = U(cells[instance, FOLLOWING])
            ends = cells[instance, OVER] == DEAD
            for thread in range(states[here, THREADS], states[here, THREADS_STOP]):
                mark = threads[thread, THREAD_MARK]
                ends |= cells[instance, mark] == ENDING
                cells[instance, mark] = AWAKE
            if ends:
                if previous == NONE:
                    heads[lane, here] = next_instance
                else:
                    cells[previous, FOLLOWING] = S(next_instance)
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
    keep(edges[edge, UPDATES], edges[edge, UPDATES_STOP], updates, code, target, row, position, batch, registers,
         counters, stacks)
    there = edges[edge, TARGET]
    if edges[edge, FINAL]:
        emit(there, lane, S(row), target, finals, registers, output, counters)
        if not moves:
            counters[FREE] += 1
        return False
    cells[target, STATE] = S(there)
    cells[target, FOLLOWING] = counters[FRESH]
    counters[FRESH] = S(target)
    if states[there, WAITS]:
        _wait(times[target, BEGAN] + state_within[there], target, cells[target, SERIAL], timers[0], timers[1],
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
        counters[FULL] = room(counters[LONGEST] * moving + beginning, nodes, registers, output, timers, counters)
        if counters[FULL] != 0:
            return S(row)

        counters[FRESH] = S(NONE)  # the instances made by this event must not see it
        if lane_length[lane] > 0:
            for here in range(U(heads.shape[1])):
                touch = states[here, TOUCH]
                if touch != NONE and not predicates[touch, row]:
                    continue
                key = states[here, KEY]
                place = lane if key == NONE else U(batch[1][key, row])
                instance = U(heads[place, here])
                if instance == NONE:
                    continue
                first_thread, stop_thread = states[here, THREADS], states[here, THREADS_STOP]
                everyone = (1 << S(stop_thread - first_thread)) - 1
                waits = states[here, WAITS] != 0
                within = state_within[here]
                previous = NONE
                while instance != NONE:
                    next_instance = U(cells[instance, FOLLOWING])
                    in_time = within < 0 or time <= times[instance, BEGAN] + within
                    stays = in_time
                    gone = False  # moved on, or given to a match
                    if cells[instance, OVER] == DEAD:
                        in_time, stays = False, False
                    elif not in_time and waits:
                        emit(here, lane, -1, instance, finals, registers, output, counters)
                    if in_time:
                        for tick in range(states[here, TICKS], states[here, TICKS_STOP]):
                            mark = ticks[tick, TICK_MARK]
                            if simultaneous and mark != NONE and cells[instance, mark] == ASLEEP:
                                continue
                            if holds_here(ticks[tick], 1, row, predicates, code, batch, registers, instance, stacks):
                                counted = ticks[tick, 0]
                                old = 0 if slot_null[instance, counted] else cells[instance, counted]
                                cells[instance, counted] = old + 1
                                slot_null[instance, counted] = 0
                        # Which threads let the event pass, and which may bind it, as bits.
                        passes, permits, bit = 0, 0, 1
                        for thread in range(first_thread, stop_thread):
                            kind = threads[thread, 0]
                            if simultaneous and cells[instance, threads[thread, THREAD_MARK]] == ASLEEP:
                                passes |= bit
                                bit <<= 1
                                continue
                            wanted = kind == NEXT or (
                                kind == WHERE
                                and holds_here(threads[thread], 1, row, predicates, code, batch, registers, instance,
                                               stacks)
                            )
                            if wanted:
                                permits |= bit
                            else:
                                if kind == ANY:
                                    permits |= bit
                                passes |= bit
                                for negation in range(threads[thread, 4], threads[thread, 5]):
                                    if holds_here(negations[negation], 0, row, predicates, code, batch, registers,
                                                  instance, stacks):
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
                        for edge in range(states[here, EDGES], states[here, EDGES_STOP]):
                            predicate = edges[edge, PREDICATE]
                            if predicate != NONE and not predicates[predicate, row]:
                                continue
                            if edges[edge, THREAD]:
                                bit = 1 << (S(edges[edge, THREAD]) - 1)
                                if not (permits & bit) or (passes | bit) != everyone:
                                    continue
                            elif not stays:
                                continue
                            if edge_within[edge] >= 0 and time > times[instance, BEGAN] + edge_within[edge]:
                                continue
                            if not true(edges[edge, CODE], edges[edge, CODE_STOP], code, batch, row, registers,
                                        instance, stacks):
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
                            cells[previous, FOLLOWING] = S(next_instance)
                        if not gone:
                            _release(instance, pool, lanes, counters)
                    instance = next_instance

        if starting:
            for start in range(U(starts.size)):
                target = started(starts[start], lane, row, position, tables, code, events, batch, pool, registers,
                                 output, counters, stacks)
                if target == NONE:
                    continue
                there = U(cells[target, STATE])
                cells[target, FOLLOWING] = counters[FRESH]
                counters[FRESH] = S(target)
                if states[there, WAITS]:
                    _wait(event_start[row] + state_within[there], target, cells[target, SERIAL], timers[0], timers[1],
                          timers[2], counters)

        fresh = U(counters[FRESH])
        if fresh != NONE:
            _admit(fresh, states, pool, lanes, registers, counters)
        if watched:
            spot = lane if watched_key == NONE else U(batch[1][watched_key, row])
            look_at_states(row, lane, spot, time, watch, states, state_within, pool, heads, finals, registers)
        if fresh != NONE and lane_length[lane] > lane_limit[lane]:
            counters[FRESH] = S(lane)
            counters[FULL] = FULL_LANE
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
        if cells[instance, SERIAL] == serials[0] and cells[instance, OVER] != DEAD:
            lane = U(cells[instance, LANE])
            if simultaneous and now > lane_time[lane]:
                settle(lane, tables[0], tables[1], pool, lanes, counters)
            if cells[instance, SERIAL] == serials[0]:
                if counters[FOUND] == output[0].size:
                    counters[FULL] = FULL_OUTPUT
                    return False
                emit(U(cells[instance, STATE]), lane, -1, instance, tables[9], registers, output, counters)
                cells[instance, OVER] = DEAD
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
        here = U(cells[one, STATE])
        late = state_within[here] >= 0 and not states[here, WAITS] and now > times[one, BEGAN] + state_within[here]
        if cells[one, OVER] == ALIVE and (late or dead[here]):
            cells[one, OVER] = DEAD
    freed = 0
    for i in range(in_use.size):
        one = U(in_use[i])
        if cells[one, OVER] != DEAD:
            continue
        place = cells[one, LANE] if strict else cells[one, LIST]
        here = cells[one, STATE] if heads.shape[1] > 1 else 0
        previous = NONE
        instance = U(heads[place, here])
        while instance != NONE:
            next_instance = U(cells[instance, FOLLOWING])
            if cells[instance, OVER] == DEAD:
                if previous == NONE:
                    heads[place, here] = next_instance
                else:
                    cells[previous, FOLLOWING] = S(next_instance)
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
        place = cells[one, LANE]
        here = cells[one, STATE] if heads.shape[1] > 1 else 0
        cells[one, FOLLOWING] = heads[place, here]
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

"""The discrete-event simulation of a stochastic Petri net, as a kernel over flat arrays.

Exponential transitions race: the time to the next firing is drawn from the sum of their rates, which is right because
they have no memory. Deterministic transitions have a timer for each server. Tokens of places that hold events are
linked lists in order of arrival; each carries the time at which its event occurred.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.capacity.net.flat_net import DETERMINISTIC, EXPONENTIAL, IMMEDIATE, FlatNet
from foretell.jit import inlined, kernel

#: Why the kernel returns: time is up; the budget of firings is used; draws, tokens or timers need room; nothing can
#: fire; immediate transitions go on for ever.
TIME_UP, BUDGET, NO_DRAWS, NO_TOKENS, NO_TIMERS, DEADLOCK, LOOP = 0, 1, 2, 3, 4, 5, 6

#: The entries of `SimulationState.counters`.
FREE, FREE_COUNT, DRAWN, NOTIFIED, IMMEDIATES, INSTANT, LAST, STEPS = 0, 1, 2, 3, 4, 5, 6, 7
COUNTERS = 8

#: The entries of `SimulationState.clock`: time, and the sum of the times from event to notification.
NOW, LATENCY = 0, 1

#: The draws that one firing takes at most.
_DRAWS = 4

#: The steps along lists of events after which the kernel returns, as if its budget were used.
_MOST_STEPS = 20_000_000

#: So many immediate transitions fire at one instant before the net is taken for a loop.
MOST_AT_ONCE = 10_000_000

#: The histogram of latencies: bins for each factor of ten, from `SHORTEST` seconds on.
BINS_PER_DECADE = 100
SHORTEST = 1e-9
BINS = 1600


class SimulationState(NamedTuple):
    """The marking and the timers, the times of events, and the sums of a batch.

    `area` is tokens times seconds of each place up to `since`, `busy` is servers times seconds of each transition.
    The timers of transition t are a ring from `timer_start[t]` to `timer_start[t + 1]`.
    """

    marking: Ints
    area: Floats
    since: Floats
    degree: Ints
    busy: Floats
    busy_since: Floats
    fired: Ints
    timer_start: Ints
    timer_head: Ints
    timer_count: Ints
    timers: Floats
    stamp: Floats
    following: Ints
    first: Ints
    last: Ints
    moved: Floats
    counters: Ints
    clock: Floats
    histogram: Ints
    draws: Floats


@inlined
def _draw(state: SimulationState) -> float:
    drawn = state.counters[DRAWN]
    state.counters[DRAWN] = drawn + 1
    return float(state.draws[drawn])


@inlined
def _degree(net: FlatNet, marking: Ints, transition: int) -> int:
    """How many servers of the transition are at work."""
    degree = net.servers[transition]
    if net.kind[transition] == IMMEDIATE:
        degree = 1
    for arc in range(net.inhibitor_start[transition], net.inhibitor_start[transition + 1]):
        if marking[net.inhibitor_place[arc]] >= net.inhibitor_count[arc]:
            return 0
    for arc in range(net.input_start[transition], net.input_start[transition + 1]):
        degree = min(degree, marking[net.input_place[arc]] // net.input_count[arc])
    for arc in range(net.gain_start[transition], net.gain_start[transition + 1]):
        place = net.gain_place[arc]
        degree = min(degree, (net.capacity[place] - marking[place]) // net.gain_count[arc])
    return int(degree)


@inlined
def _refresh(net: FlatNet, state: SimulationState, transition: int) -> bool:
    """Looks at a transition again; whether its timers had room."""
    degree = max(_degree(net, state.marking, transition), 0)
    before = state.degree[transition]
    kind = net.kind[transition]
    if kind == IMMEDIATE:
        state.counters[IMMEDIATES] += degree - before
        state.degree[transition] = degree
        return True
    if degree != before:
        now = state.clock[NOW]
        state.busy[transition] += before * (now - state.busy_since[transition])
        state.busy_since[transition] = now
        state.degree[transition] = degree
    if kind == DETERMINISTIC:
        start = state.timer_start[transition]
        room = state.timer_start[transition + 1] - start
        count = state.timer_count[transition]
        # Another transition has taken tokens: those that came first, so the oldest timers are theirs.
        while count > degree:
            state.timer_head[transition] = (state.timer_head[transition] + 1) % room
            count -= 1
        due = state.clock[NOW] + net.value[transition]
        while count < degree:
            if count == room:
                state.timer_count[transition] = count
                return False
            state.timers[start + (state.timer_head[transition] + count) % room] = due
            count += 1
        state.timer_count[transition] = count
    return True


@inlined
def _take(state: SimulationState, place: int, index: int) -> float:
    """Takes the token with this index in the order of arrival out of a place; the time of its event."""
    state.counters[STEPS] += 1 + index
    before = -1
    token = state.first[place]
    for _ in range(index):
        before, token = token, state.following[token]
    after = state.following[token]
    if before < 0:
        state.first[place] = after
    else:
        state.following[before] = after
    if after < 0:
        state.last[place] = before
    state.following[token] = state.counters[FREE]
    state.counters[FREE] = token
    state.counters[FREE_COUNT] += 1
    return float(state.stamp[token])


@inlined
def _put(state: SimulationState, place: int, occurred: float) -> None:
    """Puts an event behind the others of a place."""
    state.counters[STEPS] += 1
    token = state.counters[FREE]
    state.counters[FREE] = state.following[token]
    state.counters[FREE_COUNT] -= 1
    state.stamp[token] = occurred
    state.following[token] = -1
    if state.first[place] < 0:
        state.first[place] = token
    else:
        state.following[state.last[place]] = token
    state.last[place] = token


@kernel
def put_event(state: SimulationState, place: int, occurred: float) -> None:
    """Puts an event into the first marking."""
    _put(state, place, occurred)


@inlined
def _settle_place(state: SimulationState, place: int) -> None:
    now = state.clock[NOW]
    state.area[place] += state.marking[place] * (now - state.since[place])
    state.since[place] = now


@inlined
def _notify(state: SimulationState, latency: float) -> None:
    state.clock[LATENCY] += latency
    state.counters[NOTIFIED] += 1
    bin_of = int(np.log10(max(latency, SHORTEST) / SHORTEST) * BINS_PER_DECADE)
    state.histogram[min(bin_of, BINS - 1)] += 1


@inlined
def _take_inputs(net: FlatNet, state: SimulationState, transition: int) -> int:
    """Takes the tokens of all inputs; how many of them were events, whose times are then in `moved`."""
    taken = 0
    degree = state.degree[transition]
    for arc in range(net.input_start[transition], net.input_start[transition + 1]):
        place, count = net.input_place[arc], net.input_count[arc]
        _settle_place(state, place)
        state.marking[place] -= count
        if net.holds_events[place]:
            for _ in range(count):
                index = 0
                # Of several servers any may be ready first; the tokens that are served are those that came first.
                if net.kind[transition] == EXPONENTIAL and degree > 1 and count == 1:
                    index = int(_draw(state) * degree)
                state.moved[taken] = _take(state, place, index)
                taken += 1
    return taken


@inlined
def _put_outputs(net: FlatNet, state: SimulationState, transition: int, taken: int) -> None:
    """Puts tokens into all outputs. With fewer events than were taken each has the mean of their times, so that a
    message about several events has their mean latency."""
    mean = state.clock[NOW]
    if taken:
        mean = 0.0
        for k in range(taken):
            mean += state.moved[k] / taken
    put = 0
    for arc in range(net.output_start[transition], net.output_start[transition + 1]):
        if net.holds_events[net.output_place[arc]]:
            put += net.output_count[arc]
    k = 0
    for arc in range(net.output_start[transition], net.output_start[transition + 1]):
        place, count = net.output_place[arc], net.output_count[arc]
        _settle_place(state, place)
        state.marking[place] += count
        if net.holds_events[place]:
            for _ in range(count):
                _put(state, place, mean if put < taken or not taken else state.moved[min(k, taken - 1)])
                k += 1


@inlined
def _fire(net: FlatNet, state: SimulationState, transition: int) -> bool:
    """Fires an enabled transition; whether timers had room."""
    taken = _take_inputs(net, state, transition)
    _put_outputs(net, state, transition, taken)
    if net.ends[transition] == 0:  # notified
        for k in range(taken):
            _notify(state, state.clock[NOW] - state.moved[k])
    state.fired[transition] += 1
    state.counters[LAST] = transition
    if net.kind[transition] == DETERMINISTIC:
        room = state.timer_start[transition + 1] - state.timer_start[transition]
        state.timer_head[transition] = (state.timer_head[transition] + 1) % room
        state.timer_count[transition] -= 1
    fits = True
    for k in range(net.affected_start[transition], net.affected_start[transition + 1]):
        fits = _refresh(net, state, net.affected[k]) and fits
    return fits


@inlined
def _chosen_immediate(net: FlatNet, state: SimulationState) -> int:
    """An enabled immediate transition of the highest priority, by weight."""
    chosen, highest, total = -1, -(1 << 60), 0.0
    for transition in range(len(net.kind)):
        if net.kind[transition] == IMMEDIATE and state.degree[transition]:
            if net.priority[transition] > highest:
                chosen, highest, total = transition, net.priority[transition], net.value[transition]
            elif net.priority[transition] == highest:
                total += net.value[transition]
    left = -1.0 if total == net.value[chosen] else _draw(state) * total
    for transition in range(len(net.kind)):
        if left < 0.0:
            break
        enabled = net.kind[transition] == IMMEDIATE and state.degree[transition] > 0
        if enabled and net.priority[transition] == highest:
            chosen = transition
            left -= net.value[transition]
    return chosen


@inlined
def _chosen_exponential(net: FlatNet, state: SimulationState, total: float) -> int:
    """An enabled exponential transition, by rate."""
    left, chosen = _draw(state) * total, -1
    for transition in range(len(net.kind)):
        if net.kind[transition] == EXPONENTIAL and state.degree[transition]:
            chosen = transition
            left -= net.value[transition] * state.degree[transition]
            if left < 0.0:
                break
    return chosen


@kernel
def settle(net: FlatNet, state: SimulationState) -> None:
    """Brings the sums of all places and transitions up to the present time."""
    now = state.clock[NOW]
    for place in range(len(state.marking)):
        _settle_place(state, place)
    for transition in range(len(net.kind)):
        state.busy[transition] += state.degree[transition] * (now - state.busy_since[transition])
        state.busy_since[transition] = now


@kernel
def simulate(net: FlatNet, state: SimulationState, until: float, budget: int) -> int:
    """Fires transitions up to a point in time, at most so many; why it returns.

    It may be called again with more room, and continues.
    """
    for transition in range(len(net.kind)):
        if not _refresh(net, state, transition):
            return NO_TIMERS
    state.counters[STEPS] = 0
    for _ in range(budget):
        if state.counters[STEPS] > _MOST_STEPS:
            return BUDGET
        if len(state.draws) - state.counters[DRAWN] < _DRAWS:
            return NO_DRAWS
        if state.counters[FREE_COUNT] < len(state.moved):
            return NO_TOKENS
        if state.counters[IMMEDIATES]:
            state.counters[INSTANT] += 1
            if state.counters[INSTANT] > MOST_AT_ONCE:
                return LOOP
            chosen = _chosen_immediate(net, state)
        else:
            state.counters[INSTANT] = 0
            total, due, chosen = 0.0, np.inf, -1
            for transition in range(len(net.kind)):
                if net.kind[transition] == EXPONENTIAL:
                    total += net.value[transition] * state.degree[transition]
                elif net.kind[transition] == DETERMINISTIC and state.timer_count[transition]:
                    timer = state.timers[state.timer_start[transition] + state.timer_head[transition]]
                    if timer < due:
                        due, chosen = timer, transition
            if total > 0.0:
                after = state.clock[NOW] - np.log1p(-_draw(state)) / total
                if after < due:
                    due, chosen = after, -1
            elif chosen < 0:
                return DEADLOCK
            if due > until:
                state.clock[NOW] = until
                settle(net, state)
                return TIME_UP
            state.clock[NOW] = due
            if chosen < 0:
                chosen = _chosen_exponential(net, state, total)
        if not _fire(net, state, chosen):
            return NO_TIMERS
    return BUDGET

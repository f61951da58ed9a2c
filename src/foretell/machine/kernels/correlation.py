"""Correlation machines (ECL section 3) that run for many lanes, in two forms: concurrent and determinised.

An event first takes the transitions that read it (C3), then internal ones until none is enabled. Modules are numbered
after their parts, so that one pass over them lets inner ones settle before outer ones (C1). The round of a transition
is how many moments after the event it is taken: outputs of one event come by their round, then by their number (C2).
"""

from __future__ import annotations

from typing import NamedTuple

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import Array


class ConcurrentTables(NamedTuple):
    """A machine as arrays. Lists lie one behind the other; where each begins is in an array that is longer by one.

    A reader waits in state `waiting`, and its success is the next one. `suppressed` are, for each construction with
    modes, the outer ones first, its guards as a range of readers, and the states of its bodies.
    """

    readers_of: Array  # by step: the first of its places in `reader`
    reader: Array  # readers by step
    waiting: Array  # by reader
    reader_parent: Array  # by reader: its module
    suppressed: Array  # rows: first guard, end of guards, first state, end of states
    parent: Array  # by module; -1 of the outermost
    own: Array  # by module: its first transition
    enabling: Array  # by transition: its first enabling set
    enabled_by: Array  # by enabling set: its first state
    enabling_state: Array
    clears: Array  # by transition: first state, end of states, first counter, end of counters
    target: Array  # by transition: its first target
    target_state: Array
    token: Array  # by transition; -1 for none
    round: Array  # by transition: counter (-1 for none), rounds, whether it is the last


class LaneStates(NamedTuple):
    """By lane: whether each state is active, and the counters."""

    active: Array
    counters: Array


class EventScratch(NamedTuple):
    """Room for one event: readers that read it, the latest round of each module, and the tokens it emits."""

    fired: Array
    latest: Array
    tokens: Array  # rows: round, token


class TokenOutput(NamedTuple):
    """Of each token the row of its event, and its number."""

    row: Array
    token: Array


class CorrelatedEvents(NamedTuple):
    """Of each event its lane, and by step whether it satisfies it."""

    lane: Array
    satisfied: Array


@kernel
def run_concurrent(
    done: int,
    events: CorrelatedEvents,
    tables: ConcurrentTables,
    states: LaneStates,
    scratch: EventScratch,
    output: TokenOutput,
) -> tuple[int, int]:
    """Process events from `done` on: return where it stopped, and how many tokens there are."""
    written = 0
    for row in range(done, events.lane.size):
        if written + scratch.tokens.shape[0] > output.row.size:
            return row, written
        active, counters = states.active[events.lane[row]], states.counters[events.lane[row]]
        fired = _readers(events.satisfied, row, active, tables, scratch)
        if fired == 0:
            continue
        first = _read(fired, active, tables, scratch)
        found = _settle(first, active, counters, tables, scratch)
        for number in range(found):
            output.row[written], output.token[written] = row, scratch.tokens[number, 1]
            written += 1
    return events.lane.size, written


@inlined
def _readers(satisfied: Array, row: int, active: Array, tables: ConcurrentTables, scratch: EventScratch) -> int:
    """The readers that read an event."""
    count = 0
    for step in range(satisfied.shape[0]):
        if satisfied[step, row]:
            for place in range(tables.readers_of[step], tables.readers_of[step + 1]):
                reader = tables.reader[place]
                if active[tables.waiting[reader]]:
                    scratch.fired[count] = reader
                    count += 1
    if count == 0:
        return 0
    for modes in range(tables.suppressed.shape[0]):
        is_left = False
        for number in range(count):
            reader = scratch.fired[number]
            if tables.suppressed[modes, 0] <= reader and reader < tables.suppressed[modes, 1]:
                is_left = True
        if is_left:
            # A mode that is left does not see the event.
            kept = 0
            for number in range(count):
                reader = scratch.fired[number]
                state = tables.waiting[reader]
                if state < tables.suppressed[modes, 2] or state >= tables.suppressed[modes, 3]:
                    scratch.fired[kept] = reader
                    kept += 1
            count = kept
    return count


@inlined
def _read(fired: int, active: Array, tables: ConcurrentTables, scratch: EventScratch) -> int:
    """Take the transitions that read an event; return the first module that has to settle."""
    first = scratch.latest.size
    for number in range(fired):
        reader = scratch.fired[number]
        waiting, module = tables.waiting[reader], tables.reader_parent[reader]
        active[waiting], active[waiting + 1] = 0, 1
        if module >= 0:
            scratch.latest[module] = 0
            first = min(first, module)
    return first


@inlined
def _settle(first: int, active: Array, counters: Array, tables: ConcurrentTables, scratch: EventScratch) -> int:
    """Take internal transitions, inner ones first; return how many tokens they emit, which are then in order."""
    found = 0
    for module in range(first, scratch.latest.size):
        latest = scratch.latest[module]
        if latest < 0:
            continue
        scratch.latest[module] = -1
        for transition in range(tables.own[module], tables.own[module + 1]):
            if _is_enabled(transition, active, counters, tables):
                _take(transition, active, counters, tables)
                latest += 1
                if tables.token[transition] >= 0:
                    found = _emit(latest, tables.token[transition], found, scratch)
                break
        parent = tables.parent[module]
        if parent >= 0:
            scratch.latest[parent] = max(scratch.latest[parent], latest)
    return found


@inlined
def _is_enabled(transition: int, active: Array, counters: Array, tables: ConcurrentTables) -> bool:
    for enabling in range(tables.enabling[transition], tables.enabling[transition + 1]):
        is_active = False
        for place in range(tables.enabled_by[enabling], tables.enabled_by[enabling + 1]):
            if active[tables.enabling_state[place]]:
                is_active = True
        if not is_active:
            return False
    counter = tables.round[transition, 0]
    if counter < 0:
        return True
    is_last = counters[counter] + 1 >= tables.round[transition, 1]
    return bool(is_last == (tables.round[transition, 2] == 1))


@inlined
def _take(transition: int, active: Array, counters: Array, tables: ConcurrentTables) -> None:
    for state in range(tables.clears[transition, 0], tables.clears[transition, 1]):
        active[state] = 0
    for counter in range(tables.clears[transition, 2], tables.clears[transition, 3]):
        counters[counter] = 0
    for place in range(tables.target[transition], tables.target[transition + 1]):
        active[tables.target_state[place]] = 1
    if tables.round[transition, 0] >= 0 and tables.round[transition, 2] == 0:
        counters[tables.round[transition, 0]] += 1


@inlined
def _emit(moment: int, token: int, found: int, scratch: EventScratch) -> int:
    """Enter a token behind those of the same and of earlier rounds."""
    at = found
    while at > 0 and scratch.tokens[at - 1, 0] > moment:
        scratch.tokens[at, 0], scratch.tokens[at, 1] = scratch.tokens[at - 1, 0], scratch.tokens[at - 1, 1]
        at -= 1
    scratch.tokens[at, 0], scratch.tokens[at, 1] = moment, token
    return found + 1


class DeterminisedTables(NamedTuple):
    """A determinised machine: each state looks at some steps only. The steps that an event satisfies, the first of
    them as the lowest bit, are the place of its transition behind the first one of the state."""

    step: Array  # the steps of all states
    steps: Array  # by state: its first step
    first: Array  # by state: its first transition
    following: Array  # by transition: the next state
    output: Array  # by transition: the number of its list of tokens
    tokens: Array  # by list: its first token
    token: Array


@kernel
def run_determinised(
    done: int, events: CorrelatedEvents, tables: DeterminisedTables, states: Array, output: TokenOutput
) -> tuple[int, int]:
    """Process events from `done` on: return where it stopped, and how many tokens there are."""
    written = 0
    for row in range(done, events.lane.size):
        lane = events.lane[row]
        state = states[lane]
        place, steps = 0, tables.steps[state]
        for number in range(steps, tables.steps[state + 1]):
            place |= events.satisfied[tables.step[number], row] << (number - steps)
        if place == 0:
            continue  # no state moves where nothing that it looks at is satisfied
        transition = tables.first[state] + place
        emitted = tables.output[transition]
        if emitted > 0:
            first, end = tables.tokens[emitted], tables.tokens[emitted + 1]
            if written + end - first > output.row.size:
                return row, written
            for number in range(first, end):
                output.row[written], output.token[written] = row, tables.token[number]
                written += 1
        states[lane] = tables.following[transition]
    return events.lane.size, written


class ObservedEvents(NamedTuple):
    """All events of a batch: of each its lane, and its column in `satisfied`, -1 where it satisfies no step."""

    lane: Array
    place: Array
    satisfied: Array


@kernel
def follow_states(events: ObservedEvents, tables: DeterminisedTables, states: Array, after: Array) -> None:
    """Write the state after each event of a batch."""
    for row in range(events.lane.size):
        lane, place = events.lane[row], events.place[row]
        state = states[lane]
        if place >= 0:
            move, steps = 0, tables.steps[state]
            for number in range(steps, tables.steps[state + 1]):
                move |= events.satisfied[tables.step[number], place] << (number - steps)
            state = tables.following[tables.first[state] + move]
            states[lane] = state
        after[row] = state

"""Probes: what an observer sees of the runs after each event.

It sees the states of live runs, as bits of one word (the configuration), and the furthest run as if it were a match.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import emit
from foretell.machine.kernels.decorators import expanded, inlined
from foretell.machine.kernels.hash_table import slot_of
from foretell.machine.kernels.layout import (
    ALIVE,
    MATCHES,
    NONE,
    RUN_BEGAN,
    RUN_CHAIN,
    RUN_FIRST,
    RUN_NEXT,
    RUN_OVER,
    RUN_STATE,
    STATE_KEY,
    Array,
    S,
    U,
)
from foretell.machine.kernels.structs import Exclusion, NfaTables, ProbeArrays, Runs

#: By what AFTER MATCH excludes a run: nothing, where it began, its first event, any of its events.
NOTHING, BEGINNING, FIRSTS, EVENTS = range(4)


@inlined
def is_spent(position: Any, row: Any, exclusion: Exclusion) -> bool:
    """Whether a match has taken an event by the time that the event of a row has come."""
    if exclusion.spent[slot_of(position, exclusion.spent)] < 0:
        return False
    positions = exclusion.positions
    low, high = 0, positions.size
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < position:
            low = middle + 1
        else:
            high = middle
    return bool(low == positions.size or positions[low] != position or exclusion.rows[low] <= row)


@inlined
def _is_excluded(row: Any, lane: Any, run: Any, probe: ProbeArrays, runs: Runs) -> bool:
    """Whether AFTER MATCH excludes a run, where it excludes any."""
    exclusion, registers, nodes = probe.exclusion, runs.registers, runs.nodes
    first = registers.integers[run, RUN_FIRST]
    if exclusion.by == BEGINNING:
        return bool(first <= exclusion.past_of_lane[lane])
    if is_spent(first, row, exclusion):
        return True
    if exclusion.by == EVENTS:
        for number in range(U(probe.position_slots.size)):
            slot = probe.position_slots[number]
            if not registers.nulls[run, slot] and is_spent(registers.integers[run, slot], row, exclusion):
                return True
        node = registers.integers[run, RUN_CHAIN]
        while node != -1:
            if nodes.step[node] < 0:  # a gap: two nodes, of which none is an event of the match
                node = nodes.parent[nodes.parent[node]]
            else:
                if is_spent(nodes.position[node], row, exclusion):
                    return True
                node = nodes.parent[node]
    return False


@expanded
def _move_beginning(row: Any, lane: Any, exclusion: Exclusion) -> None:
    """From an event on its matches exclude the runs of its lane by where they began."""
    if exclusion.by == BEGINNING:
        exclusion.past_of_lane[lane] = max(exclusion.past_of_lane[lane], exclusion.past_of_row[row])


@inlined
def show_nothing(row: Any, probe: ProbeArrays) -> None:
    probe.configurations[row], probe.furthest_of[row] = 0, 0


@expanded
def _record(
    row: Any, lane: Any, configuration: Any, furthest: Any, probe: ProbeArrays, finals: Array, runs: Runs
) -> None:
    probe.configurations[row], probe.furthest_of[row] = configuration, 0
    if furthest != NONE:
        state = U(runs.registers.integers[furthest, RUN_STATE])
        emit(state, lane, S(row), furthest, finals, runs.registers, probe.furthest, probe.counters)
        probe.furthest_of[row] = probe.counters[MATCHES]


@inlined
def probe_lane(row: Any, lane: Any, run: Any, probe: ProbeArrays, finals: Array, runs: Runs) -> None:
    """Probe the runs of a lane that stand in one list, from its first run on."""
    cells = runs.registers.integers
    excludes = probe.exclusion.by != NOTHING
    if excludes:
        _move_beginning(row, lane, probe.exclusion)
    configuration, best, furthest = U(0), U(0), NONE
    while run != NONE:
        if excludes and _is_excluded(row, lane, run, probe, runs):
            run = U(cells[run, RUN_NEXT])
            continue
        state = U(cells[run, RUN_STATE])
        bit = probe.bits[state]
        configuration |= bit
        for part in range(U(probe.part_words.shape[1])):
            probe.part_words[row, part] |= probe.part_bits[state, part]
        if bit > best:
            best, furthest = bit, run
        run = U(cells[run, RUN_NEXT])
    _record(row, lane, configuration, furthest, probe, finals, runs)


@expanded
def _useful_until(state: Any, run: Any, probe: ProbeArrays, tables: NfaTables, runs: Runs) -> Any:
    """The last time at which all time conditions that a run's state waits to fulfil may hold."""
    within = tables.state_within[state]
    until = probe.forever if within < 0 else runs.times[run, RUN_BEGAN] + within
    for limit in range(probe.limits.shape[0]):
        if probe.limits[limit, 0] == state:
            slot = probe.limits[limit, 1]
            if not runs.registers.nulls[run, slot]:
                until = min(until, runs.times[run, slot] + probe.amounts[limit])
    return until


@inlined
def probe_states(row: Any, lane: Any, place: Any, time: Any, probe: ProbeArrays, tables: NfaTables, runs: Runs) -> Any:
    """Probe the runs of a lane that stand in a list for each state; `place` is their list where a value finds it.
    Return the last time at which another probe sees the same, if no event touches the runs."""
    cells, heads = runs.registers.integers, runs.lanes.heads
    excludes = probe.exclusion.by != NOTHING
    if excludes:
        _move_beginning(row, lane, probe.exclusion)
    configuration, best, furthest, until = U(0), U(0), NONE, probe.forever
    for state in range(U(heads.shape[1])):
        bit = probe.bits[state]
        if bit == U(0):
            continue
        run = U(heads[lane if tables.states[state, STATE_KEY] == NONE else place, state])
        useful_until = time
        while run != NONE:
            useful_until = _useful_until(state, run, probe, tables, runs)
            if (
                cells[run, RUN_OVER] == ALIVE
                and time <= useful_until
                and not (excludes and _is_excluded(row, lane, run, probe, runs))
            ):
                break
            run = U(cells[run, RUN_NEXT])
        if run != NONE:
            until = min(until, useful_until)
            configuration |= bit
            for part in range(U(probe.part_words.shape[1])):
                probe.part_words[row, part] |= probe.part_bits[state, part]
            if bit > best:
                best, furthest = bit, run
    _record(row, lane, configuration, furthest, probe, tables.finals, runs)
    return until


@inlined
def probe_changes(
    row: Any, lane: Any, place: Any, time: Any, touched: bool, first: int, base: int, probe: ProbeArrays,
    tables: NfaTables, runs: Runs,
) -> None:  # fmt: skip
    """Probe the runs of a lane where its latest probe, since the row `first`, does not tell what is to be seen."""
    seen = probe.lanes
    if touched or seen.position[lane] < base + first or time > seen.until[lane]:
        until = probe_states(row, lane, place, time, probe, tables, runs)
        if probe.remembers:
            seen.position[lane] = base + S(row)
            seen.configuration[lane], seen.furthest[lane] = probe.configurations[row], probe.furthest_of[row]
            seen.until[lane] = until
    else:
        probe.configurations[row], probe.furthest_of[row] = seen.configuration[lane], seen.furthest[lane]

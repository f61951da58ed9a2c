"""What the kernels record of partial matches after each event, for the observer of a statement."""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.actions import emit
from foretell.machine.kernels.decorators import inlined
from foretell.machine.kernels.hash_table import slot_of
from foretell.machine.kernels.layout import (
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

#: By what AFTER MATCH excludes a run: nothing, where it began, its first event, any of its events.
NOTHING, BEGINNING, FIRSTS, EVENTS = range(4)

# fmt: off


@inlined
def is_spent(position: Any, row: Any, excluding: Any) -> bool:
    """Whether an event has been spent when that of a row has come."""
    (_, _, _, slots, positions, rows) = excluding
    if slots[slot_of(position, slots)] < 0:
        return False
    low, high = 0, positions.size
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < position:
            low = middle + 1
        else:
            high = middle
    return bool(low == positions.size or positions[low] != position or rows[low] <= row)


@inlined
def is_excluded(row: Any, lane: Any, instance: Any, excluding: Any, kept: Any, registers: Any) -> bool:
    """Whether a partial match is excluded, where something is; `kept` are its slots that hold positions."""
    (_, slot_i, slot_null, parent, node_position, node_step) = registers
    by = excluding[0]
    first = slot_i[instance, RUN_FIRST]
    if by == BEGINNING:
        return bool(first <= excluding[2][lane])
    if is_spent(first, row, excluding):
        return True
    if by == EVENTS:
        for number in range(U(kept.size)):
            slot = kept[number]
            if not slot_null[instance, slot] and is_spent(slot_i[instance, slot], row, excluding):
                return True
        node = slot_i[instance, RUN_CHAIN]
        while node != -1:
            if node_step[node] < 0:  # a gap: two nodes, of which none is an event of the match
                node = parent[parent[node]]
            else:
                if is_spent(node_position[node], row, excluding):
                    return True
                node = parent[node]
    return False


@inlined
def _go_past(row: Any, lane: Any, excluding: Any) -> None:
    """What the matches of an event exclude by where it began."""
    if excluding[0] == BEGINNING:
        excluding[2][lane] = max(excluding[2][lane], excluding[1][row])


@inlined
def look_at_lane(row: Any, lane: Any, instance: Any, watch: Any, pool: Any, finals: Array, registers: Any) -> None:
    """Where a lane's instances stand in one list."""
    (trace, bits, _, _, _, partial, noted, words, part_bits, excluding, kept) = watch
    cells = pool[0]
    excludes = excluding[0] != NOTHING
    if excludes:
        _go_past(row, lane, excluding)
    occupied, best, furthest = U(0), U(0), NONE
    while instance != NONE:
        if excludes and is_excluded(row, lane, instance, excluding, kept, registers):
            instance = U(cells[instance, RUN_NEXT])
            continue
        here = U(cells[instance, RUN_STATE])
        bit = bits[here]
        occupied |= bit
        for part in range(U(words.shape[1])):
            words[row, part] |= part_bits[here, part]
        if bit > best:
            best, furthest = bit, instance
        instance = U(cells[instance, RUN_NEXT])
    trace[row] = occupied
    if furthest != NONE:
        emit(U(cells[furthest, RUN_STATE]), lane, S(row), furthest, finals, registers, partial, noted)


@inlined
def look_at_states(row: Any, lane: Any, place: Any, time: Any, watch: Any, states: Array, state_within: Array,
                   pool: Any, heads: Array, finals: Array, registers: Any) -> None:
    """Where they stand in a list for each state: of those that are over, or too late, nothing is seen."""
    (trace, bits, _, limits, amounts, partial, noted, words, part_bits, excluding, kept) = watch
    (cells, times, _) = pool
    slot_null = registers[2]
    excludes = excluding[0] != NOTHING
    if excludes:
        _go_past(row, lane, excluding)
    occupied, best, furthest = U(0), U(0), NONE
    for here in range(U(heads.shape[1])):
        bit = bits[here]
        if bit == U(0):
            continue
        instance = U(heads[lane if states[here, STATE_KEY] == NONE else place, here])
        within = state_within[here]
        while instance != NONE:
            alive = cells[instance, RUN_OVER] == 0 and (within < 0 or time <= times[instance, RUN_BEGAN] + within)
            if alive and excludes and is_excluded(row, lane, instance, excluding, kept, registers):
                alive = False
            if alive:
                for limit in range(limits.shape[0]):
                    if limits[limit, 0] == here:
                        slot = limits[limit, 1]
                        if not slot_null[instance, slot] and time > times[instance, slot] + amounts[limit]:
                            alive = False
            if alive:
                break
            instance = U(cells[instance, RUN_NEXT])
        if instance != NONE:
            occupied |= bit
            for part in range(U(words.shape[1])):
                words[row, part] |= part_bits[here, part]
            if bit > best:
                best, furthest = bit, instance
    trace[row] = occupied
    if furthest != NONE:
        emit(U(cells[furthest, RUN_STATE]), lane, S(row), furthest, finals, registers, partial, noted)


# fmt: on

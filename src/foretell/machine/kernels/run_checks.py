"""Checks of runs that come from a snapshot: afterwards no kernel meets an index that leads nowhere, or goes in circles.

Everything is looked at once, in one pass over the runs and one along their lists.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from foretell.machine.kernels.decorators import compiled, inlined
from foretell.machine.kernels.layout import (
    DEAD,
    NONE,
    RUN_CHAIN,
    RUN_FIRST,
    RUN_LANE,
    RUN_LIST,
    RUN_NEXT,
    RUN_OVER,
    RUN_ROWS,
    RUN_SERIAL,
    RUN_STATE,
    Array,
)
from foretell.machine.kernels.structs import Nodes, Timers

#: What does not fit; in this order they are looked for.
FITS, CELLS, REGISTERS, LISTS, TIMERS, NODES = range(6)

NOWHERE = int(NONE)


class HeldEvents(NamedTuple):
    """The positions of events that there are: all from `base` to `end`; of these only those that `flags` mark, or those
    in `positions`, unless the two are empty."""

    base: int
    end: int
    flags: Array
    positions: Array


class SlotKinds(NamedTuple):
    """The slots with positions of events, with codes of texts, with numbers of lists."""

    positions: Array
    texts: Array
    lists: Array


@inlined
def is_held(position: int, held: HeldEvents) -> bool:
    """Whether there is an event at a position."""
    if not held.base <= position < held.end:
        return False
    if held.flags.size > 0:
        return bool(held.flags[position - held.base])
    if held.positions.size > 0:
        low, high = 0, held.positions.size
        while low < high:
            middle = (low + high) // 2
            if held.positions[middle] < position:
                low = middle + 1
            else:
                high = middle
        return bool(low < held.positions.size and held.positions[low] == position)
    return True


@compiled
def all_held(positions: Array, held: HeldEvents) -> bool:
    """Whether there are events at all of some positions; negative ones stand for none."""
    missing = 0
    for i in range(positions.size):
        missing += positions[i] >= 0 and not is_held(positions[i], held)
    return missing == 0


@compiled
def check_cells(
    used: Array, cells: Array, nulls: Array, stops: Any, slots: SlotKinds, held: HeldEvents, key_slots: Array,
    lengths: Array, links: Array, list_of: Array,
) -> int:  # fmt: skip
    """Check the runs in use. `stops` are the numbers of states, lanes, nodes, lists, texts and template rows.

    Counts the runs of each lane in `lengths`. Writes the next run of each (`links`) and the number of its list, unless
    these two are empty; `key_slots` are the slots by which runs of each state find their lists."""
    (states, lanes, nodes, list_count, text_count, rows) = stops
    (events, texts, lists) = slots
    for run in range(cells.shape[0]):
        if not used[run]:
            continue
        if not 0 <= cells[run, RUN_STATE] < states or not 0 <= cells[run, RUN_LANE] < lanes:
            return CELLS
        if not is_held(cells[run, RUN_FIRST], held) or not 0 <= cells[run, RUN_OVER] <= DEAD:
            return CELLS
        if not -1 <= cells[run, RUN_CHAIN] < nodes:
            return CELLS
        first_row, row_count = cells[run, RUN_ROWS] >> 32, cells[run, RUN_ROWS] & 0xFFFFFFFF
        if first_row < 0 or first_row + row_count > rows:
            return CELLS
        for k in range(nulls.shape[1]):
            if nulls[run, k] > 2:
                return REGISTERS
        for k in range(events.size):
            position = cells[run, events[k]]
            if nulls[run, events[k]] == 0 and position >= 0 and not is_held(position, held):
                return REGISTERS
        for k in range(texts.size):
            if nulls[run, texts[k]] == 0 and not 0 <= cells[run, texts[k]] < text_count:
                return REGISTERS
        for k in range(lists.size):
            if nulls[run, lists[k]] == 0 and not 0 <= cells[run, lists[k]] < list_count:
                return REGISTERS
        lane, state = cells[run, RUN_LANE], cells[run, RUN_STATE]
        lengths[lane] += 1
        if links.size > 0:
            slot = key_slots[state]
            if slot != NONE and nulls[run, slot]:
                return LISTS
            place = lane if slot == NONE else cells[run, slot]
            if cells[run, RUN_LIST] != place or not 0 <= cells[run, RUN_NEXT] <= NOWHERE:
                return LISTS
            links[run], list_of[run] = cells[run, RUN_NEXT], place * states + state
    return FITS


@compiled
def check_lists(used: Array, links: Array, list_of: Array, heads: Array) -> int:
    """Check that each run in use stands in one list, the one that `check_cells` found to be its own, and no other run
    does. Only what that wrote side by side is read here: the lists go to and fro among the runs."""
    left = 0
    for run in range(used.size):
        left += used[run]
    unseen = used.copy()
    for place in range(heads.shape[0]):
        for state in range(heads.shape[1]):
            link = np.int64(heads[place, state])
            while link != NOWHERE:
                if link >= used.size or not unseen[link] or list_of[link] != place * heads.shape[1] + state:
                    return LISTS
                unseen[link] = False
                left -= 1
                link = np.int64(links[link])
    return FITS if left == 0 else LISTS


@compiled
def check_timers(used: Array, cells: Array, timers: Timers, waits: Array) -> int:
    """Check that timers are a heap, and that a run whose serial number a timer has is in use and waits for time."""
    for timer in range(timers.due.size):
        run = np.int64(timers.owner[timer])
        if run >= cells.shape[0] or timers.due[timer] < timers.due[(timer - 1) // 2 if timer > 0 else 0]:
            return TIMERS
        if cells[run, RUN_SERIAL] == timers.serial[timer] and not (used[run] and waits[cells[run, RUN_STATE]]):
            return TIMERS
    return FITS


@compiled
def check_chains(used: Array, cells: Array, nodes: Nodes, held: HeldEvents, events: Array, gaps: Array) -> int:
    """Check the chains of nodes: each comes after its parent, a gap is two nodes, and the steps and gaps of each run's
    chain are those that matches of its state may have: `events` and `gaps` are how many there are at each state."""
    (parent, position, step) = nodes
    highest_step, highest_gap = np.full(step.size, -1), np.full(step.size, -1)
    # Of a node that no run leads to any more the event may be gone.
    reached = np.zeros(step.size, np.bool_)
    for run in range(cells.shape[0]):
        if used[run] and cells[run, RUN_CHAIN] >= 0:
            reached[cells[run, RUN_CHAIN]] = True
    for back in range(step.size):
        node = step.size - 1 - back
        if not -1 <= parent[node] < node:
            return NODES
        if reached[node] and parent[node] >= 0:
            reached[parent[node]] = True
    for node in range(step.size):
        before = parent[node]
        if position[node] < -1 or (reached[node] and position[node] >= 0 and not is_held(position[node], held)):
            return NODES
        begins_gap, ends_gap = step[node] < 0 and step[node] & 1 != 0, step[node] < 0 and step[node] & 1 == 0
        after_gap_began = before >= 0 and step[before] < 0 and step[before] & 1 != 0
        if ends_gap != after_gap_began or (ends_gap and step[before] != step[node] + 1):
            return NODES
        if step[node] >= 0 and position[node] < 0:
            return NODES
        if before >= 0:
            highest_step[node], highest_gap[node] = highest_step[before], highest_gap[before]
        if step[node] >= 0:
            highest_step[node] = max(highest_step[node], step[node])
        elif begins_gap:
            highest_gap[node] = max(highest_gap[node], -(step[node] + 1) // 2)
    for run in range(cells.shape[0]):
        node = cells[run, RUN_CHAIN]
        if used[run] and node >= 0:
            state = cells[run, RUN_STATE]
            if step[node] < 0 and step[node] & 1 != 0:
                return NODES
            if highest_step[node] >= events[state] or highest_gap[node] >= gaps[state]:
                return NODES
    return FITS

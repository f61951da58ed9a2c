"""What matches that were taken exclude of what is still partial (AFTER MATCH), for those who watch.

Matches are taken after the kernel has gone through a batch; only then is known what they remove. So partial matches are
looked at afterwards: arrival lists make none before (standing.py), and where a machine has instances, a second one goes
through the events when the first is done with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.jit import inlined
from foretell.language.tree import Policy
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.kernels.layout import FIRST, LAST_NODE, U
from foretell.machine.matches.after_match import AfterMatchPolicy, slot_of
from foretell.machine.matches.bound_events import BoundEvents

# By what a partial match is excluded: by nothing, by where it began, by its first event, by any of its events.
NOTHING, BEGINNING, FIRSTS, EVENTS = range(4)

_NONE = np.zeros(0, np.int64)
#: As the kernels want it: by what, up to which first event the matches of each event exclude others and those of each
#: lane so far, the events spent so far (a hash), and those spent here, sorted, each with the row since which it is.
Excluding = tuple[int, Ints, Ints, Ints, Ints, Ints]
NO_EXCLUSION: Excluding = (NOTHING, _NONE, _NONE, np.full(16, -1, np.int64), _NONE, _NONE)


class Exclusions:
    """`past` is the first event up to which others of a lane are excluded."""

    def __init__(self, taker: AfterMatchPolicy) -> None:
        self.taker = taker
        self.past = np.zeros(0, np.int64)

    def after(self, piece: EventSegment, found: list[BoundEvents]) -> Excluding:
        """What is excluded, batch after batch, when the matches taken in one are known."""
        policy = self.taker.policy
        if policy is Policy.HOLD:
            return NO_EXCLUSION
        rows = [np.maximum(bound.last - piece.base, 0) for bound in found]
        slots = self.taker.spent.slots
        if policy in (Policy.CONSUME, Policy.SKIP_TO_NEXT):
            every = policy is Policy.CONSUME
            position = np.concatenate([_NONE, *(bound.position if every else bound.first for bound in found)])
            row = np.concatenate([_NONE, *(r[b.match] if every else r for r, b in zip(rows, found, strict=True))])
            by = np.argsort(position, kind="stable")
            return EVENTS if every else FIRSTS, _NONE, _NONE, slots, position[by], row[by]
        more = int(piece.lane.max(initial=-1)) + 1 - len(self.past)
        self.past = np.pad(self.past, (0, max(0, more)), constant_values=-1)
        past_of = np.full(len(piece), -1, np.int64)
        for bound, row in zip(found, rows, strict=True):
            up_to = self.taker.excluded(bound)
            if up_to is not None and len(piece):
                np.maximum.at(past_of, row, up_to)
        return BEGINNING, past_of, self.past, slots, _NONE, _NONE


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
    first = slot_i[instance, FIRST]
    if by == BEGINNING:
        return bool(first <= excluding[2][lane])
    if is_spent(first, row, excluding):
        return True
    if by == EVENTS:
        for number in range(U(kept.size)):
            slot = kept[number]
            if not slot_null[instance, slot] and is_spent(slot_i[instance, slot], row, excluding):
                return True
        node = slot_i[instance, LAST_NODE]
        while node != -1:
            if node_step[node] < 0:  # a gap: two nodes, of which none is an event of the match
                node = parent[parent[node]]
            else:
                if is_spent(node_position[node], row, excluding):
                    return True
                node = parent[node]
    return False


# fmt: on

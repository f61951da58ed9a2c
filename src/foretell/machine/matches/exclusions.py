"""What matches that were taken exclude of what is still partial (AFTER MATCH), for those who watch.

Matches are taken after the kernel has gone through a batch; only then is known what they remove. So partial matches are
looked at afterwards: arrival lists make none before (standing.py), and where a machine has instances, a second one goes
through the events when the first is done with them.
"""

from __future__ import annotations

import numpy as np

from foretell.language.tree import Policy
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.kernels.probe import BEGINNING, EVENTS, FIRSTS, NOTHING
from foretell.machine.kernels.structs import Exclusion
from foretell.machine.matches.after_match import AfterMatchPolicy
from foretell.machine.matches.bound_events import BoundEvents

_NONE = np.zeros(0, np.int64)
#: As the kernels want it: by what, up to which first event the matches of each event exclude others and those of each
#: lane so far, the events spent so far (a hash), and those spent here, sorted, each with the row since which it is.
NO_EXCLUSION = Exclusion(NOTHING, _NONE, _NONE, np.full(16, -1, np.int64), _NONE, _NONE)


class Exclusions:
    """`past` is the first event up to which others of a lane are excluded."""

    def __init__(self, taker: AfterMatchPolicy) -> None:
        self.taker = taker
        self.past = np.zeros(0, np.int64)

    def after(self, piece: EventSegment, found: list[BoundEvents]) -> Exclusion:
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
            return Exclusion(EVENTS if every else FIRSTS, _NONE, _NONE, slots, position[by], row[by])
        more = int(piece.lane.max(initial=-1)) + 1 - len(self.past)
        self.past = np.pad(self.past, (0, max(0, more)), constant_values=-1)
        past_of = np.full(len(piece), -1, np.int64)
        for bound, row in zip(found, rows, strict=True):
            up_to = self.taker.excluded(bound)
            if up_to is not None and len(piece):
                np.maximum.at(past_of, row, up_to)
        return Exclusion(BEGINNING, past_of, self.past, slots, _NONE, _NONE)

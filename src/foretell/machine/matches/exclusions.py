"""AFTER MATCH exclusions applied to partial matches, for observers.

Matches are taken only after the kernel has run through a batch, so the partial matches that they exclude are known only
then. Observers look at partial matches afterwards: arrival lists have none before (`machine.observe.arrival_tracker`),
and for an NFA a second executor runs through the same events.
"""

from __future__ import annotations

import numpy as np

from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.kernels.probe import BEGINNING, EVENTS, FIRSTS, NOTHING
from foretell.machine.kernels.structs import Exclusion
from foretell.machine.matches.after_match import AfterMatchPolicy
from foretell.machine.matches.bound_events import BoundEvents
from foretell.plan.match_selection import Excludes

_NONE = np.zeros(0, np.int64)
NO_EXCLUSION = Exclusion(NOTHING, _NONE, _NONE, np.full(16, -1, np.int64), _NONE, _NONE)


class Exclusions:
    """`past` is the position up to which starts are excluded in each lane."""

    def __init__(self, policy: AfterMatchPolicy) -> None:
        self.policy = policy
        self.past = np.zeros(0, np.int64)

    def after(self, segment: EventSegment, taken: list[BoundEvents]) -> Exclusion:
        """The exclusions within a batch, given the events of the matches that were taken in it."""
        excludes, spent = self.policy.rule.excludes, self.policy.spent.slots
        if excludes is Excludes.NOTHING:
            return NO_EXCLUSION
        rows = [np.maximum(bound.last - segment.base, 0) for bound in taken]
        if excludes is not Excludes.EARLIER_STARTS:
            every = excludes is Excludes.SAME_EVENTS
            position = np.concatenate([_NONE, *(bound.position if every else bound.first for bound in taken)])
            row = np.concatenate([_NONE, *(r[b.match] if every else r for r, b in zip(rows, taken, strict=True))])
            by = np.argsort(position, kind="stable")
            return Exclusion(EVENTS if every else FIRSTS, _NONE, _NONE, spent, position[by], row[by])
        more = int(segment.lane.max(initial=-1)) + 1 - len(self.past)
        self.past = np.pad(self.past, (0, max(0, more)), constant_values=-1)
        past_of = np.full(len(segment), -1, np.int64)
        for bound, row in zip(taken, rows, strict=True):
            if len(segment):
                np.maximum.at(past_of, row, self.policy.excluded_starts(bound))
        return Exclusion(BEGINNING, past_of, self.past, spent, _NONE, _NONE)

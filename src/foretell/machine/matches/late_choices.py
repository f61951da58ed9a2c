"""LAST that the match alone does not settle: which matches are decided, and which wait (decision 0002, item 11).

A match waits for the window in which a later event could still take the step, for the window of a negation at its end,
and for the windows of matches that LAST would prefer, until an event breaks them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.jit import compiled
from foretell.machine.matches.after_match import FirstLastFilter
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.post_filter import NOT_BROKEN, breaking_events
from foretell.plan.match_selection import MatchSelection
from foretell.records import record

#: When a match is settled: with its last event, when a window has passed, or never (decision 0002, item 11).
AT_ONCE, LATER, NEVER = 0, 1, 2


@compiled
def settlement(late: Flags, starts: Ints, step: Ints, begins: Any, last: Ints, settles: Flags) -> tuple[Any, Any]:
    """When each match is settled and, for LATER, the time at which the window begins that has to pass.

    `late` marks matches that wait for a negation at their end; `begins` has the start of each event. `last` are the
    steps that LAST chooses for, and `settles[k]` marks the steps that settle the choice for `last[k]`. The window of
    such a choice begins with the first of the other events.
    """
    when = np.zeros(late.size, np.uint8)
    since = np.zeros(late.size, begins.dtype)
    for i in range(late.size):
        if late[i]:
            when[i], since[i] = LATER, begins[starts[i]]
        for k in range(last.size):
            bound, settled, other = False, False, -1
            for event in range(starts[i], starts[i + 1]):
                if step[event] == last[k]:
                    bound = True
                    continue
                settled = settled or settles[k, step[event]]
                if other < 0 or begins[event] < begins[other]:
                    other = event
            if not bound or settled:
                continue
            if other < 0:
                when[i] = NEVER
            elif when[i] == AT_ONCE:
                when[i], since[i] = LATER, begins[other]
            else:
                since[i] = max(since[i], begins[other])
    return when, since


@record
class Decided:
    """The state of each match: `settled` now, or it waits; `late` ones end `at` a time that has to pass."""

    settled: Flags
    waits: Flags
    late: Flags
    at: NDArray[Any]


@record
class LateChoices:
    """Decides about the matches of a subscription, with all that are of the same FIRST and LAST so far."""

    selection: MatchSelection
    first_last: FirstLastFilter

    def decide(self, matches: MatchBatch, known: int, since: NDArray[Any], now: int | float) -> Decided:
        """The first `known` matches have waited before; `since` has for each a time before which it is not decided."""
        count = len(matches)
        trails, breaks = np.zeros(count, np.bool_), np.full(count, NOT_BROKEN)
        if matches.plan.trailing and count:
            trails, breaks = breaking_events(matches)
        when, begins = self._settlement(matches, trails)
        assert self.selection.within is not None
        alive, late = (breaks == NOT_BROKEN) & (when != NEVER), when == LATER
        at = np.where(late, np.maximum(begins + self.selection.within, since), since)
        is_open = trails & alive & (matches.start + self.selection.within >= now)
        is_match = alive & ~is_open
        if not matches.plan.trailing:
            is_match[:known] = False  # each counted when it came
        self.first_last.improve(matches.bound.filter(is_match))
        blocked = is_open
        if trails.any():
            blocked, latest = self._rivals(matches, is_open, np.where(breaks == NOT_BROKEN, -1, breaks))
            waited = latest >= 0
            at[waited] = np.maximum(at[waited], matches.buffer.times(latest[waited]))
        ready = alive & ~blocked & (~late | (at < now))
        settled = ready.copy()
        settled[ready] = self.first_last.right(matches.bound.filter(ready))
        return Decided(settled, alive & ~ready, late, at)

    def _settlement(self, matches: MatchBatch, trails: Flags) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        choices, bound = self.selection.late_choices, matches.bound
        steps = len(matches.plan.positions)
        last = np.array([choice.step for choice in choices], np.int64)
        settles = np.array([choice.settled_by for choice in choices], np.bool_).reshape(len(choices), steps)
        begins = matches.buffer.starts(bound.position)
        return settlement(trails, bound.starts, bound.step, begins, last, settles)

    def _rivals(self, matches: MatchBatch, is_open: Flags, breaks: Ints) -> tuple[Flags, Ints]:
        """The matches that must wait for an open one, themselves included, and for each match the latest event that
        broke one which LAST would have preferred; -1 where there is none."""
        blocked, latest = is_open.copy(), np.full(len(matches), -1, np.int64)
        for choice in self.selection.choices:
            if not choice.first:
                match, position, rest = self.first_last.candidates(matches.bound, choice)
                order = np.lexsort((-position, rest))
                _scan_rivals(match[order], rest[order], is_open, breaks, blocked, latest)
        return blocked, latest


@compiled
def _scan_rivals(match: Ints, rest: Ints, is_open: Flags, breaks: Ints, blocked: Flags, latest: Ints) -> None:
    """Matches in the order of their rests, the last event first: each has to do with those before it of its rest."""
    waits, broken = False, -1
    for k in range(match.size):
        if k == 0 or rest[k] != rest[k - 1]:
            waits, broken = False, -1
        i = match[k]
        blocked[i] = blocked[i] or waits
        latest[i] = max(latest[i], broken)
        waits = waits or is_open[i]
        broken = max(broken, breaks[i])

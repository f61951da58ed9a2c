"""FIRST and LAST, and AFTER MATCH: which of the finished matches are taken (LANGUAGE section 3).

Both are about matches that may come batches apart, so both remember: FIRST and LAST the best event so far for otherwise
equal matches, AFTER MATCH what the matches taken so far exclude. What lies before every event that a match to come can
bind is forgotten; then only what is kept for each lane is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.jit import compiled, kernel
from foretell.language import tree
from foretell.machine.input.key_index import KeyIndex, slots_for, with_room
from foretell.machine.kernels.hash_table import slot_of
from foretell.machine.matches.bound_events import BoundEvents

#: What says of positions where their events stand: events of one rank do not follow one another.
Rank = Callable[[Ints], NDArray[Any]]

#: It is worth looking for what can be forgotten when there is twice as much as was left the last time, and this more.
_SLACK = 1024


# ── FIRST and LAST ──


@dataclass
class FirstLastFilter:
    """Of the events that would do for a step in otherwise equal matches, the first or the last.

    `rests` numbers what is otherwise equal: lane, step, then position and step of every other event.
    """

    choices: tuple[tuple[int, str], ...]
    rests: KeyIndex = field(default_factory=KeyIndex)
    best: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    left: int = 0

    def chosen(self, bound: BoundEvents) -> Flags:
        """Which matches have the right event for every such step. Each match is there once."""
        asked = [self._improve(bound, step, which) for step, which in self.choices]
        keep = np.ones(len(bound), np.bool_)
        for mine, rest in asked:
            keep[mine.match] &= self.best[rest] == mine.position
        return keep

    def _improve(self, bound: BoundEvents, step: int, which: str) -> tuple[_Mine, Ints]:
        """The events of a step, and the number of what goes with each, after they have been compared."""
        position = bound.of_step(step)
        mine = _Mine(np.flatnonzero(position >= 0), position[position >= 0])
        known = len(self.rests)
        rest = self.rests.of(*_rests(step, mine.match, bound.lane, bound.starts, bound.position, bound.step))
        self.best = with_room(self.best, len(self.rests))
        better, worst = (np.minimum, np.iinfo(np.int64).max) if which == "FIRST" else (np.maximum, -1)
        self.best[known : len(self.rests)] = worst
        better.at(self.best, rest, mine.position)
        return mine, rest

    def forget(self, oldest: int) -> None:
        """Lets go of what no match of events from a position on can be equal to."""
        if len(self.rests) < 2 * self.left + _SLACK:
            return
        starts, words = self.rests.starts[: len(self.rests) + 1], self.rests.words
        alone = np.diff(starts) == 2
        keep = alone | (words[np.where(alone, 0, starts[:-1] + 2)] >= oldest)
        self.rests.keep(keep)
        self.best = self.best[: len(keep)][keep]
        self.left = len(self.rests)

    def state(self) -> dict[str, Any]:
        return {"rests": self.rests.state(), "best": self.best[: len(self.rests)].copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.rests.restore(state["rests"])
        self.best = state["best"].copy()
        self.left = len(self.rests)


@dataclass(frozen=True)
class _Mine:
    match: Ints
    position: Ints


@compiled
def _rests(step: int, matches: Ints, lane: Ints, starts: Ints, position: Ints, steps: Ints) -> tuple[Ints, Ints]:
    """Of matches that bind a step, lane and step and then the events of all others, as words."""
    ends = np.zeros(matches.size + 1, np.int64)
    for k in range(matches.size):
        ends[k + 1] = ends[k] + 2 * (starts[matches[k] + 1] - starts[matches[k]])
    words = np.empty(ends[-1], np.int64)
    for k in range(matches.size):
        at = ends[k]
        words[at], words[at + 1] = lane[matches[k]], step
        for event in range(starts[matches[k]], starts[matches[k] + 1]):
            if steps[event] != step:
                at += 2
                words[at], words[at + 1] = position[event], steps[event]
    return ends, words


# ── LAST that nothing follows ──

#: When a match is known: with its last event, when time has passed a window, or never (decision 0002, item 11).
AT_ONCE, LATER, NEVER = 0, 1, 2


@compiled
def known(late: Flags, starts: Ints, step: Ints, begins: Any, last: Ints, settles: Flags) -> tuple[Any, Any]:
    """When each match is known, and for LATER, with which time the window begins that has to pass.

    `begins` is when each event begins. `last` are the steps that LAST chooses for; `settles[k]` tells which steps
    settle the choice for `last[k]`. Such a window begins with the first of the other events.
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


# ── AFTER MATCH ──


@dataclass
class AfterMatchPolicy:
    """Matches taken one by one, each excluding others of its lane.

    A SKIP to somewhere needs how far each lane has come; CONSUME needs the events that are spent, and SKIP TO NEXT the
    first events that are. A position is in one lane only, so they are one set for all lanes.
    """

    policy: tree.Policy
    step: int | None
    past: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    spent: Positions = field(default_factory=lambda: Positions())

    def taken(self, bound: BoundEvents, by: Ints, rank: Rank) -> Flags:
        """Which matches are taken, where they come in the order `by`."""
        match self.policy:
            case tree.Policy.HOLD:
                return np.ones(len(bound), np.bool_)
            case tree.Policy.CONSUME:
                return self.spent.take(by, bound.starts[:-1], bound.starts[1:], bound.position)
            case tree.Policy.SKIP_TO_NEXT:
                return self.spent.take(by, bound.starts[:-1], bound.starts[:-1] + 1, bound.position)
        first, to = rank(bound.first), self._skips_to(bound, rank)
        self._room(int(bound.lane.max(initial=-1)) + 1, first.dtype)
        return _skip(by, bound.lane, first, to, self.policy is tree.Policy.SKIP_PAST_LAST, self.past)

    def excluded(self, bound: BoundEvents) -> Ints | None:
        """Up to which first event, by position, each match taken excludes others; None where that is not all."""
        if self.policy is tree.Policy.SKIP_PAST_LAST:
            return bound.last
        if self.step is None:
            return None
        return bound.of_step(self.step, latest=self.policy is tree.Policy.SKIP_TO_LAST) - 1

    def _skips_to(self, bound: BoundEvents, rank: Rank) -> NDArray[Any]:
        if self.policy is tree.Policy.SKIP_PAST_LAST:
            return rank(bound.last)
        assert self.step is not None
        to = bound.of_step(self.step, latest=self.policy is tree.Policy.SKIP_TO_LAST)
        found = rank(np.where(to < 0, bound.first, to))
        return np.where(to < 0, _lowest(found.dtype), found)

    def _room(self, lanes: int, kind: np.dtype[Any]) -> None:
        self.past = with_room(self.past.astype(kind, copy=False), lanes, _lowest(kind))

    def forget(self, oldest: int) -> None:
        """Lets go of what excludes no match of events from a position on."""
        self.spent.forget(oldest)

    def state(self) -> dict[str, Any]:
        return {"past": self.past.copy(), "spent": self.spent.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.past = state["past"].copy()
        self.spent.restore(state["spent"])


def _lowest(kind: np.dtype[Any]) -> int | float:
    return -np.inf if kind == np.float64 else int(np.iinfo(np.int64).min)


@compiled
def _skip(by: Ints, lane: Ints, first: Any, to: Any, past_it: bool, past: Any) -> Flags:
    """`past` is how far each lane is excluded: that event too, or only those before it."""
    taken = np.zeros(lane.size, np.bool_)
    for i in by:
        if first[i] > past[lane[i]] or (first[i] == past[lane[i]] and not past_it):
            taken[i] = True
            past[lane[i]] = max(past[lane[i]], to[i])
    return taken


@dataclass
class Positions:
    """A set of positions. `slots` is open-addressed and at most half full; -1 is an empty one."""

    count: int = 0
    slots: Ints = field(default_factory=lambda: np.full(16, -1, np.int64))
    left: int = 0

    def take(self, by: Ints, begin: Ints, end: Ints, position: Ints) -> Flags:
        """Takes, in the order `by`, each run of positions of which none is in the set, and puts them into it."""
        taken = np.zeros(len(begin), np.bool_)
        done = 0
        while True:
            done, self.count = _take(done, by, begin, end, position, self.slots, self.count, taken)
            if done == len(by):
                return taken
            self._refill(self.members(), self.count + int(end[by[done]] - begin[by[done]]))

    def members(self) -> Ints:
        return self.slots[self.slots >= 0]

    def forget(self, oldest: int) -> None:
        if self.count >= 2 * self.left + _SLACK:
            members = self.members()
            self._refill(members[members >= oldest], 0)
            self.left = self.count

    def _refill(self, members: Ints, room: int) -> None:
        self.count = len(members)
        self.slots = np.full(slots_for(max(self.count, room)), -1, np.int64)
        _enter(members, self.slots)

    def state(self) -> Ints:
        return np.sort(self.members())

    def restore(self, state: Ints) -> None:
        self._refill(state, 0)
        self.left = self.count


@kernel
def _enter(positions: Ints, slots: Ints) -> None:
    for k in range(positions.size):
        slots[slot_of(positions[k], slots)] = positions[k]


@compiled
def _take(done: int, by: Ints, begin: Ints, end: Ints, position: Ints, slots: Ints, count: int,
          taken: Flags) -> tuple[int, int]:  # fmt: skip
    """Returns where room ran out, and how many are in the set."""
    for k in range(done, by.size):
        i = by[k]
        free = True
        for event in range(begin[i], end[i]):
            free = free and slots[slot_of(position[event], slots)] < 0
        if not free:
            continue
        if 2 * (count + end[i] - begin[i]) > slots.size:
            return k, count
        for event in range(begin[i], end[i]):
            slots[slot_of(position[event], slots)] = position[event]
        count += end[i] - begin[i]
        taken[i] = True
    return by.size, count

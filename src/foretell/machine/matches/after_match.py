"""FIRST and LAST, and AFTER MATCH: which of the finished matches are taken.

Matches may come batches apart, so both keep state: FIRST and LAST the best event so far for otherwise equal matches,
AFTER MATCH the events or starts that matches taken so far exclude. State about events that no later match can bind is
dropped; a number for each lane remains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.jit import compiled, kernel
from foretell.machine.input.key_index import KeyIndex, slots_for, with_room
from foretell.machine.kernels.hash_table import slot_of
from foretell.machine.matches.bound_events import BoundEvents
from foretell.plan.match_selection import AfterMatchRule, Excludes, StepChoice
from foretell.storage.recorded_values import FAR, array, ascending, indices, require, times

#: Ranks of the events at some positions: events of one rank are simultaneous.
Rank = Callable[[Ints], NDArray[Any]]

#: State is searched for what can be dropped when it has twice the size that remained the last time, and this more.
SLACK = 1024


# ── FIRST and LAST ──


@dataclass
class FirstLastFilter:
    """Of matches that differ only in the event of a FIRST or LAST step, keeps the one with the first or last event.

    `rests` numbers the rests, in which such matches are equal: lane, step, then position and step of all other events.
    `best` has the best event so far for each rest.
    """

    choices: tuple[StepChoice, ...]
    rests: KeyIndex = field(default_factory=KeyIndex)
    best: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    remained: int = 0

    def keep(self, bound: BoundEvents) -> Flags:
        """Marks the matches with the right event for every such step. No match may be there twice."""
        self.improve(bound)
        return self.right(bound)

    def improve(self, bound: BoundEvents) -> None:
        """Compares the events of matches with the best so far."""
        for choice in self.choices:
            _, position, rest = self.candidates(bound, choice)
            (np.minimum if choice.first else np.maximum).at(self.best, rest, position)

    def right(self, bound: BoundEvents) -> Flags:
        """Marks the matches that have the best event so far, or a better one, for every such step."""
        right = np.ones(len(bound), np.bool_)
        for choice in self.choices:
            match, position, rest = self.candidates(bound, choice)
            right[match] &= position <= self.best[rest] if choice.first else position >= self.best[rest]
        return right

    def candidates(self, bound: BoundEvents, choice: StepChoice) -> tuple[Ints, Ints, Ints]:
        """The matches that bind the step of a choice, with the positions of its events and their rests."""
        positions = bound.of_step(choice.step)
        match = np.flatnonzero(positions >= 0)
        known = len(self.rests)
        rest = self.rests.number(*_rests(choice.step, match, bound.lane, bound.starts, bound.position, bound.step))
        self.best = with_room(self.best, len(self.rests))
        self.best[known : len(self.rests)] = np.iinfo(np.int64).max if choice.first else -1
        return match, positions[match], rest

    def forget(self, oldest: int) -> None:
        """Drops the rests that no match of events from position `oldest` on can have."""
        if len(self.rests) < 2 * self.remained + SLACK:
            return
        starts, words = self.rests.starts[: len(self.rests) + 1], self.rests.words
        alone = np.diff(starts) == 2
        keep = alone | (words[np.where(alone, 0, starts[:-1] + 2)] >= oldest)
        self.rests.keep(keep)
        self.best = self.best[: len(keep)][keep]
        self.remained = len(self.rests)

    @property
    def needed_lanes(self) -> Ints:
        """The lanes of rests without events: there a choice is for good."""
        starts = self.rests.starts[: len(self.rests) + 1]
        return np.asarray(self.rests.words[starts[:-1][np.diff(starts) == 2]], np.int64)

    def state(self) -> dict[str, Any]:
        return {"rests": self.rests.state(), "best": self.best[: len(self.rests)].copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.rests.restore(state["rests"], least=2)
        self.best = array(state["best"], np.int64, (len(self.rests),), "the events of FIRST and LAST").copy()
        self.remained = len(self.rests)


@compiled
def _rests(step: int, matches: Ints, lane: Ints, starts: Ints, position: Ints, steps: Ints) -> tuple[Ints, Ints]:
    """The rests of matches that bind a step, as words: lane and step, then the events of all other steps."""
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


# ── AFTER MATCH ──


@dataclass
class AfterMatchPolicy:
    """Takes matches one by one; each one taken excludes others of its lane, as the rule says.

    Rules that exclude earlier starts keep in `past` how far each lane is excluded; the others keep in `spent` the
    events, or first events, of matches taken. A position lies in one lane, so `spent` is one set for all lanes.
    """

    rule: AfterMatchRule
    past: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    spent: PositionSet = field(default_factory=lambda: PositionSet())

    def take(self, bound: BoundEvents, by: Ints, rank: Rank) -> Flags:
        """Marks the matches that are taken, if they come in the order `by`."""
        match self.rule.excludes:
            case Excludes.NOTHING:
                return np.ones(len(bound), np.bool_)
            case Excludes.SAME_EVENTS:
                return self.spent.add_disjoint(by, bound.starts[:-1], bound.starts[1:], bound.position)
            case Excludes.SAME_START:
                return self.spent.add_disjoint(by, bound.starts[:-1], bound.starts[:-1] + 1, bound.position)
        first, to = rank(bound.first), self._skip_to(bound, rank)
        self._grow(int(bound.lane.max(initial=-1)) + 1, first.dtype)
        return _skip(by, bound.lane, first, to, self.rule.skip_to is None, self.past)

    def excluded_starts(self, bound: BoundEvents) -> Ints:
        """The position up to which each taken match excludes starts, with a rule that excludes earlier starts."""
        rule = self.rule
        return bound.last if rule.skip_to is None else bound.of_step(rule.skip_to, latest=rule.latest) - 1

    def _skip_to(self, bound: BoundEvents, rank: Rank) -> NDArray[Any]:
        if self.rule.skip_to is None:
            return rank(bound.last)
        to = bound.of_step(self.rule.skip_to, latest=self.rule.latest)
        ranks = rank(np.where(to < 0, bound.first, to))
        return np.where(to < 0, _lowest(ranks.dtype), ranks)

    def excluded_past(self, lanes: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The rank up to which first events are excluded in each of so many lanes, to be read and changed."""
        self._grow(lanes, dtype)
        return self.past

    def _grow(self, lanes: int, dtype: np.dtype[Any]) -> None:
        self.past = with_room(self.past.astype(dtype, copy=False), lanes, _lowest(dtype))

    def forget(self, oldest: int) -> None:
        """Drops events that no match of events from position `oldest` on can bind."""
        self.spent.forget(oldest)

    def free_lanes(self, freed: Ints) -> None:
        """Excludes nothing in lanes that begin anew."""
        self.past[freed[freed < len(self.past)]] = _lowest(self.past.dtype)

    def state(self) -> dict[str, Any]:
        return {"past": self.past.copy(), "spent": self.spent.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        past = state["past"]
        require(isinstance(past, np.ndarray), "what AFTER MATCH excludes")
        dtype = np.float64 if past.dtype.kind == "f" else np.int64
        self.past = times(past, dtype, (None,), "what AFTER MATCH excludes").copy()
        self.spent.restore(state["spent"])


def _lowest(dtype: np.dtype[Any]) -> int | float:
    return -np.inf if dtype == np.float64 else int(np.iinfo(np.int64).min)


@compiled
def _skip(by: Ints, lane: Ints, first: Any, to: Any, inclusive: bool, past: Any) -> Flags:
    """`past` is the rank up to which starts are excluded in each lane; `inclusive`: starts of that rank too."""
    taken = np.zeros(lane.size, np.bool_)
    for i in by:
        if first[i] > past[lane[i]] or (first[i] == past[lane[i]] and not inclusive):
            taken[i] = True
            past[lane[i]] = max(past[lane[i]], to[i])
    return taken


@dataclass
class PositionSet:
    """A set of positions in an open-addressed table, at most half full; -1 marks a free slot."""

    count: int = 0
    slots: Ints = field(default_factory=lambda: np.full(16, -1, np.int64))
    remained: int = 0

    def add_disjoint(self, by: Ints, begin: Ints, end: Ints, position: Ints) -> Flags:
        """Adds, in the order `by`, each range of positions that is disjoint from the set; marks those ranges."""
        taken = np.zeros(len(begin), np.bool_)
        done = 0
        while True:
            done, self.count = _add_disjoint(done, by, begin, end, position, self.slots, self.count, taken)
            if done == len(by):
                return taken
            self._refill(self.members(), self.count + int(end[by[done]] - begin[by[done]]))

    def members(self) -> Ints:
        return self.slots[self.slots >= 0]

    def forget(self, oldest: int) -> None:
        if self.count >= 2 * self.remained + SLACK:
            members = self.members()
            self._refill(members[members >= oldest], 0)
            self.remained = self.count

    def _refill(self, members: Ints, room: int) -> None:
        self.count = len(members)
        self.slots = np.full(slots_for(max(self.count, room)), -1, np.int64)
        _insert(members, self.slots)

    def state(self) -> Ints:
        return np.sort(self.members())

    def restore(self, state: Ints) -> None:
        members = indices(state, FAR, "the events that AFTER MATCH excludes")
        ascending(members, "the events that AFTER MATCH excludes")
        self._refill(members, 0)
        self.remained = self.count


@kernel
def _insert(positions: Ints, slots: Ints) -> None:
    for k in range(positions.size):
        slots[slot_of(positions[k], slots)] = positions[k]


@compiled
def _add_disjoint(done: int, by: Ints, begin: Ints, end: Ints, position: Ints, slots: Ints, count: int,
          taken: Flags) -> tuple[int, int]:  # fmt: skip
    """Returns the range at which room ran out, and the size of the set."""
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

"""FIRST and LAST, and AFTER MATCH: which of the finished matches are taken (LANGUAGE section 3).

Both are about matches that may come batches apart, so both remember: FIRST and LAST the best event so far for otherwise
equal matches, AFTER MATCH what the matches taken so far exclude.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretell.compiled import compiled
from foretell.language import tree

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class One:
    """A finished match by itself. `order` is when it was completed.

    `rank` says of a position where its event stands: events of one rank do not follow one another.
    """

    index: int
    lane: int
    bound: tuple[tuple[int, int], ...]  # (position, step), by position
    order: tuple[int | float, ...]
    rank: Callable[[int], int | float]

    @property
    def first(self) -> int:
        return self.bound[0][0]

    @property
    def last(self) -> int:
        return self.bound[-1][0]

    @property
    def taking(self) -> tuple[object, ...]:
        """The order in which matches are taken."""
        return self.order, [p for p, _ in self.bound], [s for _, s in self.bound]

    def of(self, step: int) -> list[int]:
        return [p for p, s in self.bound if s == step]


@dataclass
class Chooser:
    """Of the events that would do for a step in otherwise equal matches, the first or the last."""

    choices: tuple[tuple[int, str], ...]
    best: dict[tuple[object, ...], int] = field(default_factory=dict)

    def chosen(self, matches: list[One]) -> list[One]:
        for match in matches:
            for step, which in self.choices:
                mine = match.of(step)
                if mine:
                    better = min if which == "FIRST" else max
                    key = self._rest(match, step)
                    self.best[key] = better(self.best.get(key, mine[0]), mine[0])
        return [m for m in matches if all(self._is_best(m, step) for step, _ in self.choices)]

    def _is_best(self, match: One, step: int) -> bool:
        mine = match.of(step)
        return not mine or self.best[self._rest(match, step)] == mine[0]

    def _rest(self, match: One, step: int) -> tuple[object, ...]:
        return match.lane, step, tuple(b for b in match.bound if b[1] != step)


@dataclass
class Taker:
    """Matches taken one by one, each excluding others of its lane."""

    policy: tree.Policy
    step: int | None
    past: Ints = field(default_factory=lambda: np.full(16, -1, np.int64))
    ranks: dict[int, int | float] = field(default_factory=dict)
    firsts: set[tuple[int, int]] = field(default_factory=set)
    consumed: set[tuple[int, int]] = field(default_factory=set)

    def taken(self, matches: Sequence[One]) -> list[One]:
        return [m for m in matches if self._take(m)]

    def past_last(self, lane: Ints, first: Ints, last: Ints) -> Flags:
        """SKIP PAST LAST for many at once, which stand in the order in which they are taken."""
        self._room(max(int(lane.max(initial=0)), *self.ranks, 0))
        for one, rank in self.ranks.items():
            self.past[one] = max(self.past[one], rank)
        self.ranks.clear()
        return _past_last(lane, first, last, self.past)

    def _room(self, lane: int) -> None:
        if lane >= len(self.past):
            self.past = np.concatenate([self.past, np.full(max(lane + 1, len(self.past)), -1, np.int64)])

    def _take(self, match: One) -> bool:
        match self.policy:
            case tree.Policy.HOLD:
                return True
            case tree.Policy.CONSUME:
                mine = {(match.lane, p) for p, _ in match.bound}
                if mine & self.consumed:
                    return False
                self.consumed |= mine
            case tree.Policy.SKIP_TO_NEXT:
                if (match.lane, match.first) in self.firsts:
                    return False
                self.firsts.add((match.lane, match.first))
            case tree.Policy.SKIP_PAST_LAST:
                if match.rank(match.first) <= self._rank(match):
                    return False
                self.ranks[match.lane] = max(self._rank(match), match.rank(match.last))
            case tree.Policy.SKIP_TO_FIRST | tree.Policy.SKIP_TO_LAST:
                if match.rank(match.first) < self._rank(match):
                    return False
                assert self.step is not None
                events = match.of(self.step)
                if events:
                    to = events[0] if self.policy is tree.Policy.SKIP_TO_FIRST else events[-1]
                    self.ranks[match.lane] = max(self._rank(match), match.rank(to))
        return True

    def _rank(self, match: One) -> int | float:
        """How far matches of the lane are excluded; `past_last` has written it down as a position."""
        past = self.past[match.lane] if match.lane < len(self.past) else -1
        return max(self.ranks.get(match.lane, -math.inf), past if past >= 0 else -math.inf)


@compiled
def _past_last(lane: Ints, first: Ints, last: Ints, past: Ints) -> Flags:
    taken = np.zeros(lane.size, np.bool_)
    for i in range(lane.size):
        if first[i] > past[lane[i]]:
            taken[i] = True
            past[lane[i]] = max(past[lane[i]], last[i])
    return taken

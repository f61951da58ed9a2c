"""FIRST, LAST and AFTER MATCH in arrays against a plain evaluation, on random matches in random batches."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from foretell.language.tree import Policy
from foretell.machine.matches import after_match
from foretell.machine.matches.after_match import AfterMatchPolicy, FirstLastFilter, PositionSet
from foretell.machine.matches.bound_events import BoundEvents
from foretell.plan.match_selection import StepChoice, after_match_rule

STEPS = 4
SEEDS = range(150)


@dataclass(frozen=True)
class Match:
    """`bound` is (position, step), by position; `order` is when it was completed."""

    lane: int
    bound: tuple[tuple[int, int], ...]
    order: tuple[int, ...]

    def of(self, step: int) -> list[int]:
        return [p for p, s in self.bound if s == step]

    @property
    def taking(self) -> Any:
        return self.order, [p for p, _ in self.bound], [s for _, s in self.bound]


@dataclass
class PlainChooser:
    choices: tuple[tuple[int, str], ...]
    best: dict[Any, int] = field(default_factory=dict)

    def chosen(self, matches: list[Match]) -> list[bool]:
        for match in matches:
            for step, which in self.choices:
                for mine in match.of(step):
                    key = self._rest(match, step)
                    self.best[key] = (min if which == "FIRST" else max)(self.best.get(key, mine), mine)
        return [all(self.best[self._rest(m, s)] == p for s, _ in self.choices for p in m.of(s)) for m in matches]

    def _rest(self, match: Match, step: int) -> Any:
        return match.lane, step, tuple(b for b in match.bound if b[1] != step)


@dataclass
class PlainTaker:
    policy: Policy
    step: int
    rank: Callable[[int], int | float]
    taken: list[Match] = field(default_factory=list)

    def take(self, matches: list[Match]) -> list[Match]:
        before = len(self.taken)
        for match in sorted(matches, key=lambda m: m.taking):
            if not any(self._removes(earlier, match) for earlier in self.taken):
                self.taken.append(match)
        return self.taken[before:]

    def _removes(self, taken: Match, other: Match) -> bool:
        if taken.lane != other.lane:
            return False
        first = self.rank(other.bound[0][0])
        match self.policy:
            case Policy.CONSUME:
                return bool({p for p, _ in taken.bound} & {p for p, _ in other.bound})
            case Policy.SKIP_TO_NEXT:
                return taken.bound[0][0] == other.bound[0][0]
            case Policy.SKIP_PAST_LAST:
                return first <= self.rank(taken.bound[-1][0])
            case Policy.SKIP_TO_FIRST:
                return any(first < self.rank(p) for p in taken.of(self.step)[:1])
            case Policy.SKIP_TO_LAST:
                return any(first < self.rank(p) for p in taken.of(self.step)[-1:])
        return False


@pytest.fixture(autouse=True)
def forgets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_match, "SLACK", 0)


def batches(chance: random.Random, *, repeated: bool) -> list[tuple[int, list[Match]]]:
    """Batches of matches, each with a position before which neither it nor a later one binds anything."""
    found, oldest = [], 0
    for _ in range(chance.randint(1, 5)):
        last = oldest + chance.randint(3, 9)
        matches = {_match(chance, oldest, last, repeated) for _ in range(chance.randint(0, 25))}
        found.append((oldest, list(matches)))
        oldest = chance.randint(oldest, last)
    return found


def _match(chance: random.Random, oldest: int, last: int, repeated: bool) -> Match:
    lane = chance.randint(0, 2)
    # Every third position is in the same lane.
    positions = [p for p in range(oldest, last + 6) if p % 3 == lane]
    count = chance.randint(1, min(len(positions), STEPS))
    steps = [chance.randrange(STEPS) for _ in range(count)] if repeated else chance.sample(range(STEPS), count)
    return Match(
        lane,
        tuple(zip(sorted(chance.sample(positions, count)), steps)),
        (chance.randint(0, 3), chance.randint(-2, 2), -1),
    )


def bound_of(matches: list[Match]) -> BoundEvents:
    events = [b for m in matches for b in m.bound]
    return BoundEvents(
        np.array([m.lane for m in matches], np.int64),
        np.cumsum([0, *(len(m.bound) for m in matches)]),
        np.array([p for p, _ in events], np.int64),
        np.array([s for _, s in events], np.int64),
    )


def order_of(matches: list[Match]) -> Any:
    return bound_of(matches).order(list(np.array([m.order for m in matches], np.int64).reshape(-1, 3).T))


def _planned(choices: tuple[tuple[int, str], ...]) -> tuple[StepChoice, ...]:
    return tuple(StepChoice(step, which == "FIRST") for step, which in choices)


def restored(old: Any, new: Any) -> Any:
    """What was written down, in one that knows nothing yet."""
    new.restore(old.state())
    return new


def test_order_of_taking() -> None:
    for seed in SEEDS:
        matches = [m for _, group in batches(random.Random(seed), repeated=True) for m in group]
        assert [matches[i] for i in order_of(matches)] == sorted(matches, key=lambda m: m.taking)


def test_two_ways_to_the_same_bindings_are_one_match() -> None:
    for seed in SEEDS:
        chance = random.Random(seed)
        matches = [m for _, group in batches(chance, repeated=True) for m in group]
        matches = chance.choices(matches, k=2 * len(matches)) if matches else []
        seen = [(m.lane, m.bound) for m in matches]
        assert bound_of(matches).distinct().tolist() == [item not in seen[:i] for i, item in enumerate(seen)]


@pytest.mark.parametrize("policy", [policy for policy in Policy if policy is not Policy.LONGEST])
@pytest.mark.parametrize("ranked", ["position", "instant", "float instant"])
def test_after_match(policy: Policy, ranked: str) -> None:
    for seed in SEEDS:
        chance = random.Random(seed)
        times = np.cumsum([chance.randint(0, 1) for _ in range(100)]) - 5
        ranks = {"position": np.arange(100), "instant": times, "float instant": times / 4}[ranked]
        plain = PlainTaker(policy, 1, lambda p, ranks=ranks: ranks[p].item())  # type: ignore[misc]
        rule = after_match_rule(policy, 1)
        taker = AfterMatchPolicy(rule)
        for oldest, matches in batches(chance, repeated=True):
            taker = restored(taker, AfterMatchPolicy(rule)) if chance.random() < 0.3 else taker
            taker.forget(oldest)
            keep = taker.take(bound_of(matches), order_of(matches), lambda p, ranks=ranks: ranks[p])  # type: ignore[misc]
            expected = plain.take(matches)
            assert [m for m, kept in zip(matches, keep) if kept] == [m for m in matches if m in expected]


@pytest.mark.parametrize("choices", [((1, "FIRST"),), ((2, "LAST"),), ((0, "FIRST"), (1, "LAST"), (3, "FIRST"))])
def test_first_and_last(choices: tuple[tuple[int, str], ...]) -> None:
    for seed in SEEDS:
        chance = random.Random(seed)
        plain, chooser = PlainChooser(choices), FirstLastFilter(_planned(choices))
        for oldest, matches in batches(chance, repeated=False):
            chooser = restored(chooser, FirstLastFilter(_planned(choices))) if chance.random() < 0.3 else chooser
            chooser.forget(oldest)
            assert chooser.keep(bound_of(matches)).tolist() == plain.chosen(matches)


def test_what_cannot_matter_is_forgotten() -> None:
    taker, chooser, left = (
        AfterMatchPolicy(after_match_rule(Policy.CONSUME, None)),
        FirstLastFilter((StepChoice(0, True),)),
        [],
    )
    for oldest in range(0, 4000, 4):
        matches = [Match(0, ((oldest, 0), (oldest + 1, 1)), (oldest,))]
        taker.take(bound_of(matches), np.zeros(1, np.int64), lambda p: p)
        chooser.keep(bound_of(matches))
        taker.forget(oldest)
        chooser.forget(oldest)
        left.append((taker.spent.count, len(chooser.rests)))
    assert max(left) < (8, 8)
    assert len(taker.state()["spent"]) < 8
    assert len(chooser.state()["best"]) < 8


def test_very_many_positions_in_one_set() -> None:
    """The table grows in the middle of a batch, and in the middle of what it takes."""
    chance = np.random.default_rng(1)
    begin = np.arange(0, 60_000, 3)
    position = chance.integers(0, 90_000, 60_000)
    spent, expected = set[int](), []
    for triple in position.reshape(-1, 3).tolist():
        expected.append(not spent & set(triple) and len(set(triple)) == 3)
        spent |= set(triple) if expected[-1] else set()
    by = np.flatnonzero([len(set(triple)) == 3 for triple in position.reshape(-1, 3).tolist()])
    positions = PositionSet()
    assert positions.add_disjoint(by, begin, begin + 3, position).tolist() == expected
    assert positions.state().tolist() == sorted(spent)

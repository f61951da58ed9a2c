"""The configurations of a correlation machine that events can lead to: sets of active states with counters.

Every transition emits a token of its own here, so that one search shows which transitions are ever taken. The kernel of
the concurrent form computes the successors: they are those of the engine.

A bounded repetition has a counter, and a configuration for each of its values. With `free` counters a repetition may be
in its last round or before it at any time: there are few configurations then, and all that can happen does happen in
one of them, but perhaps more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.check.deadline import Deadline
from foretell.correlate.concurrent_run import run_lanes
from foretell.correlate.construction import correlation_machine
from foretell.correlate.correlation_machine import MachineModule, MachineTransition
from foretell.correlate.flat_machine import FlatMachine, flat_machine
from foretell.language import tree
from foretell.machine.kernels.correlation import LaneStates
from foretell.records import record

#: More moves between configurations are not looked at, nor more cells of states.
MOST_MOVES = 40_000
_MOST_CELLS = 1 << 25

#: With more rounds the values of a counter come one after the other, for long: fewer moves are looked at.
_MANY_ROUNDS = 256
_MOST_ROUND_MOVES = 6_000

#: More counters are not set free: there is a letter for each combination of last rounds.
_MOST_FREE = 6


@record
class Move:
    """The configuration after a letter, and the transitions taken, by their number in the machine."""

    target: int
    taken: tuple[int, ...]


class TracedMachine:
    """A machine whose transitions emit their own numbers, in the order in which it takes them."""

    def __init__(self, expression: tree.Correlation) -> None:
        self.machine = correlation_machine(expression)
        self.transitions: list[tuple[MachineModule, MachineTransition]] = []
        self.flat: FlatMachine = flat_machine(replace(self.machine, module=self._traced(self.machine.module)))
        self._number = [int(token) for token in self.flat.tokens]

    def _traced(self, module: MachineModule) -> MachineModule:
        ranks = tuple(tuple(self._traced(part) for part in rank) for rank in module.ranks)
        if not module.ranks:
            return module
        own = []
        for transition in module.own:
            own.append(replace(transition, token=str(len(self.transitions))))
            self.transitions.append((module, transition))
        return replace(module, ranks=ranks, own=tuple(own))

    @property
    def steps(self) -> tuple[str, ...]:
        return self.flat.machine.steps

    @cached_property
    def rounds(self) -> list[int]:
        """The rounds of each counter."""
        found = [1] * self.machine.counters
        for _, transition in self.transitions:
            if transition.round is not None:
                found[transition.round.counter] = transition.round.rounds
        return found

    def tokens(self, taken: Sequence[int]) -> tuple[str, ...]:
        """The tokens of the machine itself."""
        found = (self.transitions[number][1].token for number in taken)
        return tuple(token for token in found if token is not None)

    def moves(
        self, active: NDArray[np.uint8], counters: Ints, satisfied: NDArray[np.uint8]
    ) -> tuple[LaneStates, list[tuple[int, ...]]]:
        """The configurations after an event each, and the transitions taken. `satisfied` has a row for each step."""
        states = LaneStates(active, counters)
        row, token = run_lanes(self.flat, np.arange(len(active)), satisfied, states)
        starts = np.searchsorted(row, np.arange(len(active) + 1)).tolist()
        numbers = [self._number[code] for code in token.tolist()]
        return states, [tuple(numbers[starts[r] : starts[r + 1]]) for r in range(len(active))]


@record
class MachineAlphabet:
    """For each letter the steps of the machine that it satisfies, as a column."""

    satisfied: NDArray[np.uint8]

    @property
    def size(self) -> int:
        return int(self.satisfied.shape[1])


class Configurations:
    """Configurations by number, breadth first; `moves` has those by letter of each that was expanded.

    `complete`: all were. `reason` says why not. With `free` counters a letter has a move for each choice of the
    counters that are in their last round.
    """

    def __init__(
        self, traced: TracedMachine, letters: MachineAlphabet, deadline: Deadline, *, free: bool = False
    ) -> None:
        self.traced, self.letters, self._free = traced, letters, free
        self._choices = self._last_rounds() if free else 1
        self.moves: list[list[Move]] = []
        self.before: list[tuple[int, int] | None] = [None]
        self.reason = ""
        self._numbers: dict[bytes, int] = {}
        self._found: list[tuple[NDArray[np.uint8], Ints]] = []
        active, counters = traced.flat.initial()
        self._numbers[self._name(active, counters)] = 0
        self._found.append((active, counters))
        if self._choices:
            self._search(deadline)
        else:
            self.reason = "it counts rounds in too many places"

    def __len__(self) -> int:
        return len(self._found)

    @property
    def complete(self) -> bool:
        return not self.reason

    def active(self, number: int) -> NDArray[np.uint8]:
        return self._found[number][0]

    @cached_property
    def ever_active(self) -> NDArray[np.bool_]:
        """The states that are active in some configuration."""
        return np.asarray(np.stack([active for active, _ in self._found]).any(axis=0))

    def path(self, number: int) -> tuple[int, ...]:
        """The letters of a shortest way to a configuration."""
        found = list[int]()
        step = self.before[number]
        while step is not None:
            number, letter = step
            found.append(letter)
            step = self.before[number]
        return tuple(reversed(found))

    def _last_rounds(self) -> int:
        """The number of choices of the counters that are in their last round; 0 where they are too many."""
        counted = [counter for counter, rounds in enumerate(self.traced.rounds) if rounds > 1]
        if len(counted) > _MOST_FREE:
            return 0
        rows = list(product((False, True), repeat=len(counted)))
        self._chosen: Ints = np.zeros((len(rows), self.traced.machine.counters), np.int64)
        for row, choice in enumerate(rows):
            for counter, is_last in zip(counted, choice, strict=True):
                self._chosen[row, counter] = self.traced.rounds[counter] - 1 if is_last else 0
        return len(rows)

    @property
    def _most_moves(self) -> int:
        many = not self._free and max(self.traced.rounds, default=1) > _MANY_ROUNDS
        return min(_MOST_ROUND_MOVES if many else MOST_MOVES, _MOST_CELLS // max(1, self.traced.machine.states))

    def _search(self, deadline: Deadline) -> None:
        while len(self.moves) < len(self._found):
            first, end = len(self.moves), len(self._found)
            if end * self.letters.size * self._choices > self._most_moves:
                self.reason = "it has too many configurations"
            elif deadline.is_over:
                self.reason = "the search takes too long"
            if self.reason:
                return
            self._expand(range(first, end))

    def _expand(self, level: range) -> None:
        """The moves of some configurations: for each letter one for each choice of the counters."""
        size = self.letters.size * self._choices
        active = np.repeat(np.stack([self._found[n][0] for n in level]), size, axis=0)
        satisfied = np.tile(np.repeat(self.letters.satisfied, self._choices, axis=1), len(level))
        if self._free:
            counters = np.tile(self._chosen, (len(level) * self.letters.size, 1))
        else:
            counters = np.repeat(np.stack([self._found[n][1] for n in level]), size, axis=0)
        states, taken = self.traced.moves(active, counters, np.ascontiguousarray(satisfied))
        for number in level:
            row = (number - level.start) * size
            own = []
            for place in range(size):
                before = (number, place // self._choices)
                target = self._number(before, states.active[row + place], states.counters[row + place])
                own.append(Move(target, taken[row + place]))
            self.moves.append(own)

    def _number(self, before: tuple[int, int], active: NDArray[np.uint8], counters: Ints) -> int:
        number = self._numbers.setdefault(self._name(active, counters), len(self._found))
        if number == len(self._found):
            self._found.append((active.copy(), counters.copy()))
            self.before.append(before)
        return number

    def _name(self, active: NDArray[np.uint8], counters: Ints) -> bytes:
        return active.tobytes() if self._free else active.tobytes() + counters.tobytes()

    def letter_of(self, place: int) -> int:
        """The letter of a move."""
        return place // self._choices


def machine_alphabet(steps: Sequence[str], letters: Sequence[Mapping[str, bool]]) -> MachineAlphabet:
    """The alphabet of a machine from the steps that each letter satisfies."""
    rows = [[letter[step] for letter in letters] for step in steps]
    return MachineAlphabet(np.array(rows, np.uint8).reshape(len(steps), len(letters)))

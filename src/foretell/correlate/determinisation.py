"""Determinisation: each configuration of a machine that can be reached is one state (ECL section 6, Optimization).

A configuration is a set of active states with the values of counters. It looks at the steps that its readers read, and
has a transition for each set of these that an event may satisfy. The concurrent form runs one event on each of them, so
that both forms mean the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.correlate.concurrent_run import run_lanes
from foretell.correlate.flat_machine import FlatMachine
from foretell.machine.kernels.correlation import LaneStates
from foretell.records import record

#: More transitions are not worth their memory, and take long to find.
MOST_TRANSITIONS = 1 << 14

#: The states of a machine, once for each transition: as much is looked at, and takes as many bytes.
_MOST_CELLS = 1 << 25

#: Each round of a bounded repetition is a state of its own: more are counted.
MOST_ROUNDS = 256


@record
class DeterminisedMachine:
    """`steps` are the numbers of those that each state looks at; `following` and `outputs` have its transitions, by
    the set of these steps that an event satisfies, the first as the lowest bit. `states` has the configuration of each
    state. An output is the number of a tuple of `outputs_of`, of which the first is empty."""

    states: LaneStates
    steps: tuple[tuple[int, ...], ...]
    following: tuple[Ints, ...]
    outputs: tuple[Ints, ...]
    outputs_of: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def transitions(self) -> int:
        return sum(map(len, self.following))


def determinised(flat: FlatMachine, most: int = MOST_TRANSITIONS) -> DeterminisedMachine | None:
    """The determinised machine; None where it would have more than `most` transitions."""
    if any(t.round is not None and t.round.rounds > MOST_ROUNDS for t in flat.machine.transitions):
        return None
    return _Determinisation(flat, most).machine()


class _Determinisation:
    def __init__(self, flat: FlatMachine, most: int) -> None:
        self._flat, self._most = flat, min(most, _MOST_CELLS // flat.machine.states)
        self._numbers: dict[bytes, int] = {}
        self._configurations: list[tuple[NDArray[np.uint8], Ints]] = []
        self._outputs: dict[tuple[int, ...], int] = {(): 0}
        tables = flat.tables
        self._read_at = [
            tables.waiting[tables.reader[tables.readers_of[step] : tables.readers_of[step + 1]]]
            for step in range(len(flat.machine.steps))
        ]

    def machine(self) -> DeterminisedMachine | None:
        steps, following, outputs = list[tuple[int, ...]](), list[Ints](), list[Ints]()
        self._number(*self._flat.initial())
        transitions = 0
        while len(steps) < len(self._configurations):
            found = self._configurations[len(steps) :]
            looks = [self._looks_at(active) for active, _ in found]
            transitions += sum(1 << len(at) for at in looks)
            if transitions > self._most:
                return None
            steps += looks
            for successors, emitted in self._moves(found, looks):
                following.append(successors)
                outputs.append(emitted)
        active, counters = (np.stack([c[part] for c in self._configurations]) for part in range(2))
        states = LaneStates(active, counters)
        return DeterminisedMachine(states, tuple(steps), tuple(following), tuple(outputs), tuple(self._outputs))

    def _number(self, active: NDArray[np.uint8], counters: Ints) -> int:
        name = active.tobytes() + counters.tobytes()
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self._configurations.append((active, counters))
        return self._numbers[name]

    def _looks_at(self, active: NDArray[np.uint8]) -> tuple[int, ...]:
        return tuple(step for step, at in enumerate(self._read_at) if active[at].any())

    def _moves(
        self, found: Sequence[tuple[NDArray[np.uint8], Ints]], looks: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[Ints, Ints]]:
        """The successors and the outputs of configurations."""
        sizes = [1 << len(steps) for steps in looks]
        active, counters = (np.repeat(np.stack([c[part] for c in found]), sizes, axis=0) for part in range(2))
        satisfied = np.zeros((len(self._read_at), len(active)), np.uint8)
        first = 0
        for steps, size in zip(looks, sizes, strict=True):
            for bit, step in enumerate(steps):
                satisfied[step, first : first + size] = np.arange(size) >> bit & 1
            first += size
        states = LaneStates(active, counters)
        row, token = run_lanes(self._flat, np.arange(len(active)), satisfied, states)
        starts = np.searchsorted(row, np.arange(len(active) + 1))
        first = 0
        for size in sizes:
            rows = range(first, first + size)
            successors = [self._number(states.active[r].copy(), states.counters[r].copy()) for r in rows]
            emitted = [self._output(token[starts[r] : starts[r + 1]]) for r in rows]
            yield np.array(successors), np.array(emitted)
            first += size

    def _output(self, tokens: Ints) -> int:
        return self._outputs.setdefault(tuple(tokens.tolist()), len(self._outputs))

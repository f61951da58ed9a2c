"""Minimisation: states that emit the same tokens on all sequences of events are one (Moore's refinement).

A state may look at a step that makes no difference: what it does is compared as a function of the steps that do.
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Ints
from foretell.correlate.determinisation import DeterminisedMachine
from foretell.machine.kernels.correlation import LaneStates


def minimised(machine: DeterminisedMachine) -> DeterminisedMachine:
    """The equivalent machine with the fewest states; the initial one is the first, as before."""
    return _merged(machine, _Refinement(machine).groups())


#: The steps that make a difference, and what follows by the set of them that an event satisfies: groups and outputs.
Behaviour = tuple[tuple[int, ...], bytes]


class _Refinement:
    """Groups of states, which are split until those of a group behave alike. Where one is split, its largest part keeps
    the number, and only states that lead to the others are looked at again (Hopcroft)."""

    def __init__(self, machine: DeterminisedMachine) -> None:
        self._machine = machine
        self._group: Ints = np.zeros(len(machine), np.int64)
        self._behaviour = [_behaviour(machine, state, self._group) for state in range(len(machine))]
        #: Of each group, its states by their behaviour.
        self._parts: list[dict[Behaviour, set[int]]] = [{}]
        for state, behaviour in enumerate(self._behaviour):
            self._parts[0].setdefault(behaviour, set()).add(state)
        self._leads_to: list[set[int]] = [set() for _ in range(len(machine))]
        for state, following in enumerate(machine.following):
            for successor in following.tolist():
                self._leads_to[successor].add(state)

    def groups(self) -> Ints:
        changed = self._split({0})
        while changed:
            changed = self._split(self._looked_at_again({s for state in changed for s in self._leads_to[state]}))
        return self._group

    def _looked_at_again(self, states: set[int]) -> set[int]:
        """The groups of states that behave otherwise than before."""
        groups = set[int]()
        for state in states:
            before, behaviour = self._behaviour[state], _behaviour(self._machine, state, self._group)
            if behaviour != before:
                number = int(self._group[state])
                parts = self._parts[number]
                parts[before].remove(state)
                if not parts[before]:
                    del parts[before]
                parts.setdefault(behaviour, set()).add(state)
                self._behaviour[state] = behaviour
                groups.add(number)
        return groups

    def _split(self, groups: set[int]) -> list[int]:
        """Split groups; return the states whose group has changed."""
        changed = list[int]()
        for number in sorted(groups):
            parts = self._parts[number]
            largest = max(parts, key=lambda behaviour: (len(parts[behaviour]), -min(parts[behaviour])))
            for behaviour in [b for b in parts if b != largest]:
                states = parts.pop(behaviour)
                self._group[list(states)] = len(self._parts)
                self._parts.append({behaviour: states})
                changed += states
        return changed


def _behaviour(machine: DeterminisedMachine, state: int, group: Ints) -> Behaviour:
    steps, moves = _distinguishing(machine, state, group)
    return steps, np.ascontiguousarray(moves).tobytes()


def _distinguishing(machine: DeterminisedMachine, state: int, group: Ints) -> tuple[tuple[int, ...], Ints]:
    """The steps that make a difference, and a row with the next group and the output for each set of them."""
    moves = np.stack([group[machine.following[state]], machine.outputs[state]], axis=1)
    steps = machine.steps[state]
    for step in steps:
        bit = steps.index(step)
        halves = moves.reshape(-1, 2, 1 << bit, 2)
        if np.array_equal(halves[:, 0], halves[:, 1]):
            moves = halves[:, 0].reshape(-1, 2)
            steps = steps[:bit] + steps[bit + 1 :]
    return steps, moves


def _merged(machine: DeterminisedMachine, group: Ints) -> DeterminisedMachine:
    first = np.unique(group, return_index=True)[1]
    first.sort()  # the initial state stays the first one
    number = np.empty(len(first), np.int64)
    number[group[first]] = np.arange(len(first))
    group = number[group]
    parts = [_distinguishing(machine, int(state), group) for state in first]
    states = LaneStates(machine.states.active[first], machine.states.counters[first])
    return DeterminisedMachine(
        states,
        tuple(steps for steps, _ in parts),
        tuple(moves[:, 0].copy() for _, moves in parts),
        tuple(moves[:, 1].copy() for _, moves in parts),
        machine.outputs_of,
    )

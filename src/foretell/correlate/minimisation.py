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
    group = np.zeros(len(machine), np.int64)
    count = 1
    while True:
        behaviour = [_behaviour(machine, state, group) for state in range(len(machine))]
        numbers: dict[object, int] = {}
        # Groups only split: their number says whether they have.
        refined = [numbers.setdefault((int(g), b), len(numbers)) for g, b in zip(group, behaviour, strict=True)]
        group = np.array(refined)
        if len(numbers) == count:
            return _merged(machine, group)
        count = len(numbers)


#: The steps that make a difference, and what follows by the set of them that an event satisfies: groups and outputs.
Behaviour = tuple[tuple[int, ...], bytes]


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
    _, first = np.unique(group, return_index=True)
    parts = [_distinguishing(machine, int(state), group) for state in first]
    states = LaneStates(machine.states.active[first], machine.states.counters[first])
    return DeterminisedMachine(
        states,
        tuple(steps for steps, _ in parts),
        tuple(moves[:, 0].copy() for _, moves in parts),
        tuple(moves[:, 1].copy() for _, moves in parts),
        machine.outputs_of,
    )

"""The two forms in which a correlator runs for many lanes: determinised, from tables, or concurrent.

Both keep the configuration of each lane in snapshots, so that a lane goes on where a later version chooses otherwise.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.correlate.concurrent_run import collected, concurrent_states, run_lanes
from foretell.correlate.determinisation import DeterminisedMachine
from foretell.correlate.flat_machine import FlatMachine, joined_lists
from foretell.machine.input.key_index import with_room
from foretell.machine.kernels.correlation import (
    CorrelatedEvents,
    DeterminisedTables,
    LaneStates,
    run_determinised,
)
from foretell.storage.recorded_values import require


class RunningForm(Protocol):
    """The lanes of a correlator. A lane that has seen nothing is in the initial configuration."""

    @property
    def nbytes(self) -> int: ...

    def run(self, lane: Ints, satisfied: NDArray[np.uint8], lanes: int, /) -> tuple[Ints, Ints]:
        """The event and the number of each token, where the lanes read these events; there are so many lanes."""

    def moved(self) -> Ints:
        """The lanes that are not in the initial configuration."""

    def reset(self, lanes: Ints, /) -> None:
        """Begin anew in these lanes."""

    def keep(self, lanes: Ints, /) -> None:
        """Go on with these lanes only, numbered anew in this order."""

    def configurations(self, lanes: Ints, /) -> LaneStates: ...

    def set_configurations(self, lanes: Ints, states: LaneStates, /) -> None: ...


class ConcurrentForm:
    def __init__(self, flat: FlatMachine) -> None:
        self._flat = flat
        self._states = concurrent_states(flat, 0)

    @property
    def nbytes(self) -> int:
        return self._states.active.nbytes + self._states.counters.nbytes

    def run(self, lane: Ints, satisfied: NDArray[np.uint8], lanes: int) -> tuple[Ints, Ints]:
        self._grow(lanes)
        return run_lanes(self._flat, lane, satisfied, self._states)

    def _grow(self, lanes: int) -> None:
        known = len(self._states.active)
        if lanes > known:
            more = concurrent_states(self._flat, max(lanes, known + known // 4) - known)
            self._states = LaneStates(*(np.concatenate(both) for both in zip(self._states, more, strict=True)))

    def moved(self) -> Ints:
        active, _ = self._flat.initial()
        return np.flatnonzero((self._states.active != active).any(axis=1) | self._states.counters.any(axis=1))

    def reset(self, lanes: Ints) -> None:
        known = lanes[lanes < len(self._states.active)]
        self.set_configurations(known, concurrent_states(self._flat, len(known)))

    def keep(self, lanes: Ints) -> None:
        self._states = self.configurations(lanes)

    def configurations(self, lanes: Ints) -> LaneStates:
        return LaneStates(self._states.active[lanes], self._states.counters[lanes])

    def set_configurations(self, lanes: Ints, states: LaneStates) -> None:
        self._grow(int(lanes.max(initial=-1)) + 1)
        self._states.active[lanes], self._states.counters[lanes] = states


class DeterminisedForm:
    def __init__(self, machine: DeterminisedMachine) -> None:
        self._machine = machine
        self._tables = _tables(machine)
        self._states: Ints = np.zeros(0, np.int64)  # the initial state is 0

    @property
    def nbytes(self) -> int:
        return self._states.nbytes

    def run(self, lane: Ints, satisfied: NDArray[np.uint8], lanes: int) -> tuple[Ints, Ints]:
        self._states = with_room(self._states, lanes)
        events = CorrelatedEvents(lane, satisfied)
        most = max(map(len, self._machine.outputs_of))
        return collected(
            lambda done, output: run_determinised(done, events, self._tables, self._states, output), len(lane), most
        )

    def moved(self) -> Ints:
        return np.flatnonzero(self._states)

    def reset(self, lanes: Ints) -> None:
        self._states[lanes[lanes < len(self._states)]] = 0

    def keep(self, lanes: Ints) -> None:
        self._states = self._states[lanes]

    def configurations(self, lanes: Ints) -> LaneStates:
        states = self._states[lanes]
        return LaneStates(self._machine.states.active[states], self._machine.states.counters[states])

    def set_configurations(self, lanes: Ints, states: LaneStates) -> None:
        known = {name: number for number, name in enumerate(_names(self._machine.states))}
        names = _names(states)
        require(all(name in known for name in names), "the states of a correlator")
        self._states = with_room(self._states, int(lanes.max(initial=-1)) + 1)
        self._states[lanes] = [known[name] for name in names]


def _names(states: LaneStates) -> list[bytes]:
    return [a.tobytes() + c.tobytes() for a, c in zip(states.active, states.counters, strict=True)]


def _tables(machine: DeterminisedMachine) -> DeterminisedTables:
    steps, step = joined_lists(machine.steps)
    first, following = joined_lists([found.tolist() for found in machine.following])
    _, output = joined_lists([found.tolist() for found in machine.outputs])
    tokens, token = joined_lists(machine.outputs_of)
    return DeterminisedTables(step, steps, first, following, output, tokens, token)

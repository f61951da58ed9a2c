"""Observers: forecasting's view of the runs after each event (P-ToPSS section 5.2).

The *configuration* of a process is the set of states that its runs have reached, as bits: the nearer a state is to a
match, the higher its bit. A *process* is a lane; or a lane and a value, where all events that its runs wait for must
have the value that the runs have bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Scalar, Type
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.kernels.layout import (
    EDGE_TARGET,
    NONE,
    RUN_BEGAN,
    STATE_EDGES,
    STATE_EDGES_STOP,
    STATE_WAITS,
)
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.match_plan import StatementPlan
from foretell.plan.nfa.decomposition import Decomposition, decompose
from foretell.plan.nfa.state_bits import BITS, bits_by_distance
from foretell.plan.observation import NothingObserved, ObservationPolicy


@dataclass(frozen=True)
class Sides:
    """The runs of each part of a pattern: its configuration after each event (`words`), and whether the event completed
    a match to which the part belongs."""

    parts: Decomposition
    words: NDArray[np.uint64]
    ended: Flags


@dataclass(frozen=True)
class ObservedRuns:
    """The runs of a batch, event by event: the event's process, its lane and its number there, its end, the
    configuration after it, and whether it completed a match.

    `completed` are the processes with a match that time completed after their last event of the batch. Processes are
    lanes, with these `keys`, unless `by_value` tells them apart within a lane. `sides` are there if the NFA has too
    many states to be observed exactly, and has parts.
    """

    process: Ints
    lane: Ints
    ordinal: Ints
    time: NDArray[Any]
    configuration: NDArray[np.uint64]
    matched: Flags
    completed: Ints
    by_value: bool
    keys: Sequence[Mapping[str, Scalar]]
    events: EventColumns
    strings: StringDictionary
    sides: Sides | None = None


class Observer(Protocol):
    """Makes forecasts from the runs of one subscription, or of one row of a template."""

    def observe(self, seen: ObservedRuns) -> tuple[Ints, NDArray[np.float64]]:
        """The rows of the events after which a forecast is due, and its probability of a match."""


@runtime_checkable
class PersistentObserver(Observer, Protocol):
    """An observer with state that snapshots keep. Observers for training and backtests have none."""

    def state(self) -> Mapping[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


def observer_state(watcher: Observer | None) -> dict[str, Any] | None:
    """The state of an observer for a snapshot; None if it keeps none."""
    return dict(watcher.state()) if isinstance(watcher, PersistentObserver) else None


def restore_observer(watcher: Observer | None, state: Mapping[str, Any] | None) -> None:
    if isinstance(watcher, PersistentObserver) and state is not None:
        watcher.restore(state)


class ObserverFactory(ObservationPolicy, Protocol):
    """Makes the observers of the subscriptions that its policy observes."""

    def observer(self, statement: StatementPlan) -> Observer | None:
        """A new observer of a statement, or of one row of a template; None where it is not observed."""


class NoObservers(NothingObserved):
    """Observes nothing."""

    def observer(self, _: StatementPlan) -> Observer | None:
        return None


NO_OBSERVERS = NoObservers()


@dataclass(frozen=True)
class Probe:
    """What the kernel looks for: the bit of each state, the column that tells processes apart (NONE for lanes), and the
    time conditions that a state waits to fulfil: by which state, since when (a slot), and how long. And the parts that
    are looked at besides."""

    bits: NDArray[np.uint64]
    key: int
    limits: NDArray[np.uint64]
    amounts: NDArray[Any]
    parts: Decomposition | None = None

    @property
    def part_bits(self) -> NDArray[np.uint64]:
        return np.zeros((0, 0), np.uint64) if self.parts is None else self.parts.bits

    @classmethod
    def of(cls, machine: CompiledNfa, program: SubscriptionPlan) -> Probe:
        """Of a subscription that has its machine to itself."""
        where = [(e.state, RUN_BEGAN if e.slot is None else e.slot) for e in program.expiries]
        amounts = np.array([e.amount for e in program.expiries])
        return cls(
            bits_of(machine),
            machine.process_key,
            np.array(where, np.uint64).reshape(-1, 2),
            amounts.astype(np.float64 if machine.time is Type.FLOAT else np.int64),
            decompose(program.subscription, program.automaton),
        )

    @classmethod
    def none(cls, time: Any) -> Probe:
        nothing = np.zeros(0, np.uint64)
        return cls(nothing, int(NONE), nothing.reshape(0, 2), np.zeros(0, time))


def bits_of(machine: CompiledNfa) -> NDArray[np.uint64]:
    """The bit of each state; none for one that is not on the way to a match."""
    left, far = _steps_left(machine), machine.states + 1
    waiting = {s: left[s] for s in range(machine.states) if 0 < left[s] < far or machine.tables.states[s, STATE_WAITS]}
    bits = np.zeros(machine.states, np.uint64)
    for state, bit in bits_by_distance(waiting, BITS).items():
        bits[state] = bit
    return bits


def _steps_left(machine: CompiledNfa) -> list[int]:
    """The fewest events by which a match at a state is complete."""
    edges, first = machine.tables.edges, machine.tables.states[:, [STATE_EDGES, STATE_EDGES_STOP]]
    far = machine.states + 1
    left = [far] * machine.states
    for state in range(machine.states):
        if machine.owners[state] >= 0:
            left[state] = 0
    targets = [edges[begin:end, EDGE_TARGET].tolist() for begin, end in first.tolist()]
    before: list[int] = []
    while left != before:
        before = left
        left = [min([mine, *(1 + before[t] for t in some)]) for mine, some in zip(before, targets, strict=True)]
    return left

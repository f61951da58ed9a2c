"""Observers: forecasting's view of the runs after each event (P-ToPSS section 5.2).

The *configuration* of a process is the set of states that its runs have reached, as bits: the nearer a state is to a
match, the higher its bit. A *process* is a lane; or a lane and a value, where all events that its runs wait for must
have the value that the runs have bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.events.types import Scalar, Type
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.kernels.layout import (
    EDGE_TARGET,
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
from foretell.records import record


@record
class ObservedParts:
    """The runs of each part of a pattern: [event, part] its configuration (`words`), and whether the event completed a
    match to which the part belongs (`ended`)."""

    decomposition: Decomposition
    words: Words
    ended: Flags


@record
class ObservedRuns:
    """The runs of a batch. Each event has its process, its lane and its number there, its end, the configuration after
    it, and whether it completed a match.

    `completed` are the processes with a match that time completed after their last event of the batch. Processes are
    lanes, with these `keys`, unless `by_value`: then a lane has a process for each value. `parts` is set where the NFA
    has too many states to be observed exactly, and the pattern has parts.
    """

    process: Ints
    lane: Ints
    ordinal: Ints
    time: NDArray[Any]
    configuration: Words
    matched: Flags
    completed: Ints
    by_value: bool
    keys: Sequence[Mapping[str, Scalar]]
    events: EventColumns
    strings: StringDictionary
    parts: ObservedParts | None = None


class Observer(Protocol):
    """Makes forecasts from the runs of one subscription, or of one row of a template."""

    def observe(self, runs: ObservedRuns, /) -> tuple[Ints, Floats]:
        """The rows of the events after which a forecast is due, and its probability of a match."""


@runtime_checkable
class PersistentObserver(Observer, Protocol):
    """An observer with state that snapshots keep. Observers for training and backtests have none."""

    def state(self) -> Mapping[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


def observer_state(observer: Observer | None) -> dict[str, Any] | None:
    """The state of an observer for a snapshot; None if it keeps none."""
    return dict(observer.state()) if isinstance(observer, PersistentObserver) else None


def restore_observer(observer: Observer | None, state: Mapping[str, Any] | None) -> None:
    if isinstance(observer, PersistentObserver) and state is not None:
        observer.restore(state)


class ObserverFactory(ObservationPolicy, Protocol):
    """Makes the observers of the subscriptions that its policy observes."""

    def observer(self, statement: StatementPlan) -> Observer | None:
        """A new observer of a statement, or of one row of a template; None where it is not observed."""


class NoObservers(NothingObserved):
    """Observes nothing."""

    def observer(self, _: StatementPlan) -> Observer | None:
        return None


NO_OBSERVERS = NoObservers()


@record
class Probe:
    """How a kernel observes the runs of an NFA: the bit of each state in a configuration, and the column whose value
    is the process within a lane (NONE: processes are lanes).

    A run at the state `limits[i, 0]` is of no use once the time in its slot `limits[i, 1]` is more than `amounts[i]`
    ago. `parts` are observed as well.
    """

    bits: Words
    key: int
    limits: Words
    amounts: NDArray[Any]
    parts: Decomposition | None = None

    @property
    def part_bits(self) -> Words:
        return np.zeros((0, 0), np.uint64) if self.parts is None else self.parts.bits

    @classmethod
    def of(cls, nfa: CompiledNfa, plan: SubscriptionPlan) -> Probe:
        """The probe of a subscription that shares its NFA with no other."""
        limits = [(expiry.state, RUN_BEGAN if expiry.slot is None else expiry.slot) for expiry in plan.expiries]
        amounts = np.array([expiry.amount for expiry in plan.expiries])
        return cls(
            bits=state_bits(nfa),
            key=nfa.process_key,
            limits=np.array(limits, np.uint64).reshape(-1, 2),
            amounts=amounts.astype(np.float64 if nfa.time is Type.FLOAT else np.int64),
            parts=decompose(plan.subscription, plan.automaton),
        )


def state_bits(nfa: CompiledNfa) -> Words:
    """The bit of each state; 0 for a state that no match passes through."""
    distances, unreachable = steps_to_match(nfa), nfa.states + 1
    waits = nfa.tables.states[:, STATE_WAITS]
    waiting = {
        state: distance for state, distance in enumerate(distances) if 0 < distance < unreachable or waits[state]
    }
    bits = np.zeros(nfa.states, np.uint64)
    for state, bit in bits_by_distance(waiting, BITS).items():
        bits[state] = bit
    return bits


def steps_to_match(nfa: CompiledNfa) -> list[int]:
    """The fewest events that complete a match from each state; more than there are states where none do."""
    edges, spans = nfa.tables.edges, nfa.tables.states[:, [STATE_EDGES, STATE_EDGES_STOP]]
    targets = [edges[begin:end, EDGE_TARGET].tolist() for begin, end in spans.tolist()]
    distances = [0 if nfa.owners[state] >= 0 else nfa.states + 1 for state in range(nfa.states)]
    before: list[int] = []
    while distances != before:
        before = distances
        distances = [
            min([distance, *(1 + before[target] for target in reached)])
            for distance, reached in zip(before, targets, strict=True)
        ]
    return distances

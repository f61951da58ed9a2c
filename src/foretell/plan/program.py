"""What runs: a machine as flat arrays for the kernel, and for each of its subscriptions what comes after the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.automaton import Automaton
from foretell.plan.bytecode import Linked
from foretell.plan.registers import Register

Ints = NDArray[np.int64]


class UnsupportedError(Exception):
    """A form that the compiled engine does not run."""


@dataclass(frozen=True)
class Program:
    """One subscription: what is asked of its finished matches.

    `finals` says where a match has the registers that are asked for afterwards, in the machine's output; `deferred` are
    negated steps that name what is bound after their gap, and a[i] that count by it; `leading` are the negated steps
    before the match's first event. With `remembers`, an a[i] counts in the whole lane by what only a match knows.
    """

    subscription: CheckedSubscription
    automaton: Automaton
    finals: dict[Register, int]
    leading: tuple[str, ...]
    deferred: tuple[str, ...]
    remembers: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        return self.subscription.positive

    @property
    def ambiguous(self) -> bool:
        """Whether the same events may be bound to the same steps in two ways: two edges bind one leaf at one state."""
        leaving = [(edge.source, edge.leaf.step) for edge in self.automaton.edges]
        return len(set(leaving)) < len(leaving)

    @property
    def chains(self) -> bool:
        """Whether events of repeated steps, or gaps, are kept in chains."""
        return any(s.shape.repeated for s in self.subscription.steps.values()) or bool(self.deferred)


@dataclass(frozen=True)
class Machine:
    """States and edges as the kernels read them (see foretell.plan.arrays), and what each batch must provide.

    `owners` has for each state the number of the subscription that it is a match of, or -1; `alive` whether a
    subscription that still runs goes through it.
    """

    arrays: tuple[NDArray[np.generic] | int, ...]
    updates: tuple[Ints, ...]
    code: Linked
    columns: tuple[tree.Expression, ...]
    predicates: tuple[tuple[tree.Expression, ...], ...]
    slots: int
    finals: int
    fan: tuple[int, int, int]
    owners: Ints
    alive: NDArray[np.bool_]
    strict: bool
    simultaneous: bool
    waits: bool
    chains: bool
    time: Type

    @property
    def states(self) -> int:
        return len(self.owners)

"""Correlation machines (ECL section 3): several states are active at once, and transitions take sets of states.

| here | in the paper |
| --- | --- |
| MachineTransition.enabling, reads, clears, targets, token | En, a, Clr, Tgt, o |
| MachineModule.initial, success, failure | I, s, f |
| the nesting of modules, their ranks, and the order of `own` | ≺ |

States are numbered so that those of a module are contiguous, and so are its counters: what a transition clears is a
span. A counter stands for the copies of `repeat(n)`, of which only one is active at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from foretell.records import record

State = int
States = tuple[State, ...]


@record
class StateSpan:
    """The states and the counters of a module, each from its first up to its end."""

    states: tuple[int, int]
    counters: tuple[int, int]

    @property
    def state_range(self) -> range:
        return range(*self.states)


@record
class Round:
    """A bounded repetition: a transition with it is enabled in the last of so many rounds, or in all others, which it
    counts."""

    counter: int
    rounds: int
    is_last: bool


@record
class MachineTransition:
    """Enabled when each of its enabling sets has an active state (C0). It reads an event that satisfies a step, or is
    internal."""

    enabling: tuple[States, ...]
    clears: StateSpan
    targets: States
    reads: str | None = None
    token: str | None = None
    round: Round | None = None


@record
class MachineModule:
    """A machine with two final states, made of the modules of its parts and of transitions of its `own`.

    Transitions of a part precede those of its own, and of its own each precedes those after it. Parts stand in ranks:
    those of one rank have nothing to do with each other, all of a rank precede all of the next.
    """

    name: str
    span: StateSpan
    initial: States
    ranks: tuple[tuple[MachineModule, ...], ...]
    own: tuple[MachineTransition, ...]
    success: State
    failure: State

    @property
    def parts(self) -> Iterator[MachineModule]:
        return (part for rank in self.ranks for part in rank)

    def in_postorder(self) -> Iterator[MachineModule]:
        """The modules inside, each after its parts, and this one."""
        found, todo = list[MachineModule](), [self]
        while todo:
            found.append(todo.pop())
            todo += found[-1].parts
        return reversed(found)


@record
class CorrelationMachine:
    """The machine ⟨Q, I, T, ≺⟩ of an expression. `steps` are those that it reads."""

    module: MachineModule
    steps: tuple[str, ...]

    @property
    def states(self) -> int:
        return self.module.span.states[1]

    @property
    def counters(self) -> int:
        return self.module.span.counters[1]

    @property
    def transitions(self) -> list[MachineTransition]:
        return [transition for module in self.module.in_postorder() for transition in module.own]

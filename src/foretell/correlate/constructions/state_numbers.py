"""The numbers of states and counters, and what all constructions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, States, StateSpan

#: The transitions that a construction adds: by the span inside, and the success and the failure state.
Added = Callable[[StateSpan, State, State], Sequence[MachineTransition]]


class Numbering:
    """Numbers states and counters in the order in which they are made."""

    def __init__(self) -> None:
        self.next_state = 0
        self.next_counter = 0

    def state(self) -> State:
        self.next_state += 1
        return self.next_state - 1

    def counter(self) -> int:
        self.next_counter += 1
        return self.next_counter - 1


def around(
    name: str,
    numbering: Numbering,
    ranks: Sequence[Sequence[MachineModule]],
    initial: States,
    added: Added,
) -> MachineModule:
    """The modules of the parts, which were made just before, two new final states, and the transitions added."""
    parts = [part for rank in ranks for part in rank]
    first = min(part.span.states[0] for part in parts)
    first_counter = min(part.span.counters[0] for part in parts)
    inside = StateSpan((first, numbering.next_state), (first_counter, numbering.next_counter))
    success, failure = numbering.state(), numbering.state()
    own = tuple(added(inside, success, failure))
    span = StateSpan((first, numbering.next_state), (first_counter, numbering.next_counter))
    return MachineModule(name, span, initial, tuple(map(tuple, ranks)), own, success, failure)


def initial_of(parts: Sequence[MachineModule]) -> States:
    return tuple(state for part in parts for state in part.initial)


def internal(
    *enabling: Sequence[State], clears: StateSpan, to: Sequence[State], token: str | None = None
) -> MachineTransition:
    return MachineTransition(tuple(map(tuple, enabling)), clears, tuple(to), token=token)

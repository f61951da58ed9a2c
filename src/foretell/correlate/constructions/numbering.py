"""The numbers of states and counters, and what all constructions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foretell.correlate.correlation_machine import Module, Span, State, States, Transition

#: The transitions that a construction adds: by the span inside, and the success and the failure state.
Added = Callable[[Span, State, State], Sequence[Transition]]


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
    ranks: Sequence[Sequence[Module]],
    initial: States,
    added: Added,
) -> Module:
    """The modules of the parts, which were made just before, two new final states, and the transitions added."""
    parts = [part for rank in ranks for part in rank]
    first = min(part.span.states[0] for part in parts)
    first_counter = min(part.span.counters[0] for part in parts)
    inside = Span((first, numbering.next_state), (first_counter, numbering.next_counter))
    success, failure = numbering.state(), numbering.state()
    own = tuple(added(inside, success, failure))
    span = Span((first, numbering.next_state), (first_counter, numbering.next_counter))
    return Module(name, span, initial, tuple(map(tuple, ranks)), own, success, failure)


def initial_of(parts: Sequence[Module]) -> States:
    return tuple(state for part in parts for state in part.initial)


def internal(*enabling: Sequence[State], clears: Span, to: Sequence[State], token: str | None = None) -> Transition:
    return Transition(tuple(map(tuple, enabling)), clears, tuple(to), token=token)

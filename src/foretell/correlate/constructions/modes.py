"""Modes (Fig. 7): a guard's success clears everything and starts its mode and the guards of the others.

Guards precede what runs in a mode, so that a mode is left before it sees the event. Guards are meant to exclude each
other; where two hold, the mode written first is entered.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.numbering import Numbering, around, initial_of, internal
from foretell.correlate.correlation_machine import Module, Span, State, States, Transition


def modes(numbering: Numbering, guards: Sequence[Module], bodies: Sequence[Module]) -> Module:
    def entry(number: int) -> States:
        others = [guard for other, guard in enumerate(guards) if other != number]
        return (*bodies[number].initial, *initial_of(others))

    def added(inside: Span, success: State, failure: State) -> Sequence[Transition]:
        return [internal([guard.success], clears=inside, to=entry(number)) for number, guard in enumerate(guards)]

    return around("modes", numbering, [guards, bodies], entry(0), added)

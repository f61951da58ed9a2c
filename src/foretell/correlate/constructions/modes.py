"""Modes (Fig. 7): a guard's success clears everything and starts its mode and the guards of the others.

Guards precede what runs in a mode, so that a mode is left before it sees the event. Guards are meant to exclude each
other; where two hold, the mode written first is entered.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, initial_of, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, States, StateSpan


def modes(numbering: Numbering, guards: Sequence[MachineModule], bodies: Sequence[MachineModule]) -> MachineModule:
    def entry(number: int) -> States:
        others = [guard for other, guard in enumerate(guards) if other != number]
        return (*bodies[number].initial, *initial_of(others))

    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return [internal([guard.success], clears=inside, to=entry(number)) for number, guard in enumerate(guards)]

    return around("modes", numbering, [guards, bodies], entry(0), added)

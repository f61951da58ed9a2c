"""Accumulation (Fig. 4(a)): success when all parts have succeeded, failure when one fails.

The printed τ₂ waits for the failure of both; the text has it as here.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, initial_of, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, StateSpan


def accumulate(numbering: Numbering, parts: Sequence[MachineModule]) -> MachineModule:
    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return (
            internal(*([part.success] for part in parts), clears=inside, to=[success]),
            internal([part.failure for part in parts], clears=inside, to=[failure]),
        )

    return around("accumulate", numbering, [parts], initial_of(parts), added)

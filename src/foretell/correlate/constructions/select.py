"""Selection (Fig. 4(b)): success when one part succeeds, failure when all have failed; `select*`: when one fails."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, initial_of, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, StateSpan


def select(numbering: Numbering, parts: Sequence[MachineModule], *, strict: bool) -> MachineModule:
    failures = [part.failure for part in parts]
    failed = [failures] if strict else [[failure] for failure in failures]

    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return (
            internal([part.success for part in parts], clears=inside, to=[success]),
            internal(*failed, clears=inside, to=[failure]),
        )

    return around("select*" if strict else "select", numbering, [parts], initial_of(parts), added)

"""Sequence (Fig. 5): each part starts when the one before succeeds; a failure of any is the failure of all."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, StateSpan


def sequential(numbering: Numbering, parts: Sequence[MachineModule]) -> MachineModule:
    def added(_: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        follow = [*(part.initial for part in parts[1:]), (success,)]
        return (
            *(internal([p.success], clears=p.span, to=to) for p, to in zip(parts, follow, strict=True)),
            *(internal([p.failure], clears=p.span, to=[failure]) for p in parts),
        )

    return around("sequential", numbering, [parts], parts[0].initial, added)

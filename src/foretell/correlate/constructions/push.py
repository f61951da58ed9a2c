"""push (Fig. 6(b)): emits the token on success."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, StateSpan


def push(numbering: Numbering, token: str, body: MachineModule) -> MachineModule:
    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return (
            internal([body.success], clears=inside, to=[success], token=token),
            internal([body.failure], clears=inside, to=[failure]),
        )

    return around(f"push('{token}')", numbering, [(body,)], body.initial, added)

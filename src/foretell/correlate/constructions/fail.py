"""fail, which the paper does not draw: success and failure change places."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, StateSpan


def fail(numbering: Numbering, body: MachineModule) -> MachineModule:
    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return (
            internal([body.failure], clears=inside, to=[success]),
            internal([body.success], clears=inside, to=[failure]),
        )

    return around("fail", numbering, [(body,)], body.initial, added)

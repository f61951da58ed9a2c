"""do … unless (Fig. 6(a)): as the body, but failure as soon as the stopper succeeds; its failure is ignored."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, initial_of, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, State, StateSpan


def unless(numbering: Numbering, body: MachineModule, stopper: MachineModule) -> MachineModule:
    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return (
            internal([body.success], clears=inside, to=[success]),
            internal([body.failure, stopper.success], clears=inside, to=[failure]),
        )

    return around("unless", numbering, [(body, stopper)], initial_of([body, stopper]), added)

"""push (Fig. 6(b)): emits the token on success."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.numbering import Numbering, around, internal
from foretell.correlate.correlation_machine import Module, Span, State, Transition


def push(numbering: Numbering, token: str, body: Module) -> Module:
    def added(inside: Span, success: State, failure: State) -> Sequence[Transition]:
        return (
            internal([body.success], clears=inside, to=[success], token=token),
            internal([body.failure], clears=inside, to=[failure]),
        )

    return around(f"push('{token}')", numbering, [(body,)], body.initial, added)

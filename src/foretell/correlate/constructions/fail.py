"""fail, which the paper does not draw: success and failure change places."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.numbering import Numbering, around, internal
from foretell.correlate.correlation_machine import Module, Span, State, Transition


def fail(numbering: Numbering, body: Module) -> Module:
    def added(inside: Span, success: State, failure: State) -> Sequence[Transition]:
        return (
            internal([body.failure], clears=inside, to=[success]),
            internal([body.success], clears=inside, to=[failure]),
        )

    return around("fail", numbering, [(body,)], body.initial, added)

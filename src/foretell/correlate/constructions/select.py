"""Selection (Fig. 4(b)): success when one part succeeds, failure when all have failed; `select*`: when one fails."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.numbering import Numbering, around, initial_of, internal
from foretell.correlate.correlation_machine import Module, Span, State, Transition


def select(numbering: Numbering, parts: Sequence[Module], *, strict: bool) -> Module:
    failures = [part.failure for part in parts]
    failed = [failures] if strict else [[failure] for failure in failures]

    def added(inside: Span, success: State, failure: State) -> Sequence[Transition]:
        return (
            internal([part.success for part in parts], clears=inside, to=[success]),
            internal(*failed, clears=inside, to=[failure]),
        )

    return around("select*" if strict else "select", numbering, [parts], initial_of(parts), added)

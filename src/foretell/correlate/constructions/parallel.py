"""parallel, which the paper does not draw: runs all parts, never completes."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.numbering import Numbering, around, initial_of
from foretell.correlate.correlation_machine import Module


def parallel(numbering: Numbering, parts: Sequence[Module]) -> Module:
    return around("parallel", numbering, [parts], initial_of(parts), lambda *_: ())

"""parallel, which the paper does not draw: runs all parts, never completes."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, initial_of
from foretell.correlate.correlation_machine import MachineModule


def parallel(numbering: Numbering, parts: Sequence[MachineModule]) -> MachineModule:
    return around("parallel", numbering, [parts], initial_of(parts), lambda *_: ())

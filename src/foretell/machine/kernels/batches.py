"""Batches as kernels see them, put together of the two parts that Python passes."""

from __future__ import annotations

from foretell.machine.kernels.decorators import expanded
from foretell.machine.kernels.structs import Batch, BatchEvents, Evaluated, Events


@expanded
def joined_batch(events: BatchEvents, evaluated: Evaluated) -> Batch:
    """The batch of some events and of what was evaluated for them."""
    columns = Events(events.lane, events.time, events.start, evaluated.predicates, evaluated.rows)
    return Batch(
        events.base, columns, evaluated.columns, evaluated.parameters, evaluated.code, evaluated.stack, evaluated.hits
    )

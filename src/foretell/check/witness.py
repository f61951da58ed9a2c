"""Events that show an answer, the fewest that do."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.types import Scalar
from foretell.records import record


@record
class WitnessEvent:
    """An event in the unit of its stream's time."""

    stream: str
    time: int | float
    attributes: Mapping[str, Scalar]


@record
class Witness:
    """A stream of events, in order. Time passes `until` a moment after the last event where an answer needs that."""

    events: tuple[WitnessEvent, ...]
    until: int | float | None = None

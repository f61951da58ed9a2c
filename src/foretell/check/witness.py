"""Events that show an answer, the fewest that do."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.types import Scalar
from foretell.records import record


@record
class WitnessEvent:
    """An event in the unit of its stream's time. One of a derived stream has a `start` as well where it takes time."""

    stream: str
    time: int | float
    attributes: Mapping[str, Scalar]
    start: int | float | None = None


@record
class Witness:
    """A stream of events, in order. Time passes `until` a moment after the last event where an answer needs that."""

    events: tuple[WitnessEvent, ...]
    until: int | float | None = None

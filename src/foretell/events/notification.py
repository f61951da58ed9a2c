"""What a subscriber is told: one row, the same columns in every engine and sink (LANGUAGE section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foretell.events.types import Scalar, Type

#: The columns in the order in which every sink has them.
COLUMNS = (
    "subscription",
    "kind",
    "key",
    "start",
    "end",
    "probability",
    "horizon",
    "id",
    "bindings",
    "events",
)

#: A step's event by its name, a repeated step's events by theirs, None where unbound or lost.
EventNames = Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification. Values in key, bindings and events are plain JSON scalars, timestamps already ISO text.

    `time_type` is that of the subscription's streams: start and end are numbers, and it says how to print them.
    """

    subscription: str
    kind: str
    key: Mapping[str, Scalar] | None
    start: int | float
    end: int | float
    probability: float
    horizon: int | float | str | None
    id: Scalar
    bindings: Mapping[str, object]
    events: Mapping[str, EventNames]
    time_type: Type

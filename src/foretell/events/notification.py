"""A notification: one row, with the same columns in every engine and sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foretell.events.types import EPOCH, Scalar, Type

#: The columns, in the order of every sink.
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

#: The name of a step's event, a list of names where the step is repeated, None where it is unbound or lost.
EventNames = Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification. Values in key, bindings and events are plain JSON scalars, timestamps as ISO text.

    `time_type` is that of the subscription's streams. `start` and `end` are always numbers: where it is TIMESTAMP,
    microseconds since 1970-01-01 UTC. `started` and `ended` are then datetimes.
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

    @property
    def started(self) -> datetime | int | float:
        """The start: a datetime (of UTC) where time is a TIMESTAMP, else the number."""
        return self._moment(self.start)

    @property
    def ended(self) -> datetime | int | float:
        """The end: a datetime (of UTC) where time is a TIMESTAMP, else the number."""
        return self._moment(self.end)

    def _moment(self, time: int | float) -> datetime | int | float:
        return EPOCH + timedelta(microseconds=time) if self.time_type is Type.TIMESTAMP else time

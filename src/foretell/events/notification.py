"""A notification: one row, with the same columns in every engine and sink."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foretell.display import View, Viewed, shortened
from foretell.events.types import EPOCH, Scalar, Type, format_time

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

#: The kinds of rows that refer to an estimate: one that confirms it, and one that takes it back.
CONFIRMED, WITHDRAWN = "confirmed", "withdrawn"

#: The name of a step's event, a list of names where the step is repeated, None where it is unbound or lost.
EventNames = Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True, repr=False)
class Notification(Viewed):
    """One notification. Values in key, bindings and events are plain JSON scalars, timestamps as ISO text.

    `time_type` is that of the subscription's streams. `start` and `end` are always numbers: where it is TIMESTAMP,
    microseconds since 1970-01-01 UTC. `started` and `ended` are then datetimes.

    >>> import foretell as ft
    >>> ticks = [{"time": "2026-03-01T10:00:00", "price": 3}, {"time": "2026-03-01T10:00:05", "price": 5}]
    >>> found = ft.run("SUBSCRIBE pair FROM ticks MATCH a , b", {"ticks": ticks}, time={"ticks": "time"})
    >>> found[0]
    Notification(pair match, 2026-03-01T10:00:00Z to 2026-03-01T10:00:05Z, a=0, b=1)
    >>> found[0].ended - found[0].started
    datetime.timedelta(seconds=5)
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

    # ── views ──

    @property
    def cells(self) -> dict[str, str]:
        """The columns as short texts for people; an empty text where a column is empty."""
        return {
            "subscription": self.subscription,
            "kind": self.kind,
            "key": pairs_text(self.key or {}),
            "start": format_time(self.start, self.time_type),
            "end": format_time(self.end, self.time_type),
            "probability": f"{self.probability:.3g}",
            "horizon": "" if self.horizon is None else str(self.horizon),
            "id": "" if self.id is None else str(self.id),
            "bindings": pairs_text(self.bindings),
            "events": pairs_text(self.events),
        }

    def __repr__(self) -> str:
        cells = self.cells
        probability = "" if self.kind == "match" else f"probability={cells['probability']}"
        named = [f"{name}={cells[name]}" for name in ("horizon", "id") if cells[name]]
        details = [cells["key"], probability, *named, cells["bindings"], cells["events"]]
        parts = [f"{self.subscription} {self.kind}", f"{cells['start']} to {cells['end']}", *filter(None, details)]
        return f"Notification({', '.join(parts)})"

    def _view(self, rows: int) -> View:
        cells = {name: text for name, text in self.cells.items() if text}
        title = f"{cells.pop('subscription')} {cells.pop('kind')}"
        return View(title, ("", ""), list(cells.items()))


#: The length of the id of an estimate.
ID_LENGTH = 16


def estimate_id(estimate: Notification) -> str:
    """The id of an estimate, by which later rows refer to it: it depends on the statement, the lane and the events."""
    parts = [estimate.subscription, estimate.key, estimate.events]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:ID_LENGTH]


#: The most characters of one value, and the most events of one step, that a view shows.
_SHOWN_TEXT, _SHOWN_EVENTS = 60, 5


def pairs_text(values: Mapping[str, object]) -> str:
    """
    >>> pairs_text({"user": "ann", "fail": [0, 1], "ok": None})
    'user=ann, fail=[0, 1], ok=NULL'
    """
    return ", ".join(f"{name}={_value_text(value)}" for name, value in values.items())


def _value_text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, Sequence) and not isinstance(value, str):
        shown = [*map(str, value[:_SHOWN_EVENTS]), *([f"… {len(value)} in all"] if len(value) > _SHOWN_EVENTS else [])]
        return f"[{', '.join(shown)}]"
    return shortened(str(value), _SHOWN_TEXT)

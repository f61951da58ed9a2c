"""A notification: one row, with the same columns in every engine and sink."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foretell.display import View, Viewed, short_times, shortened, without_equal_dates
from foretell.events.estimate_detail import EstimateDetail, LostStep
from foretell.events.types import EPOCH, Scalar, Type, format_time

#: The columns that every notification has, in the order of every sink.
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

#: The column of what estimates rest on; it is the last one where a statement has LOSING.
ESTIMATE = "estimate"

#: The kinds of rows that refer to an estimate: one that confirms it, and one that takes it back.
CONFIRMED, WITHDRAWN = "confirmed", "withdrawn"

#: The name of a step's event, a list of names where the step is repeated, None where it is unbound or lost.
EventNames = Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True, repr=False)
class Notification(Viewed):
    """One notification. Values in key, bindings and events are plain JSON scalars, timestamps as ISO text.

    `time_type` is that of the subscription's streams. `start` and `end` are always numbers: where it is TIMESTAMP,
    microseconds since 1970-01-01 UTC. `started` and `ended` are then datetimes. `estimate` is what an estimate of a
    statement with LOSING rests on.

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
    estimate: EstimateDetail | None = None

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
        """The columns as short texts for people; an empty text where a column is empty. Only estimates that lack steps
        have an `estimate`."""
        steps = () if self.estimate is None else self.estimate.lost
        lost = {ESTIMATE: lost_text(steps, self.start, self.time_type)} if steps else {}
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
            **lost,
        }

    def __repr__(self) -> str:
        cells = self.cells
        probability = "" if self.kind == "match" else f"probability={cells['probability']}"
        named = [f"{name}={cells[name]}" for name in ("horizon", "id") if cells[name]]
        details = [cells["key"], probability, *named, cells["bindings"], cells["events"], cells.get(ESTIMATE)]
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


#: Times of lost steps are shown as exactly as it takes to tell so many parts of their interval from each other.
_PARTS = 100


def lost_text(lost: Sequence[LostStep], start: int | float, time: Type) -> str:
    """Lost steps, and when they probably happened; without the date where it is that of the start.

    >>> lost_text([LostStep("b", 1.0904352, 2.5059712)], 1.0, Type.FLOAT)
    'b lost, 1.09 to 2.51'
    >>> lost_text([LostStep("y", 20_123_456, 50_000_001)], 0, Type.TIMESTAMP)
    'y lost, 00:00:20 to 00:00:50'
    """
    return "; ".join(f"{step.step} lost, {' to '.join(_interval_texts(step, start, time))}" for step in lost)


def _interval_texts(step: LostStep, start: int | float, time: Type) -> Sequence[str]:
    exact = max((step.high - step.low) / _PARTS, 1e-12)
    if time is not Type.TIMESTAMP:
        digits = max(0, math.ceil(-math.log10(exact)))
        return [str(round(end, digits)) for end in (step.low, step.high)]
    unit = next(unit for unit in (1_000_000, 1_000, 1) if exact * _PARTS >= 10 * unit or unit == 1)
    ends = [EPOCH + timedelta(microseconds=round(end / unit) * unit) for end in (step.low, step.high)]
    return without_equal_dates([format_time(start, time)[:10]] * len(ends), short_times(ends))


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

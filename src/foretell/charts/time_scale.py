"""Times on the axis of a chart, and as short texts beside its marks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from math import floor, log10

from foretell.display import short_times, without_equal_dates
from foretell.events.types import EPOCH, Type

_SECOND = 1_000_000

#: The units of an axis, with their microseconds.
_UNITS = (
    ("days", 86_400 * _SECOND),
    ("hours", 3_600 * _SECOND),
    ("minutes", 60 * _SECOND),
    ("seconds", _SECOND),
    ("milliseconds", 1_000),
    ("microseconds", 1),
)

#: An axis is at least so many of its units long.
_LEAST_UNITS = 2

#: Numbers that are greater than the length of the axis by such a factor are counted from an origin.
_FAR = 1_000

#: The room at either end, as a share of the length.
_MARGIN = 0.04

#: The precision of a text, as a share of the interval that it is about.
_PRECISION = 0.05


@dataclass(frozen=True)
class TimeScale:
    """An axis from `low` to `high`, times of the streams, whose numbers count `unit`s after `origin`."""

    kind: Type
    low: float
    high: float
    origin: int | float
    unit: int
    title: str

    @classmethod
    def over(cls, times: Collection[int | float], kind: Type, origin: int | float) -> TimeScale:
        """The axis that has all these times. `origin` is the beginning where it does not count from 0."""
        first, last = min(times), max(times)
        least = _SECOND if kind is Type.TIMESTAMP else 1
        span = last - first or least
        margin = _MARGIN * span if last > first else span / 2
        if kind is Type.TIMESTAMP:
            name, unit = next((u for u in _UNITS if span >= _LEAST_UNITS * u[1]), _UNITS[-1])
            (moment,) = short_times([EPOCH + timedelta(microseconds=origin)])
            return cls(kind, first - margin, last + margin, origin, unit, f"{name} after {moment} UTC")
        if max(abs(first), abs(last)) > _FAR * span:
            return cls(kind, first - margin, last + margin, origin, 1, f"time after {origin:,}")
        return cls(kind, first - margin, last + margin, 0, 1, "time")

    def place(self, time: int | float) -> float:
        """The number on the axis."""
        return (time - self.origin) / self.unit

    @property
    def domain(self) -> list[float]:
        return [self.place(self.low), self.place(self.high)]

    def share(self, time: int | float) -> float:
        """The place on the axis: 0 at its beginning, 1 at its end; never beyond."""
        return min(1.0, max(0.0, (time - self.low) / (self.high - self.low)))

    def interval_texts(self, low: int | float, high: int | float) -> tuple[str, str]:
        """The ends of an interval as times, no more precise than its length is worth."""
        step = _PRECISION * (high - low)
        if self.kind is not Type.TIMESTAMP:
            # At least one digit, and all of those before the decimal point.
            digits = 0 if step <= 0 else max(0, -floor(log10(step)))
            first, last = (f"{low:,}", f"{high:,}") if step <= 0 else (f"{low:,.{digits}f}", f"{high:,.{digits}f}")
            return first, last
        whole = next((unit for _, unit in _UNITS if unit <= min(step, _SECOND)), 1)
        moments = [EPOCH + timedelta(microseconds=round(time / whole) * whole) for time in (self.origin, low, high)]
        origin, *ends = short_times(moments)
        first, last = without_equal_dates([origin, origin], ends)
        return first, last

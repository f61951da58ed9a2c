"""Rates and their history: counts by second of the clock, and a point every two seconds of the last ten minutes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from foretell.records import record

#: Seconds between two points of the history, and how many points are kept.
POINT_SECONDS, MOST_POINTS = 2.0, 300


@dataclass
class SecondCount:
    """How many there were in one second of the clock."""

    second: int
    count: int


@dataclass
class RecentCount:
    """How many there were in the last seconds of the clock."""

    seconds: int
    _counts: deque[SecondCount] = field(default_factory=deque)

    def add(self, count: int, now: float) -> None:
        second = int(now)
        if self._counts and self._counts[-1].second == second:
            self._counts[-1].count += count
        else:
            self._counts.append(SecondCount(second, count))
        self._forget(second)

    def total(self, now: float) -> int:
        self._forget(int(now))
        return sum(each.count for each in self._counts)

    def _forget(self, second: int) -> None:
        while self._counts and self._counts[0].second <= second - self.seconds:
            self._counts.popleft()


@record
class HistoryPoint:
    """Rates per second since the point before, `seconds` after the start."""

    seconds: float
    events: float
    notifications: float
    state_bytes: int | None


@dataclass
class RateHistory:
    """Points of totals that only grow."""

    points: deque[HistoryPoint] = field(default_factory=lambda: deque(maxlen=MOST_POINTS))
    _before: tuple[float, int, int] = (0.0, 0, 0)

    def add(self, seconds: float, events: int, notifications: int, state_bytes: int | None) -> None:
        since, events_before, notifications_before = self._before
        passed = seconds - since
        if passed <= 0:
            return
        point = HistoryPoint(
            round(seconds, 1),
            round((events - events_before) / passed, 2),
            round((notifications - notifications_before) / passed, 2),
            state_bytes,
        )
        self.points.append(point)
        self._before = seconds, events, notifications

    def columns(self, last: int | None = None) -> dict[str, list[float | int | None]]:
        points = list(self.points)[-last:] if last is not None else list(self.points)
        return {
            "seconds": [point.seconds for point in points],
            "events": [point.events for point in points],
            "notifications": [point.notifications for point in points],
            "state_bytes": [point.state_bytes for point in points],
        }

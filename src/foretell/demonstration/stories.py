"""The most striking matches, in words and as points for charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.demonstration.course import BAD_RUN, FOGGED_IN, HANDED_ON, CourseOutcome
from foretell.demonstration.departure_lanes import gone_wrong
from foretell.demonstration.flights import NEW_YORK, between, local
from foretell.demonstration.match_figures import ChainLink, Day, DepartureDot, HourShare
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import numpy_of
from foretell.events.notification import Notification
from foretell.events.types import EPOCH
from foretell.notify.notifications import Notifications

AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}

#: What a chart shows before and after a match.
_AROUND = timedelta(hours=3)

#: Days that a chart of the year names: those with the largest shares that are not next to each other.
_NAMED_DAYS, _APART = 6, timedelta(days=9)
_DAY = 86_400_000_000


@dataclass(frozen=True)
class Story:
    """A match in words: when it happened, what, and where."""

    match: Notification
    when: str
    where: str
    departures: int

    @property
    def day(self) -> str:
        return f"{day_text(local(self.match.start))}"


def day_text(time: datetime | date) -> str:
    """
    >>> day_text(date(2013, 3, 8))
    '8 March'
    """
    return f"{time.day} {time:%B}"


def span_text(start: datetime, end: datetime) -> str:
    """
    >>> span_text(datetime(2013, 3, 8, 11, 24), datetime(2013, 3, 9, 1, 5))
    '8 March, 11:24 to 01:05'
    """
    return f"{day_text(start)}, {start:%H:%M} to {end:%H:%M}"


@dataclass(frozen=True)
class Stories:
    """The matches of each statement with the most departures, and what happened around the first of them."""

    outcome: CourseOutcome

    @cached_property
    def bad_runs(self) -> tuple[Story, ...]:
        return self._stories(BAD_RUN, lambda n: f"{n.bindings['airline']}, {AIRPORTS[str((n.key or {})['origin'])]}")

    @cached_property
    def fogs(self) -> tuple[Story, ...]:
        return self._stories(FOGGED_IN, lambda n: AIRPORTS[str((n.key or {})["origin"])])

    @cached_property
    def handed_on(self) -> tuple[Story, ...]:
        return self._stories(HANDED_ON, lambda n: f"{(n.key or {})['tailnum']} of {n.bindings['airline']}")

    def count(self, statement: str) -> int:
        return len(self._matches(statement))

    def _matches(self, statement: str) -> Notifications:
        return self.outcome.notifications[statement]

    def _stories(self, statement: str, place: Any) -> tuple[Story, ...]:
        stories = [
            Story(
                match,
                span_text(local(match.start), local(match.end)),
                place(match),
                int(str(match.bindings["departures"])),
            )
            for match in self._matches(statement)
        ]
        return tuple(
            sorted(stories, key=lambda story: (-story.departures, _last_delay(story.match), story.match.start))
        )

    # ── charts ──

    def year(self) -> tuple[Day, ...]:
        """The share of the departures of each day that went wrong, by the day on which they should have left."""
        flights = pa.concat_tables([self.outcome.learned.flights, self.outcome.watched.flights])
        bad = gone_wrong(flights)
        days = _ordinals(flights["scheduled"])
        first = int(days.min())
        counts, wrong = np.bincount(days - first), np.bincount(days - first, weights=bad)
        shares = {date.fromordinal(first + k): wrong[k] / counts[k] for k in np.flatnonzero(counts).tolist()}
        named = _apart(sorted(shares, key=lambda day: -shares[day]))
        return tuple(
            Day(
                time=datetime(day.year, day.month, day.day),
                share=float(share),
                label=f"{day_text(day)}: {share:.0%} of {counts[day.toordinal() - first]:,} departures",
                name=f"{day.day} {day:%b}" if day in named else "",
            )
            for day, share in shares.items()
        )

    def run_dots(self, story: Story) -> tuple[DepartureDot, ...]:
        """The departures of an airline at an airport around a run, which are its match."""
        key = story.match.key or {}
        rows = self._around(self.outcome.watched.flights, story, carrier=key["carrier"], origin=key["origin"])
        matched = _names(story.match, "f")
        return tuple(
            DepartureDot(local(row["time"]), row["delay"], departure_text(row), row["id"] in matched) for row in rows
        )

    def chain(self, story: Story) -> tuple[ChainLink, ...]:
        """The departures of an aircraft on the day of a match."""
        rows = self._around(self.outcome.watched.flights, story, tailnum=(story.match.key or {})["tailnum"])
        matched = _names(story.match, "f")
        return tuple(
            ChainLink(f"{local(row['scheduled']):%H:%M} {row['dest']}", row["delay"], departure_text(row))
            for row in rows
            if row["id"] in matched
        )

    def hours(self, story: Story) -> tuple[HourShare, ...]:
        """The weather and the departures at an airport, hour by hour, on the day of a match."""
        origin, day = (story.match.key or {})["origin"], local(story.match.start)
        midnight = day.replace(hour=0, minute=0)
        since, until = midnight + timedelta(hours=4), midnight + timedelta(hours=24)
        weather = _rows(between(self.outcome.watched.weather, since, until), origin=origin)
        visibility = {local(row["time"]).hour: row["visibility"] for row in weather}
        counts = {hour: [0, 0] for hour in range(5, 24)}
        for row in _rows(self.outcome.watched.flights, origin=origin):
            scheduled = local(row["scheduled"])
            if scheduled.date() == day.date() and scheduled.hour in counts:
                counts[scheduled.hour][row["delay"] is None] += 1
        return tuple(
            HourShare(midnight.replace(hour=hour), visibility.get(hour), left, cancelled)
            for hour, (left, cancelled) in counts.items()
        )

    def _around(self, table: pa.Table, story: Story, **equal: object) -> Sequence[Mapping[str, Any]]:
        since, until = local(story.match.start) - _AROUND, local(story.match.end) + _AROUND
        return _rows(between(table, since, until), **equal)


def _ordinals(times: Any) -> Ints:
    """The days of times by the clock of New York."""
    since: Ints = numpy_of(pc.local_timestamp(times.cast(pa.timestamp("us", tz=NEW_YORK.key))).cast(pa.int64()))
    return since // _DAY + EPOCH.toordinal()


def departure_text(row: Mapping[str, Any]) -> str:
    """
    >>> row = {"flight": "B6 15", "dest": "SFO", "time": datetime(2013, 3, 8, 17, tzinfo=EPOCH.tzinfo), "delay": 5}
    >>> departure_text(row)
    '12:00 B6 15 to SFO, 5 min late'
    """
    delay = row["delay"]
    state = "cancelled" if delay is None else f"{delay} min late" if delay > 0 else "on time"
    return f"{local(row['time']):%H:%M} {row['flight']} to {row['dest']}, {state}"


def _last_delay(match: Notification) -> int:
    """Of aircraft with equally many departures, that with the latest last one comes first."""
    return -int(str(match.bindings.get("last_delay", 0)))


def _names(match: Notification, step: str) -> set[object]:
    names = match.events[step]
    return set(names) if isinstance(names, list | tuple) else {names}


def _rows(table: pa.Table, **equal: object) -> Sequence[Mapping[str, Any]]:
    """The rows with these values."""
    for column, value in equal.items():
        table = table.filter(pc.equal(table[column], pa.scalar(str(value))))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _apart(days: Sequence[date]) -> set[date]:
    """The first days that are not near one another."""
    kept: list[date] = []
    for day in days:
        if len(kept) < _NAMED_DAYS and all(abs(day - other) > _APART for other in kept):
            kept.append(day)
    return set(kept)

"""The recorder: what a running pipeline has done, for everybody who looks at it.

The pipeline's thread writes and the service's threads read, each under a lock that is held for microseconds; a reader
that is slow, or gone, never holds anything back. All that grows is bounded.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from foretell.errors import ForetellError
from foretell.serve.forecast_board import ForecastBoard
from foretell.serve.notification_log import MissedRows, NotificationLog, Row
from foretell.serve.rates import RateHistory, RecentCount
from foretell.serve.records import (
    KINDS,
    EngineLoad,
    EventTime,
    ForecastPoint,
    SideEvent,
    StatementLoad,
    StatementSource,
    StreamSource,
)

MOST_NOTES, MOST_SIDE_EVENTS = 50, 1_000
#: Upper bounds of the histogram of push times, in seconds.
PUSH_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Characters of a raw text, and of an error, that are kept.
_MOST_TEXT = 10_000


def now_text() -> str:
    """The time of the clock as an ISO text in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class StatementTally:
    counts: Counter[str] = field(default_factory=Counter)
    recent: RecentCount = field(default_factory=lambda: RecentCount(60))
    last_at: EventTime = None


@dataclass
class StreamTally:
    events: int = 0
    late: int = 0
    quarantined: int = 0
    unreadable: int = 0
    last: EventTime = None
    recent: RecentCount = field(default_factory=lambda: RecentCount(10))


@dataclass
class PushHistogram:
    """A histogram of how long pushes took."""

    buckets: list[int] = field(default_factory=lambda: [0] * len(PUSH_BUCKETS))
    count: int = 0
    total: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        for number, bound in enumerate(PUSH_BUCKETS):
            self.buckets[number] += seconds <= bound
        self.count += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)


class PipelineRecorder:
    def __init__(self, title: str, engine: str, note: str, *, read_only: bool = False) -> None:
        self.title, self.engine, self.engine_note, self.read_only = title, engine, note, read_only
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._started_at = now_text()
        self.status = "running"
        self.error: dict[str, str] | None = None
        self.ready = False
        self.change_note = "this page is read-only" if read_only else ""
        self._statements: dict[str, StatementSource] = {}
        self._streams: dict[str, StreamSource] = {}
        self._tallies: dict[str, StatementTally] = {}
        self._stream_tallies: dict[str, StreamTally] = {}
        self._load = EngineLoad()
        self._events, self._counts_streams = 0, True
        self._log = NotificationLog()
        self._forecasts = ForecastBoard()
        self._notes: deque[str] = deque(maxlen=MOST_NOTES)
        self._late: deque[dict[str, Any]] = deque(maxlen=MOST_SIDE_EVENTS)
        self._bad: deque[dict[str, Any]] = deque(maxlen=MOST_SIDE_EVENTS)
        self._history = RateHistory()
        self.pushes = PushHistogram()
        self.dropped = 0

    # ── written by the pipeline ──

    def describe(self, statements: Iterable[StatementSource], streams: Iterable[StreamSource]) -> None:
        """The statements and streams of now."""
        with self._lock:
            self._statements = {source.name: source for source in statements}
            self._streams = {source.name: source for source in streams}
            for name in [name for name in self._tallies if name not in self._statements]:
                del self._tallies[name]
                self._forecasts.forget(name)

    def begin(self) -> None:
        with self._lock:
            self.ready = True

    def end(self, status: str, error: ForetellError | None = None) -> None:
        """The pipeline has finished, was stopped, or has failed with an error."""
        with self._lock:
            self.status = status
            if error is not None:
                self.error = {"error": str(error)[:_MOST_TEXT] if not error.hint else error.message, "hint": error.hint}

    def note(self, text: str) -> None:
        with self._lock:
            if text not in self._notes:
                self._notes.append(text[:_MOST_TEXT])

    def count_events(self, stream: str | None, count: int, last: EventTime, unreadable: int = 0) -> None:
        """Events of a stream; None where nobody knows which of several streams they are of."""
        with self._lock:
            self._events += count
            if stream is None:
                self._counts_streams = False
                return
            tally = self._stream_tallies.setdefault(stream, StreamTally())
            tally.events += count
            tally.unreadable += unreadable
            tally.last = tally.last if last is None else last
            tally.recent.add(count, time.monotonic())

    def add_notifications(self, counts: Mapping[tuple[str, str], int], rows: Sequence[Row]) -> None:
        """New notifications by statement and kind; `rows` are the newest of them, oldest first."""
        now, received = time.monotonic(), now_text()
        with self._lock:
            for (name, kind), count in counts.items():
                tally = self._tallies.setdefault(name, StatementTally())
                tally.counts[kind] += count
                tally.recent.add(count, now)
            for row in rows:
                if row["subscription"] in self._tallies:
                    self._tallies[row["subscription"]].last_at = row["end"]
                if row["kind"] == "match":
                    self._forecasts.matched(row["subscription"], row["key"], row["end"])
            self._log.add(rows, sum(counts.values()), received)

    def update_forecasts(self, points: Iterable[ForecastPoint]) -> None:
        with self._lock:
            self._forecasts.update(points)

    def set_aside(self, late: Sequence[SideEvent], bad: Sequence[SideEvent]) -> None:
        """Late and malformed events."""
        at = now_text()
        with self._lock:
            for event in late:
                self._stream_tallies.setdefault(event.stream, StreamTally()).late += 1
            for event in bad:
                self._stream_tallies.setdefault(event.stream, StreamTally()).quarantined += 1
            for kept, events in ((self._late, late), (self._bad, bad)):
                kept.extend(
                    {"stream": e.stream, "at": at, "reason": e.reason[:_MOST_TEXT], "event": _shortened(e.event)}
                    for e in events[-MOST_SIDE_EVENTS:]
                )

    def update_load(self, load: EngineLoad) -> None:
        with self._lock:
            self._load = load

    def add_push(self, seconds: float) -> None:
        with self._lock:
            self.pushes.add(seconds)

    # ── written by the service ──

    def tick(self) -> None:
        """Add a point to the history."""
        with self._lock:
            events = self._events
            notifications = self._log.next - 1
            self._history.add(time.monotonic() - self._began, events, notifications, self._load.state_bytes)

    def count_dropped(self, count: int) -> None:
        with self._lock:
            self.dropped += count

    # ── read by the service ──

    @property
    def statements(self) -> Mapping[str, StatementSource]:
        with self._lock:
            return dict(self._statements)

    @property
    def streams(self) -> Mapping[str, StreamSource]:
        with self._lock:
            return dict(self._streams)

    @property
    def load(self) -> EngineLoad:
        with self._lock:
            return self._load

    def state(self, points: int | None = None) -> dict[str, Any]:
        """The state as /api/state has it, with all points of the history or the last ones."""
        with self._lock:
            now = time.monotonic()
            return {
                "title": self.title,
                "engine": self.engine,
                "engine_note": self.engine_note,
                "read_only": self.read_only,
                "started_at": self._started_at,
                "now": now_text(),
                "status": self.status,
                "error": self.error,
                "ready": self.ready,
                "watermark": self._load.watermark,
                "partial_matches": self._load.partial_matches,
                "events": self._events,
                "statements": [self._statement(source, now) for source in self._statements.values()],
                "streams": [self._stream(source, now) for source in self._streams.values()],
                "history": self._history.columns(points),
                "notes": list(self._notes),
                "can_change": not self.change_note,
                "change_note": self.change_note,
                "dropped": self.dropped,
            }

    def _statement(self, source: StatementSource, now: float) -> dict[str, Any]:
        tally = self._tallies.get(source.name, StatementTally())
        load = self._load.statements.get(source.name, StatementLoad())
        return {
            "name": source.name,
            "kind": source.kind,
            "text": source.text,
            "reads": list(source.reads),
            "counts": {kind: tally.counts[kind] for kind in KINDS},
            "per_minute": tally.recent.total(now),
            "partial_matches": load.partial_matches,
            "lanes": load.lanes,
            "state_bytes": load.state_bytes,
            "last_at": tally.last_at,
            "stopped_lanes": load.stopped_lanes,
        }

    def _stream(self, source: StreamSource, now: float) -> dict[str, Any]:
        tally = self._stream_tallies.get(source.name, StreamTally())
        return {
            "name": source.name,
            "events": tally.events if self._counts_streams else None,
            "per_second": round(tally.recent.total(now) / tally.recent.seconds, 2) if self._counts_streams else None,
            "late": tally.late,
            "quarantined": tally.quarantined,
            "unreadable": tally.unreadable if self._counts_streams else None,
            "last_event_time": tally.last,
            "text": source.text,
        }

    @property
    def side_totals(self) -> dict[str, int]:
        """How many events were late, and how many are in quarantine."""
        with self._lock:
            tallies = self._stream_tallies.values()
            return {"late": sum(t.late for t in tallies), "quarantined": sum(t.quarantined for t in tallies)}

    def late_events(self, limit: int) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._late)[::-1][:limit]

    def bad_events(self, limit: int) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._bad)[::-1][:limit]

    @property
    def last_number(self) -> int:
        """The number of the newest notification."""
        with self._lock:
            return self._log.next - 1

    def notifications_after(self, number: int, most: int) -> MissedRows:
        with self._lock:
            return self._log.after(number, most)

    def notifications(
        self, limit: int, before: int | None, statements: Collection[str], kinds: Collection[str]
    ) -> tuple[list[Row], bool]:
        with self._lock:
            return self._log.page(limit, before, statements, kinds)

    def forecasts(self, wanted: Collection[str] = ()) -> list[dict[str, Any]]:
        with self._lock:
            return self._forecasts.rows(self._statements, wanted)

    def changed_forecasts(self, since: int, most: int) -> tuple[list[dict[str, Any]], int]:
        with self._lock:
            return self._forecasts.changed(since, most, self._statements)


def _shortened(event: Any) -> Any:
    return event[:_MOST_TEXT] if isinstance(event, str) else event

"""The status of a streaming query: what a person who watches it wants to know, from the progress that Spark reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from foretell.display import counted
from foretell.events.ingest.nulled_values import counted_values
from foretell.events.types import EPOCH, format_timestamp

COUNTS = ("events", "matches", "late", "bad", "refused", "unreadable")


@dataclass(frozen=True)
class StreamStatus:
    """Counts are totals since the query was started; the other figures are of its last micro-batch.

    `phase` is "starting Spark", "starting the query", "processing" or "waiting for events". `time` is the latest event
    time where it is a TIMESTAMP, `lag` how many seconds ago that was, and `rate` the events per second.
    """

    phase: str
    batches: int = 0
    events: int = 0
    matches: int = 0
    late: int = 0
    bad: int = 0
    refused: int = 0
    unreadable: int = 0
    rate: float = 0.0
    partial_matches: int = 0
    waiting: int = 0
    state_bytes: int = 0
    time: str | None = None
    lag: float | None = None

    def summary(self) -> str:
        """Return the totals in one line."""
        unreadable = f", {counted_values(self.unreadable)} unreadable" if self.unreadable else ""
        found = f"{counted(self.events, 'event')}, {counted(self.matches, 'match', 'matches')}"
        return f"{found}, {self.late:,} late, {self.bad:,} set aside, {self.refused:,} refused{unreadable}"


@dataclass
class StatusTally:
    """Adds up the progress of a query's micro-batches. Spark keeps that of the last hundred."""

    query: StreamingQuery
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    batches: int = 0
    _last: Mapping[str, Any] = field(default_factory=dict)
    _rate: float = 0.0
    _counted: int = -1

    def update(self) -> StreamStatus:
        """Count the micro-batches that have ended since the last call, and return the status."""
        last = self.query.lastProgress
        if last is not None and int(last["batchId"]) > self._counted:
            for progress in self.query.recentProgress:
                self._count(progress)
        return self.status()

    def _count(self, progress: Any) -> None:
        observed = progress["observedMetrics"].get("foretell")  # a Row; without one nothing was processed
        if int(progress["batchId"]) <= self._counted or observed is None:
            return
        self._counted = int(progress["batchId"])
        self.batches += 1
        self._last = observed.asDict()
        for name in COUNTS:
            self.totals[name] += self._last[name] or 0
        seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
        self._rate = (self._last["events"] or 0) / seconds if seconds else 0.0

    def status(self) -> StreamStatus:
        active = self.query.isActive and self.query.status["isTriggerActive"]
        latest = self._last.get("latest")
        lag = None if latest is None else (datetime.now(UTC) - EPOCH).total_seconds() - latest / 1_000_000
        return StreamStatus(
            phase="processing" if active else "waiting for events",
            batches=self.batches,
            **self.totals,
            rate=self._rate,
            partial_matches=self._last.get("partial_matches") or 0,
            waiting=self._last.get("waiting") or 0,
            state_bytes=self._last.get("state_bytes") or 0,
            time=None if latest is None else format_timestamp(latest),
            lag=lag,
        )

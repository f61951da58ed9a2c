"""Shard input: the decoded shuffle rows of one shard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import pyarrow as pa

from foretell.events.ingest.nulled_values import NulledValues, marker_notes, merge_nulled, unreadable_summary
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.spark.notification_columns import SideRow
from foretell.spark.partitioning.shuffle_rows import (
    CHANGES,
    EVENTS,
    PROGRESS,
    QUARANTINED,
    READING,
    ReadingReport,
    ShuffleRow,
    StreamProgress,
    read_table,
)


@dataclass
class ShardInput:
    """Collects the shuffle rows of one shard, which come in any order.

    `segments` are the events of each stream, by map task; `progress` is that of each stream in all shards.
    """

    segments: dict[str, list[tuple[int, pa.Table]]] = field(default_factory=dict)
    progress: dict[str, StreamProgress] = field(default_factory=dict)
    _quarantined: list[tuple[str, int, pa.Buffer]] = field(default_factory=list)
    _readings: list[tuple[str, int, pa.Buffer]] = field(default_factory=list)
    _changes: list[tuple[int, pa.Buffer]] = field(default_factory=list)

    def add(self, row: ShuffleRow) -> None:
        if row.kind == CHANGES:
            self._changes.append((row.sequence, row.data))
            return
        assert row.stream is not None
        if row.kind == EVENTS:
            self.segments.setdefault(row.stream, []).append((row.sequence, read_table(row.data)))
        elif row.kind == PROGRESS:
            progress = msgspec.json.decode(row.data, type=StreamProgress)
            self.progress[row.stream] = self.progress.get(row.stream, StreamProgress()) + progress
        elif row.kind == QUARANTINED:
            self._quarantined.append((row.stream, row.sequence, row.data))
        elif row.kind == READING:
            self._readings.append((row.stream, row.sequence, row.data))

    def tables(self, stream: str) -> list[tuple[int, pa.Table]]:
        """Return the segments of a stream in the order of their map tasks, each with its sequence number."""
        return sorted(self.segments[stream], key=lambda segment: segment[0])

    @property
    def clocks(self) -> dict[str, int | float]:
        """The latest time of each stream that has events, in all shards."""
        return {name: progress.latest for name, progress in self.progress.items() if progress.latest is not None}

    @property
    def quarantined(self) -> list[QuarantinedEvent]:
        """The malformed events that this shard reports: stream by stream, as they arrived."""
        rows = sorted(self._quarantined, key=lambda row: row[:2])
        return [event for *_, data in rows for event in msgspec.json.decode(data, type=list[QuarantinedEvent])]

    @cached_property
    def readings(self) -> list[ReadingReport]:
        """The reports of the map tasks that this shard passes on: stream by stream, by map task."""
        rows = sorted(self._readings, key=lambda row: row[:2])
        return [msgspec.json.decode(data, type=ReadingReport) for *_, data in rows]

    @property
    def nulled(self) -> tuple[NulledValues, ...]:
        """The values that were set to NULL, one record for each cause."""
        return merge_nulled(record for reading in self.readings for record in reading.nulled)

    @property
    def notes(self) -> list[str]:
        return list(dict.fromkeys(note for reading in self.readings for note in reading.notes))

    @property
    def changes(self) -> list[pa.Buffer]:
        """The changes of the statements, as JSON, by map task."""
        return [data for _, data in sorted(self._changes, key=lambda row: row[0])]


def reading_lines(shard_input: ShardInput) -> list[str]:
    """Return notes on the reading of events and lines on the values that were set to NULL, for the log of the task."""
    nulled = shard_input.nulled
    totals = [(stream, progress.total) for stream, progress in shard_input.progress.items()]
    return [*shard_input.notes, *marker_notes(nulled), *unreadable_summary(nulled, totals)]


def quarantine_rows(events: Iterable[QuarantinedEvent]) -> list[SideRow]:
    """Return malformed events as rows among the notifications, of the kind "bad"."""
    return [SideRow("bad", event.stream, {"reason": event.reason, "raw": event.raw}) for event in events]

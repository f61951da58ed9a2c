"""The events of the last hour of event time, kept in bounded memory so that new statements can be tried on them."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

import pyarrow as pa

from foretell.events.types import Type
from foretell.records import record

#: An hour in seconds, and the bytes that are kept at most.
KEPT_SECONDS, KEPT_BYTES = 3_600, 64 * 1024 * 1024


@record
class KeptBatch:
    """The events of a stream that came together, with the last of their times as a number."""

    stream: str
    events: pa.Table
    last: int | float
    size: int


@dataclass
class RecentEvents:
    """The pipeline's thread adds, any thread takes."""

    most_bytes: int = KEPT_BYTES
    forgot: bool = False  # whether the bound on bytes has dropped events of the last hour
    time_columns: dict[str, str] = field(default_factory=dict)
    _batches: deque[KeptBatch] = field(default_factory=deque)
    _bytes: int = 0
    _latest: int | float = float("-inf")
    _unit: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, stream: str, events: pa.Table, last: int | float, time: Type) -> None:
        """Add events; the oldest go where there is no more room."""
        if not events.num_rows:
            return
        with self._lock:
            self._unit = 1_000_000 if time is Type.TIMESTAMP else 1
            self._batches.append(KeptBatch(stream, events, last, events.nbytes))
            self._bytes += events.nbytes
            self._latest = max(self._latest, last)
            while self._batches and (self._bytes > self.most_bytes or self._is_old(self._batches[0])):
                gone = self._batches.popleft()
                self._bytes -= gone.size
                self.forgot = self.forgot or not self._is_old(gone)

    def _is_old(self, batch: KeptBatch) -> bool:
        return batch.last < self._latest - KEPT_SECONDS * self._unit

    def tables(self) -> tuple[dict[str, pa.Table], int | float]:
        """The events of each stream, and the time an hour before the latest."""
        with self._lock:
            batches, since = list(self._batches), self._latest - KEPT_SECONDS * self._unit
        streams = dict.fromkeys(batch.stream for batch in batches)
        return {
            name: pa.concat_tables([b.events for b in batches if b.stream == name], promote_options="permissive")
            for name in streams
        }, since

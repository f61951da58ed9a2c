"""The recorder of a pipeline: the throughput and the state of an engine after each of its batches."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, fields
from typing import Any

from foretell.arguments.validation import bad_argument
from foretell.display import View, Viewed, counted, size_text
from foretell.engine.engine import Engine
from foretell.notify.notifications import Notifications

#: Of more records, neighbours are joined two by two.
MOST_RECORDS = 10_000


@dataclass(frozen=True)
class PipelineRecord:
    """A batch. `time` is when it ended, in seconds since 1970; `seconds` have passed since the batch before it, of
    which `busy` went into processing, None where that is not known. `events`, `notifications`, `late` and `bad` are
    counts of the batch; `partial_matches`, `waiting` (events held back), `memory` in bytes and `lanes` are the state
    after it."""

    time: float
    seconds: float
    events: int
    notifications: int
    late: int = 0
    bad: int = 0
    partial_matches: int = 0
    waiting: int = 0
    memory: int = 0
    lanes: int | None = None
    busy: float | None = None

    def joined(self, later: PipelineRecord) -> PipelineRecord:
        """Two batches as one, with the state after the later one."""
        busy = None if self.busy is None or later.busy is None else self.busy + later.busy
        return PipelineRecord(
            time=later.time,
            seconds=self.seconds + later.seconds,
            events=self.events + later.events,
            notifications=self.notifications + later.notifications,
            late=self.late + later.late,
            bad=self.bad + later.bad,
            partial_matches=later.partial_matches,
            waiting=later.waiting,
            memory=later.memory,
            lanes=later.lanes,
            busy=busy,
        )


class EngineRecorder(Viewed):
    """Records an engine: call `record` with the result of each push.

    >>> engine = Engine("STREAM s (k STRING, time INT) TIME time; SUBSCRIBE pair FROM s PER k MATCH a , b;")
    >>> recorder = EngineRecorder(engine)
    >>> for n in range(3):
    ...     recorder.record(engine.push("s", [{"time": n, "k": "x"}]))
    >>> [(record.events, record.notifications, record.lanes) for record in recorder.records]
    [(1, 0, 1), (1, 1, 1), (1, 1, 1)]

    `foretell.pipeline_page` draws it. However long it records, it takes a bounded amount of memory.
    """

    def __init__(self, engine: Engine, most: int = MOST_RECORDS) -> None:
        if not isinstance(engine, Engine):
            raise bad_argument("engine", "a foretell.Engine", engine)
        if type(most) is not int or most < 2:
            raise bad_argument("most", "a whole number from 2 on", most)
        self._engine, self._most = engine, most
        self._records: list[PipelineRecord] = []
        self._last = time.monotonic()

    @property
    def records(self) -> tuple[PipelineRecord, ...]:
        return tuple(self._records)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The records as plain values, for a table or a chart of one's own."""
        return [asdict(record) for record in self._records]

    def record(self, found: Notifications) -> None:
        """Record the batch whose notifications a push has returned, and the state after it."""
        if not isinstance(found, Notifications):
            raise bad_argument("found", "the result of engine.push", found)
        now, pipeline = time.monotonic(), self._engine._deployment.pipeline
        passed, self._last = now - self._last, now
        memory, lanes = 0, 0
        if pipeline is not None:
            memory = sum(pipeline.runtime.ledger.bytes.values()) + pipeline.buffer.nbytes
            lanes = sum(group.stream.lanes.used for group in pipeline.runtime.groups.values())
        self._records.append(
            PipelineRecord(
                time=time.time(),
                seconds=passed,
                events=sum(count for _, count in found.totals),
                notifications=len(found),
                late=len(found.late),
                bad=len(found.bad),
                partial_matches=self._engine.partial_matches,
                waiting=self._engine.waiting,
                memory=memory,
                lanes=lanes,
            )
        )
        if len(self._records) > self._most:
            self._records = _halved(self._records)

    def _view(self, rows: int) -> View:
        shown = [
            (f"{r.events:,}", f"{r.notifications:,}", f"{r.partial_matches:,}", size_text(r.memory))
            for r in self._records[-rows:]
        ]
        header = ("events", "notifications", "partial matches", "memory")
        return View(f"Recorder of {counted(len(self._records), 'batch', 'batches')}", header, shown)


def _halved(records: list[PipelineRecord]) -> list[PipelineRecord]:
    """Neighbours joined two by two; the last one stays alone where their number is odd."""
    pairs = [first.joined(second) for first, second in zip(records[::2], records[1::2])]
    return pairs + records[2 * len(pairs) :]


def record_of(values: dict[str, Any]) -> PipelineRecord:
    """A record of plain values, such as `as_dicts` gives. Raises ValueError for other ones."""
    names = [field.name for field in fields(PipelineRecord)]
    unknown = [name for name in values if name not in names]
    missing = [name for name in ("time", "seconds", "events", "notifications") if name not in values]
    if unknown or missing:
        raise ValueError(f"it lacks '{missing[0]}'" if missing else f"'{unknown[0]}' is unknown")
    for name, value in values.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number and not (value is None and name in ("lanes", "busy")):
            raise ValueError(f"{name} is {value!r}, which is no number")
    return PipelineRecord(**values)

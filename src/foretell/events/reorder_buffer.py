"""The reorder buffer: puts the events of live streams in order, as far as their LATE BY allows.

The watermark is the latest event time of all streams together, less the greatest lateness among them. No stream may
bring an earlier event any more, so the buffer releases whatever is earlier, in order. An event that comes earlier than
the watermark is late. An event exactly at the watermark stays, for another of the same instant may still come and, by
tie-breaker or stream, go before it. Where no stream has a lateness nothing is held back: events of one instant are then
in the order in which they come.

>>> from foretell.events.ingest.reader import StreamDeclaration, read
>>> def batch(*times): return read([{"t": t} for t in times], StreamDeclaration("s", {}, "t"))
>>> buffer = ReorderBuffer({"s": 10})
>>> len(buffer.add(batch(20, 4, 9)))
0
>>> buffer.watermark, buffer.release()["s"].table["t"].to_pylist()
(10, [4, 9])
>>> buffer.add(batch(8, 11)).events()
(LateEvent(stream='s', row=1, event={'t': 8}),)
>>> buffer.drain()["s"].table["t"].to_pylist()
[11, 20]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Times
from foretell.errors import InputError
from foretell.events.arrow_interop import arrow_of, numpy_of, table_from_bytes, table_to_bytes, take_rows
from foretell.events.ingest.known_columns import TimeSpan, span_of
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Schema, Type, format_time
from foretell.records import record
from foretell.storage.recorded_values import UnfitValueError, instant, require, whole

Time = int | float

_TIMES = (Type.INT, Type.FLOAT, Type.TIMESTAMP)

#: The late events of a batch that has none.
_NO_ROWS, _NO_EVENTS = np.zeros(0, np.int64), pa.table({})


@dataclass(frozen=True)
class LateEvent:
    """An event later than LATE BY allows. `row` counts the well-formed events of its batch from 1."""

    stream: str
    row: int
    event: Mapping[str, object]


@record
class LateEvents:
    """The late events of a batch as columns; `rows` has their numbers in the batch. `time` is the watermark that they
    came behind."""

    stream: str
    rows: NDArray[np.int64]
    table: pa.Table
    schema: Schema
    time: Time

    def __len__(self) -> int:
        return len(self.rows)

    def events(self) -> tuple[LateEvent, ...]:
        if self.rows is _NO_ROWS:
            return ()
        numbered = zip(self.rows.tolist(), self.table.to_pylist(), strict=True)
        return tuple(LateEvent(self.stream, row, event) for row, event in numbered)


class ReorderBuffer:
    """Holds back events that the watermark has not passed.

    `lateness` has each stream's; None stands for a stream that must come in order, whose late events are errors.
    `latest` has each stream's latest event time, `late_counts` how many of its events were late.
    """

    def __init__(self, lateness: Mapping[str, Time | None]) -> None:
        self.lateness = dict(lateness)
        self._set_max_lateness()
        self.watermark: Time = -math.inf
        self.latest: dict[str, Time] = {}
        self.late_counts: dict[str, int] = {}
        self._buffers: dict[str, _StreamBuffer] = {}
        self._ready: dict[str, EventBatch] = {}  # batches that nothing holds back, until they are released

    def _set_max_lateness(self) -> None:
        self.max_lateness: Time = max((time for time in self.lateness.values() if time is not None), default=0)

    def __len__(self) -> int:
        """How many events are held back."""
        return sum(len(run) for buffer in self._buffers.values() for run in buffer.runs)

    @property
    def nbytes(self) -> int:
        """The memory of the events that are held back."""
        return sum([run.table.nbytes for buffer in self._buffers.values() for run in buffer.runs])

    def runs(self, stream: str) -> int:
        """How many sorted runs hold the events of a stream: about the logarithm of their number."""
        return len(self._buffers[stream].runs) if stream in self._buffers else 0

    # ── streams ──

    def set_lateness(self, stream: str, lateness: Time | None) -> None:
        """Add a stream, or change its lateness."""
        self.lateness[stream] = lateness
        self._set_max_lateness()

    def has_events(self, stream: str) -> bool:
        """Whether events of a stream are held back."""
        return self.runs(stream) > 0

    def remove_stream(self, stream: str) -> None:
        """Remove a stream without events. The watermark stays."""
        for by_stream in (self.lateness, self.latest, self._buffers):
            by_stream.pop(stream, None)
        self._set_max_lateness()

    # ── events in ──

    def add(self, batch: EventBatch) -> LateEvents:
        """Add a batch and return its late events.

        The events of a batch come together: they may be in any order, and only earlier batches make them late. A batch
        that is refused changes nothing.
        """
        return self.add_together([batch])[0]

    def add_together(self, batches: Sequence[EventBatch]) -> list[LateEvents]:
        """Add batches of several streams as one: none makes events of another late."""
        is_late = list(map(self._late, batches))
        for batch, late in zip(batches, is_late, strict=True):
            if late is not None and self.lateness[batch.stream] is None:
                raise self._out_of_order(batch, int(late.argmax()))
        time = self.watermark
        return [self._split_late(batch, late, time) for batch, late in zip(batches, is_late, strict=True)]

    def _late(self, batch: EventBatch) -> Flags | None:
        """Marks the events before the watermark; None where there are none."""
        span = time_span(batch)
        if span is None or span.earliest >= self.watermark:
            return None
        marked: Flags = event_times(batch) < self.watermark
        return marked

    def observe_latest(self, latest: Mapping[str, Time]) -> None:
        """Advance the watermark by the latest event of each stream, which may have gone to another engine."""
        for stream, time in latest.items():
            self._observe(stream, time)

    def _observe(self, stream: str, time: Time) -> None:
        self.latest[stream] = max(self.latest.get(stream, time), time)
        self.watermark = max(self.watermark, time - self.max_lateness)

    def advance(self, now: Time) -> None:
        """Raise the watermark to `now`, whatever the events show. It never goes back."""
        self.watermark = max(self.watermark, now)

    def _split_late(self, batch: EventBatch, is_late: Flags | None, time: Time) -> LateEvents:
        stream, table = batch.stream, batch.table
        if is_late is None:
            self._hold(batch)
            return LateEvents(stream, _NO_ROWS, _NO_EVENTS, batch.schema, time)
        timely = table.filter(arrow_of(~is_late))
        self._hold(EventBatch(stream, batch.schema, timely, (), timely.num_rows))
        late = LateEvents(stream, np.flatnonzero(is_late) + 1, table.filter(arrow_of(is_late)), batch.schema, time)
        self.late_counts[stream] = self.late_counts.get(stream, 0) + len(late)
        return late

    def _hold(self, batch: EventBatch) -> None:
        span, stream = time_span(batch), batch.stream
        if span is None:
            return
        if self.max_lateness or self._buffers or stream in self._ready:
            self._wait(batch)
        else:
            self._ready[stream] = batch
        self._observe(stream, span.latest)

    def _wait(self, batch: EventBatch) -> None:
        """Hold events back. They are copied, as the caller may use its memory again, and have the types of their
        attributes, so that those of several batches are one table."""
        buffer = self._buffers.setdefault(batch.stream, _StreamBuffer(batch.schema))
        for each in (self._ready.pop(batch.stream, None), batch):
            if each is not None:
                buffer.add(_sorted(_plain(each.table, each.schema), event_times(each)))

    def _out_of_order(self, batch: EventBatch, row: int) -> InputError:
        late = event_times(batch)[row].item()
        time, watermark = (format_time(t, batch.schema.time_type) for t in (late, self.watermark))
        return InputError(
            "out-of-order",
            f"stream '{batch.stream}': row {row + 1} has {batch.schema.time} {time}, but time is {watermark} already",
            hint="push events in the order of time, all streams together, or declare the stream with LATE BY",
        )

    # ── events out ──

    def release(self) -> dict[str, EventBatch]:
        """Take out the events that the watermark has passed, each stream's in order, or as they came where nothing is
        held back."""
        return self._release(self.watermark if self.max_lateness else math.inf)

    def drain(self) -> dict[str, EventBatch]:
        """Take out all events, because no more will come."""
        self.advance(max(self.latest.values(), default=-math.inf))
        return self._release(math.inf)

    def stream_clocks(self) -> Mapping[str, Time]:
        """The time that each stream has reached: the watermark, but not beyond its own events.

        It does not depend on which of the stream's events are in this buffer: those of other lanes may be elsewhere.
        """
        if not self.max_lateness:
            return self.latest
        return {
            stream: min(latest, max(self.watermark, latest - self.max_lateness))
            for stream, latest in self.latest.items()
        }

    def _release(self, bound: Time) -> dict[str, EventBatch]:
        released, self._ready = self._ready, {}
        for name, buffer in list(self._buffers.items()):
            runs = buffer.release(bound)
            if runs:
                run = _merged(runs)
                released[name] = EventBatch(name, buffer.schema, run.table, (), run.table.num_rows)
            if not buffer.runs:
                del self._buffers[name]
        return released

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        """The buffer as plain values and bytes."""
        held = {
            # A name that comes from a text carries its place there; `str` drops it.
            name: {
                "schema": msgspec.to_builtins(buffer.schema, enc_hook=str),
                "events": table_to_bytes(_merged(buffer.runs).table),
            }
            for name, buffer in self._buffers.items()
            if buffer.runs
        }
        return {"time": self.watermark, "latest": dict(self.latest), "late": dict(self.late_counts), "held": held}

    @classmethod
    def restore(
        cls,
        lateness: Mapping[str, Time | None],
        state: Mapping[str, Any],
        schemas: Mapping[str, Schema] | None = None,
    ) -> ReorderBuffer:
        """The buffer of a snapshot. Where the `schemas` of streams are known, its events must have them."""
        restored = cls(lateness)
        is_float = all(schema.time_type is Type.FLOAT for schema in (schemas or {}).values())
        restored.watermark = instant(state["time"], "the watermark", is_float=is_float)
        for name, time in state["latest"].items():
            require(name in lateness, "the latest events")
            restored.latest[name] = instant(time, "the time of the latest event", is_float=is_float)
        restored.late_counts = {str(name): whole(count, "the late events") for name, count in state["late"].items()}
        for name, held in state["held"].items():
            schema = msgspec.convert(held["schema"], Schema)
            run = _recorded_run(held["events"], schema)
            require(name in lateness and name in restored.latest, "the events that are held back")
            known = schema.attributes if schemas is None else schemas[name].attributes
            require(list(known.items()) == list(schema.attributes.items()), "the events that are held back")
            restored._buffers[name] = _StreamBuffer(schema, [run])
        return restored


def _recorded_run(data: object, schema: Schema) -> _SortedRun:
    """The events of a stream in a snapshot. Arrow itself trusts what it reads."""
    if not isinstance(data, bytes) or schema.time is None or schema.time_type not in _TIMES:
        raise UnfitValueError("the events that are held back have no time")
    named = [name for name in (schema.id, schema.order) if name is not None]
    require(all(name in schema.attributes for name in named), "the events that are held back")
    table = table_from_bytes(data)
    table.validate(full=True)
    types = {name: ARROW_TYPES.get(kind) for name, kind in schema.attributes.items()}
    found = [(field.name, field.type) for field in table.schema]
    require(found == list(types.items()), "the events that are held back")
    require(table.num_rows > 0 and table[schema.time].null_count == 0, "the events that are held back")
    times = _times(table, schema)
    require((times[1:] >= times[:-1]).all(), "the times of events that are held back")
    return _SortedRun(table, times)


def _plain(table: pa.Table, schema: Schema) -> pa.Table:
    return table.cast(pa.schema([(name, ARROW_TYPES[kind]) for name, kind in schema.attributes.items()]))


def event_times(batch: EventBatch) -> Times:
    """The time of each event, as a number."""
    known = batch.known.numbers.get(str(batch.schema.time))
    return _times(batch.table, batch.schema) if known is None else known


def time_span(batch: EventBatch) -> TimeSpan | None:
    """The first and the last time of the events; None where there are none."""
    known = batch.known
    if known.span is None and batch.table.num_rows:
        known.span = span_of(event_times(batch))
    return known.span


def _times(table: pa.Table, schema: Schema) -> Times:
    assert schema.time is not None
    column = table[schema.time]
    return numpy_of(column.cast(pa.int64()) if schema.time_type is Type.TIMESTAMP else column)


@record
class _SortedRun:
    """Events in the order of time, those of one instant in the order of arrival. They may be a slice of a table of
    `size` rows."""

    table: pa.Table
    times: Times
    size: int = 0

    def __len__(self) -> int:
        return len(self.times)

    def count_before(self, bound: Time) -> int:
        if bound > self.times[-1]:
            return len(self)
        if bound <= self.times[0]:
            return 0
        # A bound of another type would have NumPy convert all times.
        return int(np.searchsorted(self.times, math.ceil(bound) if self.times.dtype.kind == "i" else bound))

    def without_first(self, count: int) -> _SortedRun:
        """The run without its first events, copied if it is small, so that it does not keep a large table alive."""
        size = self.size or len(self)
        rest = _SortedRun(self.table.slice(count), self.times[count:], size)
        return _sorted(rest.table, rest.times) if 2 * len(rest) < size else rest


@dataclass
class _StreamBuffer:
    """The held-back events of one stream as sorted runs, earlier arrivals before later ones.

    As in a log-structured merge tree, each run has at least twice the length of the next when that is added, or the two
    are merged. So there are few runs, and an event is copied no more often than there are runs: an event that comes
    alone costs little, however many are held back.
    """

    schema: Schema
    runs: list[_SortedRun] = field(default_factory=list)

    def add(self, run: _SortedRun) -> None:
        self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]):
            self.runs[-2:] = [_merged(self.runs[-2:])]

    def release(self, bound: Time) -> list[_SortedRun]:
        """Take out the events before `bound`."""
        if bound == math.inf:
            released, self.runs = self.runs, []
            return released
        released, kept = [], []
        for run in self.runs:
            count = run.count_before(bound)
            if count == len(run):
                released.append(run)
            elif count:
                released.append(_SortedRun(run.table.slice(0, count), run.times[:count]))
            if count < len(run):
                kept.append(run.without_first(count) if count else run)
        self.runs = kept
        return released


def _sorted(table: pa.Table, times: Times) -> _SortedRun:
    """A copy in the order of time; the sort is stable, so that arrival decides within an instant."""
    by = np.arange(len(times)) if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")
    return _SortedRun(take_rows(table, arrow_of(by)), times[by])


def _merged(runs: Sequence[_SortedRun]) -> _SortedRun:
    if len(runs) == 1:
        return runs[0]
    return _sorted(pa.concat_tables([run.table for run in runs]), np.concatenate([run.times for run in runs]))

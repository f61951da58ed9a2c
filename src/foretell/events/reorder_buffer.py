"""Events that wait for their turn. In a live stream they may come out of order, by as much as its LATE BY says.

Time is the latest end time seen in all streams together, less the greatest lateness among them: no stream may bring an
event earlier than that any more, so whatever is earlier can be handed on, in order. What does come earlier is late. An
event of exactly that time waits on, for another of the same instant may still come and, by tie-breaker or stream, go
before it. Where no stream has a lateness nothing waits: events of one instant are then in the order they come in.

>>> from foretell.events.ingest.reader import StreamDeclaration, read
>>> def batch(*times): return read([{"t": t} for t in times], StreamDeclaration("s", {}, "t"))
>>> waiting = ReorderBuffer({"s": 10})
>>> len(waiting.add(batch(20, 4, 9)))
0
>>> waiting.time, waiting.ready()["s"].table["t"].to_pylist()
(10, [4, 9])
>>> waiting.add(batch(8, 11)).events()
(LateEvent(stream='s', row=1, event={'t': 8}),)
>>> waiting.end()["s"].table["t"].to_pylist()
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

from foretell.arrays import Times
from foretell.errors import InputError
from foretell.events.arrow_interop import arrow_of, numpy_of, table_from_bytes, table_to_bytes, take_rows
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Schema, Type, format_timestamp

Time = int | float


@dataclass(frozen=True)
class LateEvent:
    """An event that came too late: the well-formed events of its batch are counted from 1."""

    stream: str
    row: int
    event: Mapping[str, object]


@dataclass(frozen=True)
class LateEvents:
    """The late events of a batch as columns; `rows` are their numbers in it."""

    stream: str
    rows: NDArray[np.int64]
    table: pa.Table

    def __len__(self) -> int:
        return len(self.rows)

    def events(self) -> tuple[LateEvent, ...]:
        numbered = zip(self.rows.tolist(), self.table.to_pylist(), strict=True)
        return tuple(LateEvent(self.stream, row, event) for row, event in numbered)


class ReorderBuffer:
    """The events of some streams that time has not passed yet.

    `lateness` has each stream's; None stands for one that must come in order: it has no late events but errors.
    `time` is what has passed, `latest` each stream's latest event, `late` how many of each came too late.
    """

    def __init__(self, lateness: Mapping[str, Time | None]) -> None:
        self.lateness = dict(lateness)
        self._measure()
        self.time: Time = -math.inf
        self.latest: dict[str, Time] = {}
        self.late: dict[str, int] = {}
        self._held: dict[str, _StreamBuffer] = {}

    def _measure(self) -> None:
        self.longest: Time = max((some for some in self.lateness.values() if some is not None), default=0)

    def __len__(self) -> int:
        """How many events wait."""
        return sum(len(run) for held in self._held.values() for run in held.runs)

    def meet(self, stream: str, lateness: Time | None) -> None:
        """A stream more, or another lateness of one."""
        self.lateness[stream] = lateness
        self._measure()

    def holds(self, stream: str) -> bool:
        """Whether events of a stream wait."""
        return stream in self._held and bool(self._held[stream].runs)

    def leave(self, stream: str) -> None:
        """A stream less, of which nothing waits. Time does not go back."""
        for known in (self.lateness, self.latest, self._held):
            known.pop(stream, None)
        self._measure()

    def add(self, loaded: EventBatch) -> LateEvents:
        """Takes a batch; gives back what came too late.

        Events of one batch come together: they are in any order, and only what was there before makes them late.
        A batch that is refused changes nothing.
        """
        return self.add_together([loaded])[0]

    def add_together(self, batches: Sequence[EventBatch]) -> list[LateEvents]:
        """Takes batches of several streams as one: none makes events of another late."""
        timed = [(loaded, event_times(loaded)) for loaded in batches]
        judged = [(loaded, times, times < self.time) for loaded, times in timed]
        for loaded, times, too_late in judged:
            if self.lateness[loaded.stream] is None and too_late.any():
                raise self._out_of_order(loaded, times, int(too_late.argmax()))
        return [self._sort_out(*one) for one in judged]

    def see(self, latest: Mapping[str, Time]) -> None:
        """The latest event of each stream, which may have gone elsewhere."""
        for stream, time in latest.items():
            self.latest[stream] = max(self.latest.get(stream, time), time)
            self.advance(time - self.longest)

    def _sort_out(self, loaded: EventBatch, times: Times, too_late: NDArray[np.bool_]) -> LateEvents:
        stream, table = loaded.stream, loaded.table
        if not too_late.any():
            self._take(loaded, table, times)
            return LateEvents(stream, np.zeros(0, np.int64), table.slice(0, 0))
        self._take(loaded, table.filter(arrow_of(~too_late)), times[~too_late])
        late = LateEvents(stream, np.flatnonzero(too_late) + 1, table.filter(arrow_of(too_late)))
        self.late[stream] = self.late.get(stream, 0) + len(late)
        return late

    def advance(self, now: Time) -> None:
        """Time is `now`, whatever has been seen: nothing earlier is waited for any more. It never goes back."""
        self.time = max(self.time, now)

    def ready(self) -> dict[str, EventBatch]:
        """What time has passed, each stream's in order."""
        return self._released(self.time if self.longest else math.inf)

    def end(self) -> dict[str, EventBatch]:
        """No more events will come: all that waits."""
        self.advance(max(self.latest.values(), default=-math.inf))
        return self._released(math.inf)

    def clocks(self) -> dict[str, Time]:
        """How far time has come for each stream: as far as for all, but no further than its own events.

        It does not depend on which of its events are here: others, of other lanes, may be elsewhere.
        """
        return {stream: min(latest, max(self.time, latest - self.longest)) for stream, latest in self.latest.items()}

    def state(self) -> dict[str, Any]:
        """All of it as plain values and bytes."""
        held = {
            # (A name that comes from a text knows its place there: `str` forgets it.)
            name: {"schema": msgspec.to_builtins(some.schema, enc_hook=str), "events": _written(some.runs)}
            for name, some in self._held.items()
            if some.runs
        }
        return {"time": self.time, "latest": dict(self.latest), "late": dict(self.late), "held": held}

    @classmethod
    def restore(cls, lateness: Mapping[str, Time | None], state: Mapping[str, Any]) -> ReorderBuffer:
        waiting = cls(lateness)
        waiting.time = state["time"]
        waiting.latest, waiting.late = dict(state["latest"]), dict(state["late"])
        for name, some in state["held"].items():
            schema = msgspec.convert(some["schema"], Schema)
            table = table_from_bytes(some["events"])
            waiting._held[name] = _StreamBuffer(schema, [_SortedRun(table, _times(table, schema))])
        return waiting

    def _take(self, loaded: EventBatch, table: pa.Table, times: Times) -> None:
        if not len(times):
            return
        # What waits is copied, as the caller may use its memory again.
        run = _ordered(table, times) if self.longest else _SortedRun(table, times)
        self._held.setdefault(loaded.stream, _StreamBuffer(loaded.schema)).add(run)
        self.see({loaded.stream: times.max().item()})

    def _released(self, bound: Time) -> dict[str, EventBatch]:
        ready = {}
        for name, held in self._held.items():
            runs = held.release(bound)
            if runs:
                table = _merged(runs).table
                ready[name] = EventBatch(name, held.schema, table, (), table.num_rows)
        return ready

    def _out_of_order(self, loaded: EventBatch, times: Times, row: int) -> InputError:
        found, passed = (format_time(t, loaded.schema.time_type) for t in (times[row].item(), self.time))
        return InputError(
            "out-of-order",
            f"stream '{loaded.stream}': row {row + 1} has {loaded.schema.time} {found}, but time is {passed} already",
            hint="push events in the order of time, all streams together, or declare the stream with LATE BY",
        )


def event_times(loaded: EventBatch) -> Times:
    """The time of each event, as a number."""
    return _times(loaded.table, loaded.schema)


def format_time(time: Time, kind: Type) -> str:
    return format_timestamp(int(time)) if kind is Type.TIMESTAMP else str(time)


def _times(table: pa.Table, schema: Schema) -> Times:
    assert schema.time is not None
    column = table[schema.time]
    return numpy_of(column.cast(pa.int64()) if schema.time_type is Type.TIMESTAMP else column)


@dataclass(frozen=True)
class _SortedRun:
    """Events in the order of time, those of one instant as they came. They may be a part of a table of `size` rows."""

    table: pa.Table
    times: Times
    size: int = 0

    def __len__(self) -> int:
        return len(self.times)

    def before(self, bound: Time) -> int:
        """How many are earlier. (A bound of another type would have NumPy convert all times.)"""
        if bound > self.times[-1]:
            return len(self)
        if bound <= self.times[0]:
            return 0
        return int(np.searchsorted(self.times, math.ceil(bound) if self.times.dtype.kind == "i" else bound))

    def without(self, count: int) -> _SortedRun:
        """All but the first; a small rest does not keep a large table alive."""
        size = self.size or len(self)
        rest = _SortedRun(self.table.slice(count), self.times[count:], size)
        return _ordered(rest.table, rest.times) if 2 * len(rest) < size else rest


@dataclass
class _StreamBuffer:
    """What waits of one stream, in runs, the earlier arrivals before the later ones.

    Each run has at least twice the length of the next when that is added, or they become one. So there are few of them,
    and an event is copied no more often than there are: an event that comes alone costs little, however many wait.
    """

    schema: Schema
    runs: list[_SortedRun] = field(default_factory=list)

    def add(self, run: _SortedRun) -> None:
        self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]):
            self.runs[-2:] = [_merged(self.runs[-2:])]

    def release(self, bound: Time) -> list[_SortedRun]:
        """What is earlier than `bound`."""
        released, kept = [], []
        for run in self.runs:
            count = run.before(bound)
            if count:
                released.append(_SortedRun(run.table.slice(0, count), run.times[:count]))
            if count < len(run):
                kept.append(run.without(count) if count else run)
        self.runs = kept
        return released


def _ordered(table: pa.Table, times: Times) -> _SortedRun:
    """A copy in the order of time; the sort is stable, so that arrival decides within an instant."""
    by = np.arange(len(times)) if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")
    return _SortedRun(take_rows(table, arrow_of(by)), times[by])


def _merged(runs: Sequence[_SortedRun]) -> _SortedRun:
    if len(runs) == 1:
        return runs[0]
    return _ordered(pa.concat_tables([run.table for run in runs]), np.concatenate([run.times for run in runs]))


def _written(runs: Sequence[_SortedRun]) -> bytes:
    return table_to_bytes(_merged(runs).table)

"""Runs of an engine over batches of events, by the public calls and by processor time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from foretell.bench.filter.digests import digest_of
from foretell.bench.growth.curves import Point
from foretell.bench.growth.harness import resident_bytes
from foretell.engine import Engine

Result = TypeVar("Result")
#: Makes so many events, from a number on.
EventSource = Callable[[int, int], pa.Table]

#: Where an engine is slow it gets fewer events, so that a run takes about so many seconds.
SECONDS = 10.0
PROBE = 100


@dataclass(frozen=True)
class LoadedEngine:
    """An engine that has taken its first event, the seconds until then, and the bytes that the process has grown by."""

    engine: Engine
    seconds: float
    nbytes: int


def loaded(text: str, tables: Mapping[str, pa.Table], events: EventSource) -> LoadedEngine:
    """An engine that gets event 0 here, and others from 1 on."""
    warm = Engine(text, tables={name: table.slice(0, 100) for name, table in tables.items()})  # compiles what it needs
    warm.push("events", events(100, 0)).to_arrow()
    before, started = resident_bytes(), time.process_time()
    engine = Engine(text, tables=tables)
    engine.push("events", events(1, 0))
    return LoadedEngine(engine, time.process_time() - started, resident_bytes() - before)


@dataclass
class Pushes:
    """The processor time of `push`, and of `push` with `to_arrow`; matches and their digest by the batch."""

    pushed: float = 0.0
    read: float = 0.0
    events: int = 0
    matches: int = 0
    digests: list[int] = field(default_factory=list)

    def add(self, engine: Engine, batch: pa.Table, columns: tuple[str, ...] = ("start", "id")) -> None:
        started = time.process_time()
        found = engine.push("events", batch)
        self.pushed += time.process_time() - started
        table = found.to_arrow()
        self.read += time.process_time() - started
        self.events += batch.num_rows
        self.matches += table.num_rows
        self.digests.append(digest_of(table, *columns))

    @property
    def rate(self) -> float:
        return self.events / self.pushed if self.pushed else math.inf


def affordable_batches(engine: Engine, events: EventSource, most: int, size: int) -> Iterator[pa.Table]:
    """Batches of so many events, as far as `SECONDS` go and at most up to an event; a slow engine gets smaller ones."""
    probe = Pushes()
    probe.add(engine, events(min(PROBE, most), 1))
    first = 1 + probe.events
    size = max(PROBE, min(size, int(SECONDS * probe.events / max(probe.read, 1e-9))))
    started = time.process_time()
    while first < most and time.process_time() - started < 2 * SECONDS:  # as much again for what the caller compares
        batch = events(min(size, most - first), first)
        first += batch.num_rows
        yield batch


@dataclass(frozen=True)
class EngineRun:
    """A table of subscriptions in an engine: the seconds and bytes of loading it, then its pushes."""

    load_seconds: float
    nbytes: int
    pushes: Pushes

    def point(self, case: str, *, figure: str, curve: str, x: float) -> Point:
        pushes = self.pushes
        rate = pushes.rate
        return Point(
            "filter",
            case,
            pushes.events,
            pushes.pushed,
            rate,
            pushes.matches,
            processor=self.load_seconds,
            figure=figure,
            curve=curve,
            x=x,
            y=round(rate),
            unit="/s",
        )


def measured_run(text: str, subscriptions: pa.Table, events: EventSource, most: int, size: int) -> EngineRun:
    """The run of one statement FOR EACH row of the table `wanted`."""
    ready = loaded(text, {"wanted": subscriptions}, events)
    pushes = Pushes()
    for batch in affordable_batches(ready.engine, events, most, size):
        pushes.add(ready.engine, batch)
    return EngineRun(ready.seconds, ready.nbytes, pushes)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """A result, and the processor time that it took."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started

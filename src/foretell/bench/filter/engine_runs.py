"""Runs of an engine over batches of events, by the public calls and by processor time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from foretell.bench.filter.digests import digest_of
from foretell.bench.growth.harness import resident_bytes
from foretell.engine import Engine

Result = TypeVar("Result")

#: Where an engine is slow it gets fewer events, so that a run takes about so many seconds.
SECONDS = 10.0
PROBE = 1_000


@dataclass(frozen=True)
class LoadedEngine:
    """An engine that has taken its first event, the seconds until then, and the bytes that the process has grown by."""

    engine: Engine
    seconds: float
    nbytes: int


def loaded(text: str, tables: Mapping[str, pa.Table], events: Callable[[int, int], pa.Table]) -> LoadedEngine:
    """`events` makes so many events from a number on; an engine gets the first here, and others from 1 on."""
    warm = Engine(text, tables={name: table.slice(0, 1) for name, table in tables.items()})  # compiles what it needs
    warm.push("events", events(1, 0)).to_arrow()
    before, started = resident_bytes(), time.process_time()
    engine = Engine(text, tables=tables)
    engine.push("events", events(1, 0))
    return LoadedEngine(engine, time.process_time() - started, resident_bytes() - before)


def batches(events: Callable[[int, int], pa.Table], count: int, size: int, first: int = 1) -> Iterator[pa.Table]:
    """Batches of so many events together."""
    for begin in range(0, count, size):
        yield events(min(size, count - begin), first + begin)


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


def affordable(engine: Engine, events: Callable[[int, int], pa.Table], most: int, seconds: float = SECONDS) -> tuple[int, int]:
    """How many events an engine can take in the time, at most so many, and the number from which on they come: some
    are pushed to find out."""
    probe, first = Pushes(), 1
    size = min(PROBE // 10, most)
    while True:
        probe = Pushes()
        probe.add(engine, events(size, first))
        first += size
        if probe.read > seconds / 20 or size >= min(most, PROBE * 50):
            break
        size = min(size * 10, most, PROBE * 50)
    count = int(probe.events / probe.read * seconds) if probe.read else most
    return (most if count >= most else max(count, size, 1)), first


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """A result, and the processor time that it took."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started

"""A local pipeline: a source with Poisson arrivals, a socket, an `ft.Engine`, and a client that notes the time.

The rates of the model are measured beforehand, on events that are in memory. Then events come at several rates, and the
latency of each notification is the time since its last event was due. With the clock on the wall, a process sends them
through a socket; on a machine that is busy with other things that measures the others. With the processor's clock the
same engine gets the same events, and time goes on by the processor time of each push, as on an idle machine.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Floats
from foretell.bench.capacity.comparison import PredictionRow, compared, latency_rows, predicted_point
from foretell.bench.capacity.event_source import KEYS, RECORD, random_events
from foretell.engine import Engine

TEXT = """STREAM ticks (due INT, key INT) TIME due;
SUBSCRIBE pair FROM ticks PER key MATCH a , b;"""

#: The shares of the predicted saturation at which latency is compared.
LOADS = (0.2, 0.4, 0.6, 0.8, 0.9)

#: The most events a second that a source in Python sends at random times.
_FASTEST = 30_000.0

#: Pushes and sizes by which the engine is measured.
_WARM, _PUSHES, _LARGE_PUSHES = 100, 1_000, 150
_SMALL, _LARGE = 10, 2_000


@dataclass(frozen=True)
class EngineTimes:
    """The seconds of a push with one event, of a push besides its events, and of each event in a large push."""

    single: float
    overhead: float
    each: float

    def mean_with(self, other: EngineTimes) -> EngineTimes:
        return EngineTimes(
            single=(self.single + other.single) / 2,
            overhead=(self.overhead + other.overhead) / 2,
            each=(self.each + other.each) / 2,
        )


@dataclass(frozen=True)
class PipelineRun:
    """Latencies in the order of the notifications, the events, and the seconds from the first to the last of them."""

    latencies: Floats
    events: int
    seconds: float


Clock = Callable[[], float]

#: Runs a pipeline at a rate, with so many events, one at a time or not.
Run = Callable[[float, int, bool], PipelineRun]


class Service:
    """The receiving side: events into an engine, one at a time or all that wait."""

    def __init__(self) -> None:
        self._engine = Engine(TEXT)
        first = np.zeros(KEYS, RECORD)  # every later event then completes a match, so that all cost the same
        first["key"] = np.arange(KEYS)
        self._push(first)

    def _push(self, events: NDArray[Any]) -> Floats:
        """The times at which the events that completed a match were due, in seconds."""
        columns = {name: pa.array(np.ascontiguousarray(events[name])) for name in ("due", "key")}
        found = self._engine.push("ticks", pa.table(columns))
        if not len(found):
            return _NONE
        ended: Floats = found.to_arrow()["end"].to_numpy() / 1e6
        return ended

    def handle(self, events: NDArray[Any], clock: Clock, *, single: bool) -> list[Floats]:
        """Pushes the events; the latency of each notification by the clock."""
        parts = [events[k : k + 1] for k in range(len(events))] if single else [events]
        found = []
        for part in parts:
            due = self._push(part)
            if len(due):
                found.append(clock() - due)
        return found


_NONE: Floats = np.zeros(0)


def measure(quick: bool) -> Iterator[PredictionRow]:
    """Compares predictions with pipelines that push one event at a time or all that wait, by both clocks."""
    yield from pipeline_rows(processor_run, "processor clock", time.thread_time, quick)
    yield from pipeline_rows(live_run, "wall clock", time.perf_counter, quick)


def pipeline_rows(run: Run, name: str, clock: Clock, quick: bool) -> Iterator[PredictionRow]:
    """Both pipelines at several rates, and the saturation of the first."""
    seconds, loads = (3.0, LOADS[1:4:2]) if quick else (10.0, LOADS)
    for single in (True, False):
        mode = f"{name}, {'one event a push' if single else 'all that wait'}"
        for load in loads:
            rate, found, times = _run_in_turn(run, clock, load, seconds, single=single)
            point = predicted_point({**_scenario(times, single=single), "provider": {"rate": rate}})
            yield from latency_rows(
                f"{mode}, {rate:,.0f} events/s", point, found.latencies, found.events, found.seconds
            )
        if single:  # no source in Python is quicker than an engine that takes all events that wait
            rate, found, times = _run_in_turn(run, clock, 2.0, min(seconds, 5.0), single=True)
            point = predicted_point({**_scenario(times, single=True), "provider": {"rate": rate / 4}})
            predicted = point.saturation.rate if point.saturation else None
            yield compared(mode, "saturation", predicted, found.events / found.seconds, found.events, found.seconds)


def _run_in_turn(
    run: Run, clock: Clock, load: float, seconds: float, *, single: bool
) -> tuple[float, PipelineRun, EngineTimes]:
    """A run at a share of the rate that the engine carries, and the engine's times before and after it: the speed of a
    machine that others share changes."""
    before = engine_times(clock)
    rate = load * (1 / before.single if single else min(_FASTEST, 1 / before.each))
    found = run(rate, max(int(rate * seconds), 2_000), single)
    after = engine_times(clock)
    return rate, found, before.mean_with(after)


def _scenario(times: EngineTimes, *, single: bool) -> dict[str, Any]:
    if single:
        return {"filter": {"rate": 1 / times.single, "fixed": True}}
    return {"filter": {"rate": 1 / times.each, "fixed": True}, "batches": {"overhead": times.overhead}}


def engine_times(clock: Clock) -> EngineTimes:
    """The times of pushes on this machine: means, since pauses are a part of the service too."""
    single, small = (fmean(_push_seconds(size, _PUSHES, clock)) for size in (1, _SMALL))
    large = fmean(_push_seconds(_LARGE, _LARGE_PUSHES, clock))
    each = max(large - small, 0.01 * large) / (_LARGE - _SMALL)
    return EngineTimes(single, max(small - _SMALL * each, 0.0), each)


def _push_seconds(size: int, pushes: int, clock: Clock) -> list[float]:
    service, seconds = Service(), []
    events = random_events(1.0, size * (_WARM + pushes), seed=4)
    for first in range(0, len(events), size):
        began = clock()
        service.handle(events[first : first + size], clock, single=False)
        seconds.append(clock() - began)
    return seconds[_WARM:]


class ProcessorClock:
    """A clock that goes on by the processor time of this thread, and jumps while it would wait."""

    def __init__(self) -> None:
        self._shift = -time.thread_time()

    def __call__(self) -> float:
        return self._shift + time.thread_time()

    def wait_until(self, moment: float) -> None:
        self._shift += max(moment - self(), 0.0)


def processor_run(rate: float, count: int, single: bool, seed: int = 11) -> PipelineRun:
    """Time goes on by the processor time of the service; while nothing waits, to the next event."""
    service, clock, latencies = Service(), ProcessorClock(), list[Floats]()
    events = random_events(rate, count, seed)
    due, done = events["due"] / 1e6, 0
    while done < count:
        clock.wait_until(float(due[done]))
        ready = done + 1 if single else int(np.searchsorted(due, clock(), side="right"))
        latencies += service.handle(events[done:ready], clock, single=single)
        done = ready
    return PipelineRun(np.concatenate(latencies), count, clock() - float(due[0]))


def live_run(rate: float, count: int, single: bool, seed: int = 11) -> PipelineRun:
    """Another process sends the events through a socket when they are due."""
    service = Service()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = [sys.executable, "-m", "foretell.bench.capacity.event_source", port, rate, count, seed]
        with subprocess.Popen([str(part) for part in command]) as source:
            try:
                server.settimeout(60)
                connection, _ = server.accept()
                with connection:
                    return _served(service, connection, count, single=single)
            finally:
                source.kill()


def _served(service: Service, connection: socket.socket, count: int, *, single: bool) -> PipelineRun:
    """Handles all that comes until the source ends."""
    latencies, began, rest = list[Floats](), 0.0, b""
    while content := connection.recv(1 << 20):
        began = began or time.monotonic()
        content = rest + content
        whole = len(content) - len(content) % RECORD.itemsize
        latencies += service.handle(np.frombuffer(content[:whole], RECORD), time.monotonic, single=single)
        rest = content[whole:]
    return PipelineRun(np.concatenate(latencies), count, time.monotonic() - began)

"""A stream on Spark: `foretell run --follow` over files that appear at fixed intervals, with events at random times.

The time of a micro-batch is measured before and after each run: with files of two sizes, each put there when the
notifications of the one before have come. In the run files come at a rate of events, and latency is the time from an
event to the line of its notification.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from foretell.arrays import Floats
from foretell.bench.capacity.comparison import PredictionRow, compared, latency_rows, predicted_point
from foretell.bench.capacity.event_source import RECORD, random_events
from foretell.capacity.report import CapacityPoint
from foretell.errors import InputError

TEXT = """STREAM ticks (due INT, key INT) TIME due;
SUBSCRIBE seen FROM ticks PER key MATCH a DEFINE a AS key < 100;"""

#: A tenth of the keys has notifications.
_COVERAGE = 0.1

#: The seconds between two files.
FILE_INTERVAL = 0.25

#: Events a second at which latency is compared.
RATES = (200.0, 1_000.0, 4_000.0, 16_000.0)

#: The events of small and large files.
_SMALL, _LARGE = 500, 1_000_000

#: A large micro-batch has so many large files: one alone is read by one core.
_AT_ONCE = 4

#: The small and the large micro-batches by which times are measured, and how many of each do not count.
_SMALL_BATCHES, _WARM_SMALL, _LARGE_BATCHES, _WARM_LARGE = 10, 4, 4, 1

#: The most seconds until the notifications of a file have come.
_PATIENCE = 120.0


class FollowedFolder:
    """A running `foretell run --follow` over a folder; its notifications with the time at which they came."""

    def __init__(self, place: Path) -> None:
        self._inputs = place / "in"
        self._inputs.mkdir()
        (place / "watch.ftl").write_text(TEXT, encoding="utf-8")
        command = ["run", "watch.ftl", "--follow", "--input", "ticks=in", "--checkpoint", "state", "--quiet"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "foretell.cli", *command], cwd=place, stdout=subprocess.PIPE
        )
        self._files = 0
        self._due = 0
        self._lines: list[tuple[float, float]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append((json.loads(line)["end"] / 1e6, time.monotonic()))

    def due_from(self, count: int) -> int:
        """The first of so many microseconds that are still to come, and at which no other events are due."""
        first = max(self._due, int(time.monotonic() * 1e6))
        self._due = first + count
        return first

    def put(self, *files: NDArray[Any]) -> float:
        """Files with these events, which appear under their names when all are complete; returns when that was."""
        drafts = [self._inputs / f".{number}.part" for number in range(len(files))]
        for draft, events in zip(drafts, files, strict=True):
            columns = {name: pa.array(np.ascontiguousarray(events[name])) for name in ("due", "key")}
            pq.write_table(pa.table(columns), draft)
        began = time.monotonic()
        for draft in drafts:
            draft.rename(self._inputs / f"{self._files:06}.parquet")
            self._files += 1
        return began

    @property
    def count(self) -> int:
        return len(self._lines)

    def wait_for(self, count: int) -> None:
        """Waits until so many notifications have come."""
        deadline = time.monotonic() + _PATIENCE
        while self.count < count:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise InputError("no-stream", f"the stream gave {self.count:,} of {count:,} notifications")
            time.sleep(0.002)

    def latencies(self, first: int) -> Floats:
        """The latencies of the notifications from this one on, in the order in which they came."""
        lines = np.array(self._lines[first:])
        found: Floats = lines[:, 1] - lines[:, 0]
        return found

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def measure(quick: bool) -> Iterator[PredictionRow]:
    seconds, rates = (30.0, RATES[1:3]) if quick else (120.0, RATES)
    with tempfile.TemporaryDirectory(prefix="foretell-bench-") as folder:
        stream = FollowedFolder(Path(folder))
        try:
            for rate in rates:
                before = _batch_times(stream)
                found = _live(stream, rate, seconds)
                after = _batch_times(stream)
                point = _predicted(rate, before, after)
                yield from latency_rows(f"Spark, {rate:,.0f} events/s", point, found, int(rate * seconds), seconds)
            before = _batch_times(stream)
            events, seconds = _saturated(stream, 5 if quick else 20)
            point = _predicted(rates[-1], before, _batch_times(stream))
            predicted = point.saturation.rate if point.saturation else None
            yield compared("Spark", "saturation", predicted, events / seconds, events, seconds)
        finally:
            stream.close()


def _predicted(rate: float, before: tuple[float, float], after: tuple[float, float]) -> CapacityPoint:
    """With the mean of two measurements of micro-batches."""
    overhead, each = ((first + second) / 2 for first, second in zip(before, after, strict=True))
    return predicted_point(
        {
            "provider": {"rate": rate},
            "observer": {"method": "scheduled", "interval": FILE_INTERVAL},
            "filter": {"rate": 1 / each, "coverage": _COVERAGE, "fixed": True},
            "batches": {"overhead": overhead},
        }
    )


def _batch_times(stream: FollowedFolder) -> tuple[float, float]:
    """The seconds of a micro-batch besides its events, and those of each event."""
    small = fmean([_batch_seconds(stream, _SMALL, 1) for _ in range(_SMALL_BATCHES)][_WARM_SMALL:])
    large = fmean([_batch_seconds(stream, _LARGE, _AT_ONCE) for _ in range(_LARGE_BATCHES)][_WARM_LARGE:])
    each = max(large - small, 0.01 * large) / (_AT_ONCE * _LARGE - _SMALL)
    return max(small - _SMALL * each, 0.001), each


def _batch_seconds(stream: FollowedFolder, size: int, files: int) -> float:
    """The time of files that appear at once, until all their notifications have come."""
    waiting = [_events_at_once(stream, size, number) for number in range(files)]
    expected = stream.count + sum(map(_notified, waiting))
    began = stream.put(*waiting)
    stream.wait_for(expected)
    return time.monotonic() - began


def _saturated(stream: FollowedFolder, files: int) -> tuple[int, float]:
    """Large files that wait all at once: their events, and the seconds until all notifications have come."""
    return files * _LARGE, _batch_seconds(stream, _LARGE, files)


def _events_at_once(stream: FollowedFolder, count: int, seed: int) -> NDArray[Any]:
    """Events that are due one microsecond after the other."""
    events = np.empty(count, RECORD)
    events["due"] = stream.due_from(count) + np.arange(count)
    events["key"] = np.random.default_rng(seed).integers(0, 1_000, count)
    return events


def _notified(events: NDArray[Any]) -> int:
    """How many of the events have a notification."""
    return int((events["key"] < 100).sum())


def _live(stream: FollowedFolder, rate: float, seconds: float) -> Floats:
    """Files with the events of each interval, as soon as it has passed."""
    begins = stream.due_from(int(seconds * 1.1e6))
    time.sleep(max(begins / 1e6 - time.monotonic(), 0.0))  # events of the measurement before may be due later than now
    events, first = random_events(rate, int(rate * seconds), seed=3), stream.count
    events["due"] += begins
    written, ends = 0, time.monotonic()
    while written < len(events):
        ends += FILE_INTERVAL
        time.sleep(max(ends - time.monotonic(), 0.0))
        ready = int(np.searchsorted(events["due"], int(ends * 1e6)))
        if ready > written:
            stream.put(events[written:ready])
        written = ready
    stream.wait_for(first + _notified(events))
    return stream.latencies(first)

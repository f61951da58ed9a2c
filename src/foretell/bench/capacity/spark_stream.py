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
from foretell.bench.capacity.comparison import PredictionRow, latency_rows, predicted_point
from foretell.bench.capacity.event_source import RECORD, random_events
from foretell.errors import InputError

TEXT = """STREAM ticks (due INT, key INT) TIME due;
SUBSCRIBE seen FROM ticks PER key MATCH a DEFINE a AS key < 100;"""

#: A tenth of the keys has notifications.
_COVERAGE = 0.1

#: The seconds between two files.
FILE_INTERVAL = 0.25

#: Events a second at which latency is compared.
RATES = (200.0, 1_000.0, 4_000.0, 16_000.0)

#: The events of small and large files, and the files of each size; the first ones do not count.
_SMALL, _LARGE, _FILES, _WARM = 500, 100_000, 10, 4

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
        self._lines: list[tuple[float, float]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append((json.loads(line)["end"] / 1e6, time.monotonic()))

    def put(self, events: NDArray[Any]) -> None:
        """A file with these events; it appears under its name when it is complete."""
        draft = self._inputs / f".{self._files}.part"
        columns = {name: pa.array(np.ascontiguousarray(events[name])) for name in ("due", "key")}
        pq.write_table(pa.table(columns), draft)
        draft.rename(self._inputs / f"{self._files:06}.parquet")
        self._files += 1

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
                overhead, each = ((first + second) / 2 for first, second in zip(before, after, strict=True))
                point = predicted_point(
                    {
                        "provider": {"rate": rate},
                        "observer": {"method": "scheduled", "interval": FILE_INTERVAL},
                        "filter": {"rate": 1 / each, "coverage": _COVERAGE, "fixed": True},
                        "batches": {"overhead": overhead},
                    }
                )
                yield from latency_rows(f"Spark, {rate:,.0f} events/s", point, found, int(rate * seconds), seconds)
        finally:
            stream.close()


def _batch_times(stream: FollowedFolder) -> tuple[float, float]:
    """The seconds of a micro-batch besides its events, and those of each event."""
    small, large = (_batch_seconds(stream, size) for size in (_SMALL, _LARGE))
    each = max(large - small, 0.01 * large) / (_LARGE - _SMALL)
    return max(small - _SMALL * each, 0.001), each


def _batch_seconds(stream: FollowedFolder, size: int) -> float:
    seconds = []
    for number in range(_FILES):
        events = np.empty(size, RECORD)
        events["due"] = _now() + np.arange(size)
        events["key"] = np.random.default_rng(number).integers(0, 1_000, size)
        began, expected = time.monotonic(), stream.count + int((events["key"] < 100).sum())
        stream.put(events)
        stream.wait_for(expected)
        seconds.append(time.monotonic() - began)
    return fmean(seconds[_WARM:])


def _live(stream: FollowedFolder, rate: float, seconds: float) -> Floats:
    """Files with the events of each interval, as soon as it has passed."""
    time.sleep(0.2)  # events of the measurement before may be due up to 0.1 s later
    events, first = random_events(rate, int(rate * seconds), seed=3), stream.count
    events["due"] += _now()
    written, ends = 0, time.monotonic()
    while written < len(events):
        ends += FILE_INTERVAL
        time.sleep(max(ends - time.monotonic(), 0.0))
        ready = int(np.searchsorted(events["due"], int(ends * 1e6)))
        if ready > written:
            stream.put(events[written:ready])
        written = ready
    stream.wait_for(first + int((events["key"] < 100).sum()))
    return stream.latencies(first)


def _now() -> int:
    return int(time.monotonic() * 1e6)

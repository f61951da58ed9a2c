"""`foretell bench command`: the first answer on a file of five lines, and matches in a large CSV.

The first answer is the time of a whole process, warm: a run before it has cached the kernels and Python's bytecode.
The rate of the CSV is rows for each second of processor time of `ft.run`, from the file to the notifications; that of
the whole command includes the start of its process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from foretell.api.run import run
from foretell.bench.result import BenchResult

ROWS = 4_000_000
STARTS, RUNS = 7, 3
_STREAM = "readings"

_FIVE_LINES = """\
time,user,status
2026-03-01 10:00:00,ann,denied
2026-03-01 10:00:20,bob,denied
2026-03-01 10:00:30,ann,denied
2026-03-01 10:00:40,ann,denied
2026-03-01 10:01:00,ann,success
"""
_GUESSED = """\
SUBSCRIBE guessed FROM logins PER user MATCH fail{2,} , ok
DEFINE fail AS status = 'denied', ok AS status = 'success'
WITHIN 2 min AFTER MATCH LONGEST RETURN count(fail) AS failures;
"""
_HOT = """\
SUBSCRIBE hot FROM readings PER sensor MATCH up{2,}
DEFINE up AS temperature > 35 AND pressure > 1000
AFTER MATCH LONGEST RETURN count(up) AS readings, max(up.count) AS most;
"""


def measure(rows: int = ROWS) -> Iterator[BenchResult]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield _first_answer(folder)
        for case, dates in (("CSV", False), ("CSV, dates", True)):
            path = folder / "readings.csv"
            _write(path, rows, dates=dates)
            seconds = min(_processor_time(partial(_matches, path)) for _ in range(RUNS))
            yield BenchResult("command", f"{case}: ft.run", rows, seconds, rows / seconds)
            (folder / "hot.ftl").write_text(_HOT)
            arguments = ("hot.ftl", "--input", f"{_STREAM}={path}", "--engine", "embedded")
            seconds = min(_children_time(partial(_command, folder, *arguments)) for _ in range(RUNS))
            yield BenchResult("command", f"{case}: whole command", rows, seconds, rows / seconds)


def _first_answer(folder: Path) -> BenchResult:
    (folder / "logins.csv").write_text(_FIVE_LINES)
    (folder / "guessed.ftl").write_text(_GUESSED)
    arguments = ("guessed.ftl", "--input", "logins=logins.csv")
    _command(folder, *arguments)  # compiles what is not cached yet
    seconds = []
    for _ in range(STARTS):
        started = time.perf_counter()
        answer = _command(folder, *arguments)
        seconds.append(time.perf_counter() - started)
        if b'"failures":3' not in answer:
            raise AssertionError(f"another answer: {answer!r}")
    median = sorted(seconds)[STARTS // 2]
    note = f"{median:.2f} s (median of {STARTS}; {min(seconds):.2f} to {max(seconds):.2f})"
    return BenchResult("command", "first answer on five lines", 1, median, 1 / median, note=note)


def _command(folder: Path, *arguments: str) -> bytes:
    command = [sys.executable, "-m", "foretell.cli", "run", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True).stdout


def _matches(path: Path) -> None:
    if not len(run(_HOT, {_STREAM: path}, time="time", engine="embedded")):
        raise AssertionError("no matches")


def _processor_time(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _children_time(work: Callable[[], object]) -> float:
    before = os.times()
    work()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _write(path: Path, rows: int, *, dates: bool) -> None:
    """Readings of a thousand sensors, by second or a hundred a day."""
    numbers = np.random.default_rng(7)
    moments = np.datetime64("2024-01-01", "s") + np.arange(rows).astype("timedelta64[s]")
    days = np.datetime64("1970-01-01", "D") + (np.arange(rows) // 100).astype("timedelta64[D]")
    table = pa.table(
        {
            "time": pa.array(days if dates else moments).cast(pa.string()),
            "sensor": pa.array(numbers.integers(0, 1_000, rows)),
            "temperature": pa.array(numbers.normal(20, 5, rows).round(2)),
            "pressure": pa.array(numbers.normal(1_013, 9, rows).round(3)),
            "count": pa.array(numbers.integers(0, 100_000, rows)),
        }
    )
    with pa.output_stream(path) as stream:
        arrow_csv.write_csv(table, stream, arrow_csv.WriteOptions(quoting_style="none"))

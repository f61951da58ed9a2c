"""`foretell bench read`: from a file to typed events in memory, by format.

The rate is rows for each second of processor time, of all threads together: what one core does. `limit` is the rate of
pyarrow.csv alone, with its own guess of the types, on the CSV of the same rows.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from foretell.bench.result import BenchResult
from foretell.events.ingest.reader import StreamDeclaration, read

ROWS = 1_000_000
RUNS = 3


def measure(rows: int = ROWS) -> Iterator[BenchResult]:
    with tempfile.TemporaryDirectory() as folder:
        for case, path in _written(Path(folder), rows):
            seconds = _best(partial(_read, path, rows))
            limit = _best(partial(_arrow, path)) if case.startswith("CSV") else None
            yield BenchResult(
                "read", case, rows, seconds, rows / seconds, limit=None if limit is None else rows / limit
            )


def _read(path: Path, rows: int) -> None:
    batch = read(path, StreamDeclaration("readings", {}, "time", open=True))
    if batch.table.num_rows != rows:
        raise AssertionError(f"{path}: {batch.table.num_rows} of {rows} rows")


def _arrow(path: Path) -> None:
    arrow_csv.read_csv(path, arrow_csv.ReadOptions(use_threads=False))


def _best(work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(RUNS):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def _written(folder: Path, rows: int) -> Iterator[tuple[str, Path]]:
    """Each case with its file: a sensor's number, two measured values and a count, by second or by day."""
    numbers = np.random.default_rng(7)
    values: dict[str, Any] = {
        "sensor": numbers.integers(0, 1_000, rows),
        "temperature": numbers.normal(20, 5, rows).round(2),
        "pressure": numbers.normal(1_013, 9, rows).round(3),
        "count": numbers.integers(0, 100_000, rows),
    }
    moments = np.datetime64("2024-01-01", "s") + np.arange(rows).astype("timedelta64[s]")
    days = np.datetime64("1970-01-01", "D") + (np.arange(rows) // 50).astype("timedelta64[D]")
    table = pa.table({"time": pa.array(moments).cast(pa.string()), **values})
    named = table.append_column("place", pa.array([f"hall {n % 40}" for n in range(rows)]))
    for case, name, written, quoted in (
        ("CSV", "plain.csv", table, False),
        ("CSV, dates", "dates.csv", table.set_column(0, "time", pa.array(days).cast(pa.string())), False),
        ("CSV, quoted", "quoted.csv", named, True),
        ("CSV, gzip", "packed.csv.gz", table, False),
    ):
        with pa.output_stream(folder / name) as stream:
            arrow_csv.write_csv(
                written, stream, arrow_csv.WriteOptions(quoting_style="all_valid" if quoted else "none")
            )
        yield case, folder / name
    with (folder / "lines.jsonl").open("w") as file:
        file.writelines(_json_lines(table))
    yield "JSON lines", folder / "lines.jsonl"
    pq.write_table(table.set_column(0, "time", pa.array(moments)), folder / "rows.parquet")
    yield "Parquet", folder / "rows.parquet"


def _json_lines(table: pa.Table) -> Iterator[str]:
    for time_, sensor, temperature, pressure, count in zip(*(c.to_pylist() for c in table.columns), strict=True):
        yield (
            f'{{"time":"{time_}","sensor":{sensor},"temperature":{temperature},'
            f'"pressure":{pressure},"count":{count}}}\n'
        )

"""Batch cases of `foretell bench spark`: ten million ticks in Parquet through Spark on two cores of this machine.

Notifications are encoded and sorted as for a sink, and discarded. `limit` is the speed at which the same code reads,
encodes, shuffles and decodes the events, without any matching.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import declaration_of
from foretell.bench.engine import WORKLOADS
from foretell.bench.result import BenchResult
from foretell.bench.spark.baselines import events_read, events_shuffled, notifications_sorted
from foretell.bench.workloads.ticks import ticks
from foretell.language.subscriptions import parse
from foretell.spark.batch.job import BatchJob
from foretell.spark.session import session

EVENTS = 10_000_000
RUNS = 3
_FILES = 4
_GROUPS = 4


def measure() -> Iterator[BenchResult]:
    """Measure reading, the shuffle and the workloads: the best of several runs, in workers that have started."""
    spark = session("foretell-bench", **{"spark.master": "local[2]"})
    try:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), EVENTS)
            texts = {workload.name: workload.text for workload in WORKLOADS}
            baseline = _job(texts["w1"], folder)
            yield _measured("read only", lambda: events_read(baseline), None)
            shuffled = _measured("read and shuffle", lambda: events_shuffled(baseline), None)
            yield shuffled
            for name in ("w1", "w2", "w3"):
                job = _job(texts[name], folder)
                yield _measured(name, partial(notifications_sorted, job), shuffled.rate)
    finally:
        spark.stop()


def write(folder: Path, count: int) -> None:
    """Write the ticks twice, one copy after the other in time: the shared workload has only half as many."""
    first = ticks(count // 2)
    times = first["ts"].to_numpy()
    shift = pa.scalar(times[-1] - times[0] + 10)
    second = first.set_column(0, "ts", pa.chunked_array([pc.add(first["ts"], shift)]))
    table = pa.concat_tables([first, second])
    size = count // _FILES
    for number in range(_FILES):
        part = table.slice(number * size, size)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=size // _GROUPS)


def _job(text: str, folder: str) -> BatchJob:
    program = parse(text)
    return BatchJob(
        program,
        {"ticks": folder},
        {"ticks": declaration_of(program, "ticks", InputSettings({"ticks": "ts"}))},
        {},
        None,
    )


def _measured(name: str, run: Callable[[], int], limit: float | None) -> BenchResult:
    seconds, count = [], 0
    for _ in range(RUNS):
        started = time.perf_counter()
        count = run()
        seconds.append(time.perf_counter() - started)
    best = min(seconds)
    matches = None if limit is None else count
    return BenchResult("spark", name, EVENTS, best, EVENTS / best, matches, limit)

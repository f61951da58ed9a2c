"""`foretell bench spark`: ten million ticks in Parquet through Spark on two cores of this machine, notifications in
their order, made as a sink would have them and thrown away.

`limit` is the speed of the same events read, packed, shuffled and unpacked by the same code, without any matching.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foretell.arguments.streams import declaration_of
from foretell.bench.engine import WORKLOADS
from foretell.bench.result import BenchResult
from foretell.bench.spark.baselines import events_read, events_shuffled, notified
from foretell.bench.workloads.ticks import ticks
from foretell.language.subscriptions import parse
from foretell.spark.batch.job import BatchJob
from foretell.spark.session.spark_session import session

EVENTS = 10_000_000
RUNS = 3
_FILES = 4
_GROUPS = 4


def measure() -> Iterator[BenchResult]:
    """Reading, the shuffle, and the workloads; the best of some runs, in workers that have started."""
    spark = session("foretell-bench", **{"spark.master": "local[2]"})
    try:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), EVENTS)
            texts = {workload.name: workload.text for workload in WORKLOADS}
            bare = _batch(texts["w1"], folder)
            yield _measured("read only", lambda: events_read(bare), None)
            shuffled = _measured("read and shuffle", lambda: events_shuffled(bare), None)
            yield shuffled
            for name in ("w1", "w2", "w3"):
                batch = _batch(texts[name], folder)
                yield _measured(name, lambda batch=batch: notified(batch), shuffled.rate)  # type: ignore[misc]
    finally:
        spark.stop()


def write(folder: Path, count: int) -> None:
    """The ticks twice, one after the other in time: the stream that engines are compared on has no more than half."""
    some = ticks(count // 2)
    times = some["ts"].to_numpy()
    later = some.set_column(0, "ts", pa.chunked_array([pc.add(some["ts"], pa.scalar(times[-1] - times[0] + 10))]))
    table = pa.concat_tables([some, later])
    size = count // _FILES
    for number in range(_FILES):
        part = table.slice(number * size, size)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=size // _GROUPS)


def _batch(text: str, folder: str) -> BatchJob:
    program = parse(text)
    return BatchJob(program, {"ticks": folder}, {"ticks": declaration_of(program, "ticks", {"ticks": "ts"})}, {}, None)


def _measured(name: str, work: Callable[[], int], limit: float | None) -> BenchResult:
    seconds, found = [], 0
    for _ in range(RUNS):
        started = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - started)
    best = min(seconds)
    matches = None if limit is None else found
    return BenchResult("spark", name, EVENTS, best, EVENTS / best, matches, limit)

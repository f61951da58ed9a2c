"""Streaming cases of `foretell bench spark`: ticks from a file source through Spark's state, in micro-batches.

The rate is that of the micro-batches after the first few, in which Spark compiles and workers start. A baseline with
state for each key, as in Spark's own examples, runs on fewer events.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.streaming.query import StreamingQuery

from foretell.bench.processes import processor_seconds
from foretell.bench.result import BenchResult

KEYS = 10_000
FILES = 24
ROWS = 500_000
#: Micro-batches that are not measured.
WARM = 4
#: State for each key is so much slower that it gets few micro-batches of the same size, and one to warm up.
FEW_FILES, FEW_WARM = 4, 1

TEXT = """STREAM ticks (id INT, ts INT, key INT, price FLOAT, volume INT) TIME ts ID id;
SUBSCRIBE w1 FROM ticks PER key MATCH a , b , c
DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price;"""
_COLUMNS = "id BIGINT, ts BIGINT, key BIGINT, price DOUBLE, volume BIGINT"


def measure(files: int = FILES, rows: int = ROWS) -> Iterator[BenchResult]:
    """Measure whole files read in the tasks, rows read by Spark, and state for each key."""
    with tempfile.TemporaryDirectory(prefix="foretell-bench-") as folder:
        place = Path(folder)
        write_ticks(place / "in", files, rows)
        yield _measured("stream w1", place, place / "in", files=True)
        yield _measured("stream w1, rows of Spark", place, place / "in", files=False)
        write_ticks(place / "few", FEW_FILES, rows)
        yield _measured("stream w1, state by key", place, place / "few", by_key=True)


def write_ticks(folder: Path, files: int, rows: int) -> None:
    """Write ticks of ten thousand keys as Parquet files in the order of time, each with a later modification time."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(20261115)
    for number in range(files):
        first = number * rows
        columns: dict[str, Any] = {
            "id": np.arange(first, first + rows),
            "ts": np.arange(first, first + rows) // 10,
            "key": generator.integers(0, KEYS, rows),
            "price": np.round(generator.uniform(50, 150, rows), 2),
            "volume": generator.integers(1, 1001, rows),
        }
        path = folder / f"{number:04}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _measured(case: str, place: Path, ticks: Path, *, files: bool = False, by_key: bool = False) -> BenchResult:
    from foretell.bench.spark.state_per_key import follow_by_key
    from foretell.spark.session import session
    from foretell.spark.streaming.query import follow

    conf: dict[str, str | int | float | bool] = {"spark.master": "local[2,4]", "spark.sql.shuffle.partitions": 2}
    spark = session("foretell-bench", **conf)
    reader = spark.readStream.option("maxFilesPerTrigger", 2)
    if files:
        whole = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
        frame = reader.format("binaryFile").schema(whole).load(str(ticks))
    else:
        frame = reader.schema(_COLUMNS).parquet(str(ticks))
    notifications = follow_by_key(frame) if by_key else follow(TEXT, {"ticks": frame}, shards=8)
    run = place / case.replace(" ", "-")
    writer = notifications.writeStream.format("parquet").option("checkpointLocation", str(run / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(run / "out"))
    warm = FEW_WARM if by_key else WARM
    processor = _processor_after(query, warm)
    sizes = [pq.ParquetFile(path).metadata.num_rows for path in sorted(ticks.iterdir())]
    batches = [sum(sizes[n : n + 2]) for n in range(0, len(sizes), 2)]
    durations = [progress["durationMs"]["triggerExecution"] / 1000 for progress in query.recentProgress]
    events, seconds = sum(batches[warm:]), sum(durations[warm : len(batches)])
    matches = spark.read.parquet(str(run / "out")).count()
    return BenchResult("spark", case, events, seconds, events / seconds, matches, processor=processor)


def _processor_after(query: StreamingQuery, warm: int) -> float | None:
    """Wait for the query's end: the processor time of all processes since its first micro-batches."""
    while query.isActive and len(query.recentProgress) < warm:
        time.sleep(0.05)
    before = processor_seconds()
    query.awaitTermination()
    after = processor_seconds()
    return None if before is None or after is None else after - before

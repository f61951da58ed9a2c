"""Keys that never return, on Spark: lanes that can no longer match are freed, and the state stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from foretell.spark.streaming.query import follow

FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
TEXT = """STREAM s (k STRING, v INT, t INT, e INT) TIME t ID e;
SUBSCRIBE pair FROM s PER k MATCH a ; b DEFINE a AS v = 1, b AS v = 2 WITHIN 20000;
SUBSCRIBE alone FROM s PER k MATCH a ; !b DEFINE a AS v = 1, b AS v = 2 WITHIN 20000;"""


@pytest.mark.soak
def test_state_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    events, batches = 30_000, 30
    (tmp_path / "in").mkdir()
    for number in range(batches):
        numbers = np.arange(number * events, (number + 1) * events)
        keys = pa.array([f"key {n // 3}" for n in numbers])
        path = tmp_path / "in" / f"{number:04}.parquet"
        table = pa.table([keys, *map(pa.array, (numbers % 3, numbers, numbers))], ["k", "v", "t", "e"])
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    frame = spark.readStream.format("binaryFile").schema(FILES).option("maxFilesPerTrigger", 1)
    notified = follow(TEXT, {"s": frame.load(str(tmp_path / "in"))})
    writer = notified.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"), format="parquet")
    query.awaitTermination()
    observed = [p["observedMetrics"]["foretell"].asDict() for p in query.recentProgress if p["numInputRows"]]
    sizes = [figures["state_bytes"] for figures in observed]
    assert len(sizes) == batches
    assert max(sizes[batches // 2 :]) <= 1.1 * max(sizes[: batches // 2])
    rows = spark.read.parquet(str(tmp_path / "out"))
    assert rows.where("subscription = 'pair'").count() == events * batches // 3

"""What large state costs a stream: python benchmarks/state.py [PARTIAL_MATCHES ...]

A first micro-batch begins so many partial matches. Small ones follow: a thousand new keys in each; then a thousand
known ones anywhere, which come to their end; then one event. At last the query is started again. Java compiles what it
runs often, so micro-batches of one event go on for a while, and the median is that of the later half. With 0 the same
micro-batches go through a stateful query that does nothing: what Spark alone takes.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from foretell.machine.exec.limits import Limits
from foretell.spark.session.local_files import use_plain_files
from foretell.spark.session.spark_session import session
from foretell.spark.streaming.query import follow, use_rocksdb

TEXT = """STREAM s (k INT, v INT, t INT) TIME t;
SUBSCRIBE p FROM s PER k MATCH a ; b DEFINE a AS v > 0, b AS v < 0;"""
FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
FEW = 1_000
TIMES = 4
SINGLE = 60
SHARDS, CORES = 8, 2


def batches(count: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    random = np.random.default_rng(20261115)
    if count:
        yield "first", random.permutation(count), random.integers(1, 1 << 40, count)
    for number in range(TIMES if count else 0):
        yield "new keys", np.arange(FEW) + count + number * FEW, random.integers(1, 1 << 40, FEW)
    for _ in range(TIMES if count else 0):
        yield "known keys", random.integers(0, count, FEW), np.full(FEW, -1)
    for _ in range(SINGLE):
        yield "one event", np.zeros(1, np.int64), np.zeros(1, np.int64)


class Nothing(StatefulProcessor):
    """Reads and writes a small value for each key, as any stateful query has to."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._value = handle.getValueState("value", "data BINARY")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # type: ignore[override]  # noqa: N802, N803
        list(rows)
        self._value.get()
        self._value.update((bytes(200),))
        yield Row(data=None)

    def close(self) -> None:
        pass


def spark_alone(frame: DataFrame) -> DataFrame:
    """A query of the form of ours: rows for all shards, a state for each, and rows decoded from the output."""

    def mapped(files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in files:
            if batch.num_rows:
                yield pa.RecordBatch.from_pydict({"shard": list(range(SHARDS)), "data": [b""] * SHARDS})

    use_rocksdb(frame.sparkSession)
    frame.sparkSession.conf.set("spark.sql.shuffle.partitions", CORES)
    by_shard = frame.select("path", "content").mapInArrow(mapped, "shard BIGINT, data BINARY").groupBy("shard")
    rows = by_shard.transformWithState(Nothing(), "data BINARY", outputMode="Append", timeMode="None")
    return rows.mapInArrow(lambda output: output, "data BINARY")


def run(folder: Path, *, alone: bool) -> list[dict[str, Any]]:
    """The progress of each micro-batch, from the checkpoint to the last file."""
    conf = {"spark.driver.memory": "6g", "spark.sql.streaming.numRecentProgressUpdates": 1000}
    spark = session("foretell-state", **{"spark.master": f"local[{CORES},4]", **conf})
    use_plain_files(spark)
    frame = spark.readStream.format("binaryFile").schema(FILES).option("maxFilesPerTrigger", 1).load(str(folder / "in"))
    limits = Limits(lane=1 << 40, engine=1 << 40)
    told = spark_alone(frame) if alone else follow(TEXT, {"s": frame}, shards=SHARDS, limits=limits)
    writer = told.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    query = writer.start(str(folder / "out"), format="parquet")
    query.awaitTermination()
    progress = [dict(one) for one in query.recentProgress if one["numInputRows"]]
    spark.stop()
    return progress


def measure(count: int, folder: Path) -> None:
    (folder / "in").mkdir()
    names, time = [], 0
    for number, (name, keys, values) in enumerate(batches(count)):
        path = folder / "in" / f"{number:04}.parquet"
        pq.write_table(pa.table({"k": keys, "v": values, "t": np.arange(time, time + len(keys))}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        names.append(name)
        time += len(keys)
    progress = run(folder, alone=not count)
    path = path.rename(folder / "in" / "9999.parquet")
    os.utime(path, (1_700_009_999, 1_700_009_999))
    for name in dict.fromkeys(names):
        of_name = [one for one, said in zip(progress, names, strict=True) if said == name]
        show(name, of_name[len(of_name) // 2 :] if name == "one event" else of_name)
    show("again", run(folder, alone=not count))


def show(name: str, some: list[dict[str, Any]]) -> None:
    def middle(figure: str) -> float:
        metrics = [one["observedMetrics"].get("foretell") for one in some]
        found = [None if metric is None else metric.asDict().get(figure) for metric in metrics]
        return statistics.median(value or 0 for value in found)

    seconds = statistics.median(one["durationMs"]["triggerExecution"] / 1000 for one in some)
    print(
        f"{name:10} {seconds:6.2f} s   {middle('state_bytes') / 1e6:6.1f} MB in {middle('pages'):.0f} pages, written"
        f" {middle('bytes_written') / 1e6:.1f} MB, {middle('pages_written'):.0f} pages, {middle('state_ms'):.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ["0", "60000", "600000", "1200000"]:
        print(f"{int(wanted):,} partial matches")
        with tempfile.TemporaryDirectory(prefix="foretell-state-") as place:
            measure(int(wanted), Path(place))

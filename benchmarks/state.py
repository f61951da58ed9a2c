"""What large state costs a stream: python benchmarks/state.py [PARTIAL_MATCHES ...]

A first micro-batch begins so many partial matches. Small ones follow: a thousand new keys in each; then a thousand
known ones anywhere, which come to their end; then one event. At last the query is started again, by new workers.
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

from foretell.machine.exec.limits import Limits
from foretell.spark.session.spark_session import session
from foretell.spark.streaming.query import follow

TEXT = """STREAM s (k INT, v INT, t INT) TIME t;
SUBSCRIBE p FROM s PER k MATCH a ; b DEFINE a AS v > 0, b AS v < 0;"""
FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
FEW = 1_000
TIMES = 4


def batches(count: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    random = np.random.default_rng(20261115)
    yield "first", random.permutation(count), random.integers(1, 1 << 40, count)
    for number in range(TIMES):
        yield "new keys", np.arange(FEW) + count + number * FEW, random.integers(1, 1 << 40, FEW)
    for _ in range(TIMES):
        yield "known keys", random.integers(0, count, FEW), np.full(FEW, -1)
    for _ in range(TIMES):
        yield "one event", np.zeros(1, np.int64), np.zeros(1, np.int64)


def run(folder: Path) -> list[dict[str, Any]]:
    """The progress of each micro-batch, from the checkpoint to the last file."""
    spark = session("foretell-state", **{"spark.master": "local[2,4]", "spark.driver.memory": "6g"})
    frame = spark.readStream.format("binaryFile").schema(FILES).option("maxFilesPerTrigger", 1).load(str(folder / "in"))
    told = follow(TEXT, {"s": frame}, limits=Limits(lane=1 << 40, engine=1 << 40))
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
    progress = run(folder)
    path = path.rename(folder / "in" / "9999.parquet")
    os.utime(path, (1_700_009_999, 1_700_009_999))
    for name in dict.fromkeys(names):
        show(name, [one for one, said in zip(progress, names, strict=True) if said == name])
    show("again", run(folder))


def show(name: str, some: list[dict[str, Any]]) -> None:
    def middle(figure: str) -> float:
        found = [one["observedMetrics"]["foretell"].asDict().get(figure) for one in some]
        return statistics.median(value or 0 for value in found)

    seconds = statistics.median(one["durationMs"]["triggerExecution"] / 1000 for one in some)
    print(
        f"{name:10} {seconds:6.2f} s   {middle('state_bytes') / 1e6:6.1f} MB in {middle('pages'):.0f} pages, written"
        f" {middle('bytes_written') / 1e6:.1f} MB, {middle('pages_written'):.0f} pages, {middle('state_ms'):.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ["60000", "600000", "1200000"]:
        print(f"{int(wanted):,} partial matches")
        with tempfile.TemporaryDirectory(prefix="foretell-state-") as place:
            measure(int(wanted), Path(place))

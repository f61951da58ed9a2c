"""w1 as a table function of Spark SQL beside `ft.run`: python benchmarks/sql.py [EVENTS] [NAMES]

Ticks in Parquet, `local[2]`; the best of three runs in workers that have started. Each way counts its notifications.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import foretell as ft
from foretell.bench.engine import WORKLOADS
from foretell.bench.workloads.ticks import ticks
from foretell.spark.session.spark_session import session
from foretell.spark.sql.table_function import register

TEXT = next(workload.text for workload in WORKLOADS if workload.name == "w1")
RUNS = 3


def stream(count: int, names: int) -> pa.Table:
    """The ticks, with as many names as are asked for."""
    found = ticks(count)
    if names == 100:
        return found
    column = found.column_names.index("name")
    drawn = np.random.default_rng(1).integers(0, names, count)
    return found.set_column(column, "name", pa.array([f"n{n}" for n in drawn.tolist()]))


def measured(name: str, work: Callable[[], int]) -> float:
    seconds, found = [], 0
    for _ in range(RUNS):
        started = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - started)
    print(f"{name:60} {min(seconds):7.2f} s {found:>10,}", flush=True)
    return min(seconds)


def main(count: int = 1_000_000, names: int = 100) -> None:
    spark = session("foretell-sql", **{"spark.master": "local[2]", "spark.sql.shuffle.partitions": "4"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ticks.parquet"
        pq.write_table(stream(count, names), path)
        frame = spark.read.parquet(str(path))
        frame.select("ts", "name", "price").createOrReplaceTempView("ticks")
        (name,) = register(spark, TEXT, {"ticks": "ticks"}, time={"ticks": "ts"})

        def asked() -> int:
            return int(spark.sql(f"SELECT count(*), max(end) FROM {name}(TABLE(ticks))").collect()[0][0])

        def batch() -> int:
            told = ft.run(TEXT, {"ticks": frame}, time={"ticks": "ts"})
            return int(told.agg({"*": "count", "end": "max"}).collect()[0][0])

        def sorted_only() -> int:
            some = spark.table("ticks").repartition(4, "name").sortWithinPartitions("name", "ts")
            return int(some.selectExpr("sum(price)", "count(*)").collect()[0][1])

        measured("the table function", asked)
        measured("ft.run with a frame", batch)
        measured("read, shuffled and sorted by Spark, no matching", sorted_only)
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Column names that Spark must quote, with a dot and a backtick: in batches, pushed-down predicates and streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import foretell as ft
from foretell.spark.column_names import column
from foretell.spark.streaming import follow
from tests.spark.streaming_queries import finish, frame, put, read

NAME = "a.`b"
TEXT = f"""
STREAM s (time INT, id INT, "{NAME}" INT) TIME time ID id;
SUBSCRIBE m FROM s PER "{NAME}" MATCH x ; y DEFINE x AS "{NAME}" > 1, y AS "{NAME}" > 1;
"""
EVENTS = [{"time": i, "id": i, NAME: i % 3} for i in range(9)]


def expected() -> list[dict[str, Any]]:
    found = ft.run(TEXT, {"s": EVENTS}, engine="embedded")
    assert [n.key for n in found] == [{NAME: 2}, {NAME: 2}, {NAME: 2}]
    return [dict(n.events) for n in found]


def test_quoted_columns(spark: SparkSession) -> None:
    [row] = spark.createDataFrame([(1, 2)], ["a.b", NAME]).select(column("a.b"), column(NAME)).collect()
    assert tuple(row) == (1, 2)


def test_batch(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(EVENTS), tmp_path / "s.parquet")
    rows = spark.read.parquet(str(tmp_path))
    for source in (rows, rows.repartition(2)):  # with and without a pushed-down predicate
        notified = cast(DataFrame, ft.run(TEXT, {"s": cast(Any, source)}))
        assert [row["events"].asDict() for row in notified.collect()] == expected()


def test_stream(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", EVENTS, 0)
    events = frame(spark, tmp_path / "in", "time BIGINT, id BIGINT, `a.``b` BIGINT")
    finish(follow(TEXT, {"s": events}, shards=2), tmp_path)
    notified = read(spark, tmp_path).where("kind = 'match'").orderBy("start", "end")
    assert [row["events"].asDict() for row in notified.collect()] == expected()

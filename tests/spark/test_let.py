"""LET attributes on Spark: partitioned by, quenched by, and never confused with a stored column of the same name."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.spark.sql import register
from tests.engine_pair import comparable_rows
from tests.spark.local_batch import local_batch

TEXT = """
STREAM s (id INT, host STRING, x FLOAT, y FLOAT, time INT) TIME time ID id ORDER BY id
LET site AS lower(substr(host, 1, 2)), distance AS sqrt(x * x + y * y), far AS distance > 5, odd AS id % 2 = 1;
SUBSCRIBE leaving FROM s PER site MATCH a ; b DEFINE a AS NOT far AND odd, b AS far AND distance > a.distance WITHIN 9
RETURN a.distance AS start, b.distance AS finish, b.site AS place;
SUBSCRIBE runs FROM s PER site, odd MATCH a , b+ DEFINE b AS distance > prev.distance
RETURN count(b) AS n, max(b.distance) AS most;
"""


def events(count: int = 400) -> pa.Table:
    random = Random(3)
    hosts = ["ab-1", "AB-2", "cd-1", "CD-x", "ef", None]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "host": pa.array([random.choice(hosts) for _ in range(count)], pa.string()),
            "x": pa.array([random.choice([0.0, 3.0, 4.0, 6.0, None]) for _ in range(count)], pa.float64()),
            "y": pa.array([random.choice([0.0, 3.0, 4.0, 8.0]) for _ in range(count)], pa.float64()),
            "far": pa.array(["a stored column of this name"] * count, pa.string()),
            "time": pa.array(sorted(random.randint(0, count) for _ in range(count)), pa.int64()),
        }
    )


@pytest.mark.parametrize("rows", [1000, 37])
def test_parquet_in_row_groups(tmp_path: Path, rows: int) -> None:
    pq.write_table(events(), tmp_path / "s.parquet", row_group_size=rows)
    inputs = {"s": tmp_path / "s.parquet"}
    expected = ft.run(TEXT, inputs, engine="embedded")
    assert len(expected) > 100
    assert comparable_rows(local_batch(TEXT, inputs).notifications()) == comparable_rows(expected)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_text_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", 0)
    table = events()
    frame = table.to_pandas()
    path = tmp_path / f"s.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    expected = ft.run(TEXT, {"s": path}, engine="embedded")
    assert comparable_rows(local_batch(TEXT, {"s": path}).notifications()) == comparable_rows(expected)


def test_frames_and_sql(spark: SparkSession) -> None:
    table = events()
    frame = spark.createDataFrame(table).repartition(3)
    expected = ft.run(TEXT, {"s": table}, engine="embedded").to_arrow()
    found = ft.run(TEXT, {"s": frame}).toArrow().drop_columns(["detail"])
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.cast(found.schema).to_pylist()))
    register(spark, TEXT, {"s": frame})
    frame.selectExpr("*", "uuid() AS lane").createOrReplaceTempView("s")  # not the lane that LET derives
    rows = spark.sql("SELECT bindings.* FROM leaving(TABLE(s))").collect()
    wanted = [n.bindings for n in ft.run(TEXT, {"s": table}, engine="embedded") if n.subscription == "leaving"]
    assert sorted(map(str, (row.asDict() for row in rows))) == sorted(map(str, wanted))

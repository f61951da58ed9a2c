"""Times have one type in every frame, and one text in every sink that writes text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

import foretell as ft
from foretell.spark.sql import register
from foretell.spark.streaming.line_output import LineOutput
from foretell.spark.streaming.pipeline import with_text_times

STATEMENTS = """
STREAM s (k INT, at TIMESTAMP, time TIMESTAMP) TIME time;
SUBSCRIBE pair FROM s PER k MATCH a , b RETURN b.at AS at, t(b) - t(a) AS took;
"""
EVENTS = [
    {"time": f"2026-03-01T{hour:02}:00:00{fraction}", "k": 1, "at": f"2026-03-01T{hour:02}:30:00{fraction}"}
    for hour, fraction in ((1, ""), (2, ".5"), (23, ".000001"))
]
WANTED = ["2026-03-01T02:00:00.500000Z", "2026-03-01T23:00:00.000001Z"]


@pytest.fixture
def elsewhere(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in another time zone: it has no effect on what is written."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(before))


@pytest.fixture
def frame(elsewhere: SparkSession, tmp_path: Path) -> DataFrame:
    (tmp_path / "s.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in EVENTS))
    schema = "k INT, at STRING, time STRING"
    times = ["k", "to_timestamp(concat(at, 'Z')) AS at", "to_timestamp(concat(time, 'Z')) AS time"]
    return elsewhere.read.schema(schema).json(str(tmp_path)).selectExpr(*times)


def test_lines_of_a_stream_are_those_of_a_batch(frame: DataFrame) -> None:
    in_process = ft.run(STATEMENTS, {"s": EVENTS})
    lines: list[bytes] = []
    LineOutput(lines.append).write_batch(ft.run(STATEMENTS, {"s": frame}, json=True), 0)
    assert lines == list(in_process.lines())
    assert [json.loads(line)["end"] for line in lines] == WANTED
    assert [json.loads(line)["bindings"]["at"] for line in lines] == [text.replace(":00:", ":30:") for text in WANTED]


def test_text_files_of_a_stream_have_the_same_times(frame: DataFrame) -> None:
    notified = ft.run(STATEMENTS, {"s": frame})
    assert isinstance(notified.schema["end"].dataType, TimestampType)
    rows: list[Any] = with_text_times(notified).select("end").collect()
    assert [row["end"] for row in rows] == WANTED


def test_typed_columns_are_those_of_sql(frame: DataFrame, elsewhere: SparkSession, tmp_path: Path) -> None:
    in_process = ft.run(STATEMENTS, {"s": EVENTS}).to_arrow()
    assert ft.run(STATEMENTS, {"s": tmp_path / "s.jsonl"}, engine="spark").to_arrow().equals(in_process)
    frame.createOrReplaceTempView("s")
    register(elsewhere, STATEMENTS)
    query = "SELECT * FROM pair(events => TABLE(s)) ORDER BY `end`"
    sql = elsewhere.sql(query).toArrow()
    assert sql.schema.names == in_process.schema.names
    for name in in_process.schema.names:
        assert sql[name].to_pylist() == in_process[name].to_pylist()

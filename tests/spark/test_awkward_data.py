"""Times, lines of text and nested JSON: tasks of Spark read them as one process does."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.errors import InputError
from tests.spark.local_batch import local_batch
from tests.spark.streaming_queries import finish, frame, put, read

PAIRS = 'SUBSCRIBE pair FROM s PER "user.name" MATCH a , b WITHIN 2 min RETURN a."tags[0]" AS tag, b.{time} AS at;'
FLAT = "SUBSCRIBE pair FROM s PER host MATCH a , b WITHIN 2 min RETURN a.n AS n, b.time AS at;"


@pytest.fixture(autouse=True)
def _large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large: tasks read it, in chunks of a few lines."""
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", -1)
    monkeypatch.setattr("foretell.spark.batch.input_splits.CHUNK_BYTES", 100)


def same(text: str, source: Any, time: str, **options: Any) -> list[Any]:
    """The rows of a program, which are the same in one process and in tasks."""
    form = ft.ReadOptions(**options)
    in_process = ft.run(text, {"s": source}, time={"s": time}, read=form, engine="embedded")
    separate = local_batch(text, {"s": source}, time={"s": time}, read=form).notifications()
    assert [n.bindings for n in separate] == [n.bindings for n in in_process]
    assert [(bad.row, bad.reason) for bad in separate.bad] == [(bad.row, bad.reason) for bad in in_process.bad]
    return [n.bindings for n in in_process]


def csv(folder: Path, times: list[str]) -> Path:
    path = folder / "events.csv"
    path.write_text("time,host,n\n" + "".join(f"{time},{'ab'[n % 2]},{n}\n" for n, time in enumerate(times)))
    return path


def test_epoch_numbers(tmp_path: Path) -> None:
    path = csv(tmp_path, [str(1709287200000 + 1000 * n) for n in range(20)])
    assert same(FLAT, path, "time")[0] == {"n": 0, "at": "2024-03-01T10:00:02Z"}


def test_epoch_numbers_of_parquet_files(tmp_path: Path) -> None:
    for number, first in enumerate((1709287200, 1709287210)):
        columns: dict[str, Any] = {"time": [first + n for n in range(8)], "host": ["a"] * 8, "n": list(range(8))}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet", row_group_size=3)
    assert same(FLAT, tmp_path, "time")[0] == {"n": 0, "at": "2024-03-01T10:00:01Z"}
    notes = local_batch(FLAT, {"s": tmp_path}, time={"s": "time"}).notifications().notes
    assert "s: time is read as seconds since 1970; declare `time INT` to keep the number" in notes


def test_local_times_of_parquet_files(tmp_path: Path) -> None:
    times = [datetime(2024, 3, 31, hour, minute) for hour in (1, 2, 3) for minute in (0, 30)]
    table = pa.table({"time": pa.array(times, pa.timestamp("us")), "host": ["a"] * 6, "n": list(range(6))})
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=2)
    text = "SUBSCRIBE late FROM s MATCH a DEFINE a AS time >= TIMESTAMP '2024-03-31T01:15:00' RETURN a.n AS n;"
    found = same(text, tmp_path / "events.parquet", "time", zone="Europe/Berlin")
    assert [row["n"] for row in found] == [3, 5]


def test_days_that_a_later_file_decides(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for name, times in (("a.csv", ["03/04/2024 10:00", "03/04/2024 10:01"]), ("b.csv", ["13/04/2024 10:00"] * 2)):
        csv(tmp_path, times).rename(tmp_path / "events" / name)
    text = "SUBSCRIBE every FROM s MATCH a RETURN a.time AS at;"
    found = same(text, tmp_path / "events", "time")
    assert [row["at"][:10] for row in found] == ["2024-04-03", "2024-04-03", "2024-04-13", "2024-04-13"]


def test_years_of_a_log_in_several_chunks(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    times = ["Dec 31 23:59:59", "Jan  1 00:00:01"] * 9
    path.write_text("".join(f"{time} web app: {n}\n" for n, time in enumerate(times)))
    text = "SUBSCRIBE every FROM s MATCH a RETURN a.time AS at;"
    found = same(text, path, "time", pattern="syslog", year=2023)
    assert {row["at"] for row in found} == {"2023-12-31T23:59:59Z", "2024-01-01T00:00:01Z"}
    with pytest.raises(InputError, match=r"web.log: no line matches the pattern; the first is 'Dec 31 23:59:59 web"):
        local_batch(text, {"s": path}, time={"s": "time"}, read=ft.ReadOptions(pattern="x(?P<time>y)z"))


def test_lines_that_do_not_match(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    path.write_text("".join(f"#{n} a\n" if n % 5 else "  trace\n" for n in range(60)))
    found = same("SUBSCRIBE every FROM s MATCH a RETURN a.time AS at;", path, "time", pattern=r"^#(?P<time>\d+)")
    assert len(found) == 48


def test_times_of_two_columns(tmp_path: Path) -> None:
    rows = [{"date": "2024-03-01", "clock": f"10:00:{n:02}", "host": "a", "n": n} for n in range(10)]
    lines, table = tmp_path / "events.jsonl", tmp_path / "events.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), table, row_group_size=4)
    for source in (lines, table):
        assert same(FLAT, source, "date+clock")[0] == {"n": 0, "at": "2024-03-01T10:00:01Z"}


def nested_rows() -> list[dict[str, Any]]:
    return [
        {"meta": {"at": f"2024-03-01T10:00:{n:02}"}, "user": {"name": "ab"[n % 2]}, "tags": [f"t{n}"] * (n % 3)}
        for n in range(12)
    ]


NESTED = PAIRS.format(time='"meta.at"')


def test_nested_values(tmp_path: Path) -> None:
    rows = nested_rows()
    lines, array, table = tmp_path / "events.jsonl", tmp_path / "events.json", tmp_path / "events.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    array.write_text(json.dumps(rows, indent=2))
    pq.write_table(pa.Table.from_pylist(rows), table, row_group_size=5)
    found = [same(NESTED, source, "meta.at") for source in (lines, array, table)]
    assert found[0] == found[1] == found[2]
    assert found[0][1] == {"tag": "t1", "at": "2024-03-01T10:00:03Z"}


# ── on Spark ──


def test_nested_frames_and_epoch_numbers_on_spark(spark: SparkSession) -> None:
    rows: list[Any] = [
        {"ts": 1709287200000 + 1000 * n, "user": {"name": "ab"[n % 2]}, "tags": [f"t{n}"] * (n % 3)} for n in range(12)
    ]
    text = PAIRS.format(time="ts")
    expected = ft.run(text, {"s": pa.Table.from_pylist(rows)}, time={"s": "ts"})
    events = spark.createDataFrame(rows, "ts BIGINT, user STRUCT<name: STRING>, tags ARRAY<STRING>")
    found = ft.run(text, {"s": events}, time={"s": "ts"}, json=True).collect()
    assert [json.loads(row.bindings) for row in found] == [n.bindings for n in expected]
    assert len(found) == 10


def test_times_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"date": "01/Mar/2024", "clock": f"10:00:{n:02}", "user": {"name": "a"}} for n in range(4)]
    text = 'SUBSCRIBE pair FROM s PER "user.name" MATCH a , b WITHIN 2 min RETURN b.time AS at;'
    put(tmp_path / "in", rows, 0)
    events = frame(spark, tmp_path / "in", "date STRING, clock STRING, user STRUCT<name: STRING>")
    finish(ft.run(text, {"s": events}, time={"s": "date+clock"}, json=True), tmp_path)
    found = sorted(json.loads(row.bindings)["at"] for row in read(spark, tmp_path).collect())
    assert found == [f"2024-03-01T10:00:0{n}Z" for n in (1, 2, 3)]

"""Files in a batch job on Spark: the tasks read them as this process does; Spark itself reads some formats."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.errors import InputError
from foretell.events.ingest.formats import FetchedFiles
from foretell.events.ingest.input_files import InputFiles
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.spark.batch.spark_files import fetch
from tests.engine_pair import comparable_rows
from tests.spark.local_batch import local_batch

PAIRS = "SUBSCRIBE m FROM s MATCH a , b RETURN a.k AS k, a.v AS one, b.v AS two, {} AS other;"
ROWS = [{"time": n, "k": "xyz"[n % 3], "v": n / 2} for n in range(1, 40)]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as if they were large: read in tasks, some lines at a time."""
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", 0)
    monkeypatch.setattr("foretell.spark.batch.input_splits.CHUNK_BYTES", 40)


def write(path: Path, rows: list[dict[str, Any]], delimiter: str = ",", encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.name.split(".")[1]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=5)
        return
    if kind == "jsonl":
        text = "".join(f'{{"time": {row["time"]}, "k": "{row["k"]}", "v": {row["v"]}}}\n' for row in rows) + "oops\n"
    else:
        lines = ["time,k,v", *(f"{row['time']},{row['k']},{row['v']}" for row in rows), "99,a"]
        text = "\n".join(lines).replace(",", delimiter) + "\n"
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def same_as_in_process(source: object, *, read: ReadOptions | None = None, other: str = "b.k") -> list[Any]:
    text = PAIRS.format(other)
    given: dict[str, Any] = {"time": {"s": "time"}, "read": read}
    expected = ft.run(text, {"s": source}, engine="embedded", **given)
    found = local_batch(text, {"s": source}, **given).notifications()
    assert comparable_rows(found) == comparable_rows(expected) != []
    assert (found.bad, found.totals) == (expected.bad, expected.totals)
    return [notification.bindings for notification in found]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"])
@pytest.mark.usefixtures("in_parts")
def test_patterns(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x" / name, ROWS[:20])
    write(tmp_path / "y" / name, ROWS[20:])
    write(tmp_path / "z" / name, [{"time": 99, "k": "q", "v": 0.0}] * 9)
    assert len(same_as_in_process(f"{tmp_path}/[xy]/*")) == 38


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet"])
@pytest.mark.usefixtures("in_parts")
def test_hive_style_folders(tmp_path: Path, name: str) -> None:
    write(tmp_path / "year=2023" / "month=12" / name, ROWS[:20])
    write(tmp_path / "year=2024" / "month=01" / name, ROWS[20:])
    notified = same_as_in_process(tmp_path, other="b.month")
    assert {row["other"] for row in notified} == {"12", "01"}
    notified = same_as_in_process(tmp_path, other="b.year + 1")
    assert {row["other"] for row in notified} == {2024, 2025}


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
@pytest.mark.usefixtures("in_parts")
def test_markers_in_the_names_of_folders(tmp_path: Path, name: str) -> None:
    write(tmp_path / "day=1" / name, ROWS[:3])
    write(tmp_path / "day=none" / name, ROWS[3:5])
    notified = same_as_in_process(tmp_path, other="b.day + 1", read=ReadOptions(nulls=("none",)))
    assert [row["other"] for row in notified] == [2, 2, None, None]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.csv", {"delimiter": ";"}),
        ("a.csv", {}),
        ("a.csv", {"encoding": "utf-16"}),
        ("a.jsonl", {"encoding": "utf-16"}),
        ("a.dat", {"format": "csv"}),
        ("a.dat", {}),
    ],
)
@pytest.mark.usefixtures("in_parts")
def test_read_options(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    encoding = options.get("encoding", "utf-8")
    write(tmp_path / name, ROWS, ";" if "delimiter" in options else ",", encoding)
    same_as_in_process(tmp_path / name, read=ReadOptions(**options))


@pytest.mark.usefixtures("in_parts")
def test_files_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,x,1\n2,y,2\n3,z,3\n")
    notified = same_as_in_process(tmp_path / "a.csv", read=ReadOptions(columns=("time", "k", "v")))
    assert notified == [{"k": "x", "one": 1, "two": 2, "other": "y"}, {"k": "y", "one": 2, "two": 3, "other": "z"}]


# ── what Spark reads itself ──


def pairs(source: object, **options: Any) -> list[Any]:
    found = ft.run(PAIRS.format("b.k"), {"s": source}, time={"s": "time"}, engine="spark", **options)
    return [notification.bindings for notification in found]


@pytest.fixture
def expected() -> list[Any]:
    notified = ft.run(PAIRS.format("b.k"), {"s": ROWS}, time={"s": "time"})
    return [notification.bindings for notification in notified]


def test_orc_and_tables_of_the_catalog(tmp_path: Path, spark: SparkSession, expected: list[Any]) -> None:
    frame = spark.createDataFrame(pa.Table.from_pylist(ROWS)).coalesce(1)
    frame.write.orc(str(tmp_path / "s.orc"))
    assert pairs(tmp_path / "s.orc", read=ReadOptions(format="orc")) == expected
    assert pairs(tmp_path / "s.orc") == expected
    frame.createOrReplaceTempView("pairs_of_s")
    assert pairs("table:pairs_of_s") == expected


def test_what_spark_cannot_read(tmp_path: Path, spark: SparkSession) -> None:
    def refused(source: object) -> InputError:
        with pytest.raises(InputError) as caught:
            pairs(source)
        return caught.value

    assert str(refused("table:nowhere")) == (
        "Spark's catalog has no table 'nowhere'\n  hint: Spark's SHOW TABLES lists those it knows"
    )
    (tmp_path / "s.avro").write_bytes(b"Obj\x01")
    assert str(refused(tmp_path / "s.avro")) == (
        f"{tmp_path}/s.avro: this Spark has no reader of Avro\n"
        "  hint: start Spark with its jar: spark.jars.packages=org.apache.spark:spark-avro_2.13:VERSION"
    )
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    assert refused(tmp_path / "delta").message == f"{tmp_path}/delta: this Spark has no reader of Delta"
    assert refused("odd://bucket/s.csv").message == (
        "Spark cannot read 'odd://bucket/s.csv': No FileSystem for scheme \"odd\""
    )
    assert refused("odd://bucket/s.csv").hint == "pip install fsspec, or start Spark with a file system for odd://"
    assert refused("s3a://bucket/s.csv").hint == (
        "pip install fsspec s3fs, or start Spark with its jar: spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION"
    )
    assert "fsspec aiohttp" in str(refused("https://localhost:1/s.csv").hint)
    folder = tmp_path / "iceberg" / "metadata"
    folder.mkdir(parents=True)
    (folder / "v1.metadata.json").write_text("{}")
    assert refused(tmp_path / "iceberg").message == f"{tmp_path}/iceberg: this Spark has no reader of Iceberg"


def test_files_that_spark_fetches(tmp_path: Path, spark: SparkSession) -> None:
    declaration = StreamDeclaration("s", {}, "time", open=True)
    write(tmp_path / "csv" / "day=1" / "a.csv", ROWS[:20])
    write(tmp_path / "csv" / "day=2" / "b.csv.gz", ROWS[20:])
    for source in (tmp_path / "csv", tmp_path / "csv" / "day=1" / "a.csv"):
        fetched = fetch(spark, f"file://{source}", DEFAULT_OPTIONS)
        assert isinstance(fetched, FetchedFiles)
        assert read(fetched, declaration).table.equals(read(source, declaration).table)
    write(tmp_path / "parquet" / "a.parquet", ROWS)
    listing = fetch(spark, (tmp_path / "parquet").as_uri(), DEFAULT_OPTIONS)
    assert isinstance(listing, InputFiles)
    assert listing.format == "Parquet"

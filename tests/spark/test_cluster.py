"""A stand-alone cluster of one master and two workers, from the jars of the pyspark package: as in process.

Its processes get the environment that docs/cluster.md says and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.bench.spark.standalone_cluster import standalone_cluster
from foretell.bench.workloads.ticks import ticks

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

STATEMENTS = """
STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts ID volume;
SUBSCRIBE rise FROM ticks PER name MATCH a , b , c
DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price RETURN c.price - a.price AS gain;
SUBSCRIBE quiet FROM ticks PER name MATCH a ; !b DEFINE a AS volume > 950, b AS volume < 500 WITHIN 900;
"""
COLUMNS = "ts LONG, name STRING, price DOUBLE, volume LONG"

# What a job says besides its work: where the cluster is, and where in turn the driver is.
JOB = """
import json, sys
import pyarrow.parquet as pq
import foretell as ft
from foretell.spark.session import session
from foretell.spark.streaming.query import follow

spark = session(**{"spark.driver.host": "127.0.0.1", **json.loads(sys.argv[1])})
folder, statements, columns = sys.argv[2:]
"""
BATCH = (
    JOB
    + """
found = ft.run(statements, {"ticks": folder + "/ticks"}, engine="spark")
pq.write_table(found.to_arrow(), folder + "/batch.parquet")
"""
)
STREAM = (
    JOB
    + """
frame = spark.readStream.schema(columns).option("maxFilesPerTrigger", 2).parquet(folder + "/ticks")
writer = follow(statements, {"ticks": frame}, shards=4).writeStream.format("parquet").trigger(availableNow=True)
query = writer.option("path", folder + "/told").option("checkpointLocation", folder + "/checkpoint").start()
query.awaitTermination()
pq.write_table(spark.read.parquet(folder + "/told").drop("detail").toArrow(), folder + "/stream.parquet")
"""
)
WHERE = """
import json, sys
from foretell.spark.session import session

def where(batches):
    import os, pyarrow as pa, foretell
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [foretell.__file__], "cwd": [os.getcwd()]})

spark = session(**{"spark.driver.host": "127.0.0.1", **json.loads(sys.argv[1])})
rows = spark.range(8).repartition(8).mapInArrow(where, "file string, cwd string").collect()
print(json.dumps([list(row) for row in rows]))
"""


@dataclass(frozen=True)
class Cluster:
    url: str
    folder: Path

    def run(self, script: str, *arguments: object, **conf: str) -> str:
        """What a driver prints; it runs in our environment, since it is one of ours."""
        mine = {"spark.executor.memory": "600m", "spark.sql.shuffle.partitions": "2"}
        settings = json.dumps({"spark.master": self.url, **mine, **conf})
        command = [sys.executable, "-c", script, settings, *map(str, arguments)]
        return _answer(command, dict(os.environ))


def _answer(command: list[str], environment: dict[str, str]) -> str:
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return answer.stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    environment = {"HOME": str(folder), "NUMBA_CACHE_DIR": str(folder / "kernels")}
    if "PYTHONPATH" in os.environ:  # a checkout that is not installed
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    with standalone_cluster(folder, environment, workers=2, cores=1, memory="1g") as url:
        yield Cluster(url, folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "ticks").mkdir()
    table = ticks(60_000)
    for number in range(6):
        path = folder / "ticks" / f"{number}.parquet"
        pq.write_table(table.slice(number * 10_000, 10_000), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(path).to_pylist()
    return sorted(rows, key=lambda row: json.dumps([row["end"], row]))


@pytest.fixture(scope="module")
def expected(data: Path) -> list[dict[str, Any]]:
    table = ft.run(STATEMENTS, {"ticks": data / "ticks"}, engine="embedded").to_arrow()
    pq.write_table(table, data / "embedded.parquet")
    rows = _rows(data / "embedded.parquet")
    assert {row["subscription"] for row in rows} == {"rise", "quiet"}
    return rows


def test_both_workers_run_our_python(cluster: Cluster) -> None:
    places = json.loads(cluster.run(WHERE))
    assert {Path(cwd).parents[1].name for _, cwd in places} == {"work-0", "work-1"}


def test_batch(cluster: Cluster, data: Path, expected: list[dict[str, Any]]) -> None:
    cluster.run(BATCH, data, STATEMENTS, COLUMNS)
    assert _rows(data / "batch.parquet") == expected


def test_stream(cluster: Cluster, data: Path, expected: list[dict[str, Any]]) -> None:
    cluster.run(STREAM, data, STATEMENTS, COLUMNS)
    assert _rows(data / "stream.parquet") == expected


def test_the_command(cluster: Cluster, data: Path, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    """`foretell run` finds the cluster in Spark's own configuration."""
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.master {cluster.url}\nspark.driver.host 127.0.0.1\nspark.executor.memory 600m\n"
    )
    (tmp_path / "watch.ftl").write_text(STATEMENTS)
    out = tmp_path / "told.parquet"
    command = [sys.executable, "-m", "foretell.cli", "run", str(tmp_path / "watch.ftl"), "--engine", "spark"]
    command += ["--input", f"ticks={data / 'ticks'}", "--output", str(out)]
    _answer(command, {**os.environ, "SPARK_CONF_DIR": str(tmp_path)})
    assert _rows(out) == expected


def test_a_job_that_brings_foretell_with_it(
    cluster: Cluster, data: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    """With the kernels that this machine has compiled, which lie beside the code."""
    archive = tmp_path / "foretell.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(Path(ft.__file__).parent, "foretell")
    brought = {"spark.archives": f"{archive}#brought", "spark.executorEnv.PYTHONPATH": "brought"}
    places = json.loads(cluster.run(WHERE, **brought))
    assert all(file.startswith((cwd, "brought")) for file, cwd in places), places
    cluster.run(BATCH, data, STATEMENTS, COLUMNS, **brought)
    assert _rows(data / "batch.parquet") == expected

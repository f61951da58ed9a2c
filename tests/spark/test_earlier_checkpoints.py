"""Spark checkpoints of earlier versions are read and lead to the same rows (see tests/compatibility/written.py)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import foretell as ft
from tests.compatibility.written import BATCHES, COMING, FOLDER, LOGINS, put, rows, run_stream

VERSIONS = sorted(path for path in FOLDER.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
def test_a_checkpoint_of_an_earlier_version(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """Its state is large enough to be written in chunks. Spark writes absolute paths; the archive has a placeholder."""
    shutil.unpack_archive(folder / "checkpoint.tar.gz", tmp_path)
    for file in ("sources/0/0", "sources/0/1", "state/0/_metadata/v2/0"):
        path = tmp_path / "checkpoint" / file
        path.write_text(path.read_text().replace("/FOLDER", str(tmp_path)))
    for number, batch in enumerate(COMING, start=len(BATCHES)):
        put(tmp_path / "in", batch, number)
    run_stream(tmp_path)
    engine = ft.Engine(LOGINS)
    for batch in BATCHES:
        engine.push("logins", batch)
    wanted = [row for batch in COMING for row in rows(engine.push("logins", batch))]
    assert {row["subscription"] for row in wanted} == {"guess", "later"}
    assert sorted(map(_essence, _written(spark, tmp_path / "out"))) == sorted(map(_essence, wanted))


def _written(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    """The files of this run; the sink's log knows of batches whose files are not in the archive."""
    files = [str(path) for path in folder.glob("*.parquet")]
    return [row.asDict(recursive=True) for row in spark.read.parquet(*files).collect()]


def _essence(row: dict[str, Any]) -> tuple[str, ...]:
    """The columns that do not depend on how a sink writes times; steps of other statements are left out."""
    key, events = (_values(row[name]) for name in ("key", "events"))
    return row["subscription"], row["kind"], json.dumps(key), json.dumps(events)


def _values(value: Any) -> dict[str, Any]:
    known = json.loads(value) if isinstance(value, str) else value
    return {name: item for name, item in sorted((known or {}).items()) if item is not None}

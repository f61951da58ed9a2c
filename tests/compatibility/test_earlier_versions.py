"""Snapshots, models and Spark checkpoints of earlier versions are read and lead to the same rows (see `written`)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from tests.compatibility.written import (
    BATCHES,
    COMING,
    FOLDER,
    LOGINS,
    put,
    rows,
    rows_after,
    rows_of_model,
    run_stream,
)

VERSIONS = sorted(path for path in FOLDER.iterdir() if path.is_dir())
each_version = pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)


def expected(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


@each_version
def test_a_snapshot_with_forecasts(folder: Path) -> None:
    engine = ft.Engine.restore(None, (folder / "forecasts.ftlstate").read_bytes())
    assert rows_after(engine) == expected(folder)["snapshot"]


@each_version
def test_a_model(folder: Path) -> None:
    assert rows_of_model(folder / "model.json") == expected(folder)["model"]


@each_version
def test_every_forecast_is_exercised(folder: Path) -> None:
    for wanted in expected(folder).values():
        forecasts = {row["subscription"] for row in wanted if row["kind"] == "forecast"}
        assert forecasts >= {"strict", "lists", "timed", "both"}


@each_version
def test_a_checkpoint(folder: Path, tmp_path: Path) -> None:
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
    assert sorted(map(_essence, _written(tmp_path / "out"))) == sorted(map(_essence, wanted))


def _written(folder: Path) -> list[dict[str, Any]]:
    """The files of this run; the sink's log knows of batches whose files are not in the archive."""
    from foretell.spark.session import session

    files = [str(path) for path in folder.glob("*.parquet")]
    return [row.asDict() for row in session().read.parquet(*files).collect()]


def _essence(row: dict[str, Any]) -> tuple[str, ...]:
    """The columns that do not depend on how a sink writes times."""
    key, events = (value if isinstance(value, str) else json.dumps(value) for value in (row["key"], row["events"]))
    return row["subscription"], row["kind"], json.dumps(json.loads(key)), json.dumps(json.loads(events))

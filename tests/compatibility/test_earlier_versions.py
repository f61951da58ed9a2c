"""Snapshots and models of earlier versions are read and lead to the same rows (see `written`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from tests.compatibility.written import FOLDER, rows_after, rows_of_model

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

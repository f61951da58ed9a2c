"""Spark's tasks read every awkward file as the engine in process does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.notify.notifications import Notifications
from tests.awkward.awkward_files import AwkwardFile, awkward_files
from tests.awkward.outcomes import check_outcome
from tests.spark.local_batch import local_batch

#: Tasks read neither standard input nor the addresses of stores.
CASES = [case for case in awkward_files() if case.stdin is None and "s3:" not in case.input]
EVERY = 16  #: on real Spark; the others run where there is time


@pytest.fixture(autouse=True)
def _large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large: tasks read it, a few lines at a time."""
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", -1)
    monkeypatch.setattr("foretell.spark.batch.input_splits.CHUNK_BYTES", 20)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_tasks(case: AwkwardFile, tmp_path: Path) -> None:
    source = case.write(tmp_path)

    def run() -> Notifications:
        settings: dict[str, Any] = {"time": case.time_columns, "read": case.read_options, "strict": case.strict}
        return local_batch(case.program, {"s": source}, **settings).notifications()

    check_outcome(case, run)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=str(case), marks=[pytest.mark.soak] if number % EVERY else [])
        for number, case in enumerate(CASES)
    ],
)
def test_on_spark(case: AwkwardFile, tmp_path: Path, spark: SparkSession) -> None:
    source = case.write(tmp_path)

    def run() -> Notifications:
        options: dict[str, Any] = {"time": case.time_columns, "read": case.read_options, "strict": case.strict}
        return ft.run(case.program, {"s": source}, engine="spark", **options)

    check_outcome(case, run)

"""The demonstration on Spark: the same rows as in process, and the whole year."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from foretell.api.run import run
from foretell.demonstration.course import WATCHING, FlightCourse
from tests.demonstration.slices import WATCHED_SINCE, weeks

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_spark_finds_what_one_process_finds(spark: SparkSession, tmp_path: Path) -> None:
    course = FlightCourse("spark", tmp_path, weeks(), WATCHED_SINCE)
    model = course.learn()
    found = course.watch()
    here = run(course.program, course.watched.streams, engine="embedded", model=model, learning=WATCHING)
    assert {name: set(kinds) for name, kinds in found.summary.notifications.items()} == {
        "bad_run": {"match"},
        "fogged_in": {"match"},
        "handed_on": {"match"},
        "trouble_ahead": {"match", "forecast"},
        "unheard": {"match", "estimate"},
    }
    assert found.table().to_pylist() == here.table().to_pylist()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_whole_year(tmp_path: Path) -> None:
    """The counts were worked out with pandas, as in tests/demonstration/test_counts.py."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}
    command = [sys.executable, "-m", "foretell.cli", "demo", "--engine", "spark", "--output", "report.html"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "336,776 flights of 2013" in done.stdout
    assert [int(count) for count in re.findall(r"^  (\d+) times ", done.stdout, re.MULTILINE)] == [212, 22, 118]
    (chance, ours) = re.search(r"It was right\s+(\d+)% of the time; trouble follows\s+(\d+)%", done.stdout).groups()[
        ::-1
    ]  # type: ignore[union-attr]
    assert int(ours) > 10 * int(chance)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Spark, on this machine" in page
    assert len(page) > 500_000  # with what draws the charts

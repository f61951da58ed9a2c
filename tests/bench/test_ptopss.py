"""The paper's experiments run, with a backtest that does it in the plainest way, and have the shapes they should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from foretell.bench.growth.curves import Point
from foretell.bench.ptopss import measure
from foretell.bench.ptopss.experiments import heat_waves, synthetic
from foretell.bench.ptopss.figures import charts
from tests.forecast.reference_backtest import backtest


def curve(points: list[Point], figure: str, name: str) -> dict[float, float]:
    return {p.x: p.y for p in points if (p.figure, p.curve) == (figure, name) and p.x is not None and p.y is not None}


def test_states_and_transitions() -> None:
    points = [*measure.measure_lengths(True), *measure.measure_pool(True), *measure.measure_transitions(True)]
    for workload in measure.WORKLOADS:
        common = curve(points, "fig9d", f"{workload}, shared states")
        assert common[3] > common[5] > 0
        states = curve(points, "fig9e", workload)
        assert states[10] < states[20] < 10_000
        for stream in measure.STREAMS:
            taken = curve(points, "fig9f", f"{workload}, {stream}")
            assert taken[10] > taken[20] > 0
    assert curve(points, "fig9e", "gaussian_cs")[20] < curve(points, "fig9e", "uniform_cs")[20]
    assert {p.slug for p in charts(points)} == {"fig9d", "fig9e", "fig9f"}


def test_time_is_measured_and_matches_are_found() -> None:
    points = list(measure.measure_waits(True))
    assert all(p.y is not None and p.y > 0 and p.matches for p in points)


def test_precision_of_synthetic_forecasts() -> None:
    points = list(synthetic(True, backtest))
    same, more = (curve(points, "fig10a", f"5 events ahead, 1 full to {n}") for n in ("1 partial", "4"))
    assert same == curve(points, "fig10b", "5 events ahead")
    assert same[0.9] > same[0.1]
    assert more[0.5] < same[0.5]  # what was not so in training
    assert {p.slug for p in charts(points)} == {"fig10a", "fig10b", "fig10c"}


def test_the_full_model_knows_more_of_heat_waves() -> None:
    points = list(heat_waves(True, backtest))
    generated, full = (curve(points, "fig11-auc", f"{model} model")[3] for model in ("generated", "full"))
    assert full > generated > 0.8
    assert {p.slug for p in charts(points)} == {
        *(f"fig11-{model}{part}" for model in ("generated", "full") for part in ("", "-true", "-false")),
        "fig11-auc",
        "fig11-error",
    }


@pytest.mark.parametrize(
    ("y", "unit", "shown"),
    [(0.4567, "", "0.457"), (1.0, "", "1.000"), (3200, "", "3,200"), (6.912, "%", "6.912 %"), (2e-6, "s", "2.000 µs")],
)
def test_shares_are_not_rounded_to_none_or_all(y: float, unit: str, shown: str) -> None:
    point = Point("forecast", "a case", 0, 0.0, 0.0, figure="fig", curve="one", x=1.0, y=y, unit=unit)
    assert point.line().split("a case")[1].strip() == shown


@pytest.mark.soak
def test_a_quick_run_gives_every_figure(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "foretell.cli",
        "bench",
        "forecast",
        "--quick",
        "--json",
        "--output",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    drawn = {item["figure"] for item in map(json.loads, done.stdout.splitlines()) if "y" in item}
    assert {f"fig9{letter}" for letter in "abcdef"} <= drawn
    assert {p.name for p in tmp_path.iterdir()} == {"forecast.html", *(f"forecast-{name}.svg" for name in drawn)}

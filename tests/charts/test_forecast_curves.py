"""Forecast curves of lanes, and the trade between precision and recall."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.charts.chart import Chart
from foretell.charts.curves import LineChart
from foretell.charts.forecast_curves import ForecastCurve, LaneForecasts
from foretell.charts.forecasts import wilson_interval
from foretell.learn.horizon import Horizon
from tests.charts.browser import OPTIONS, executable

TEXT = """
    STREAM coins (side STRING, who STRING, time INT) TIME time;
    SUBSCRIBE twice FROM coins PER who MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.4;
"""


def coins(count: int, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [{"time": n, "side": chance.choice("ht"), "who": chance.choice(["ann", "ann", "bob"])} for n in range(count)]


@pytest.fixture(scope="module")
def model() -> ft.Model:
    return ft.train(TEXT, {"coins": coins(2000)})


def lane(count: int, **more: Any) -> LaneForecasts:
    given: dict[str, Any] = {
        "name": "x",
        "horizon": Horizon(events=2),
        "above": 0.5,
        "time": np.arange(count, dtype=np.float64),
        "probability": (np.arange(count) % 10) / 10,
        "matched": np.arange(count) % 7 == 0,
        "happened": np.arange(count) % 2 == 0,
        "known": np.arange(count) < count - 2,
        "has_moments": False,
    }
    return LaneForecasts(**given | more)


def layers(chart: Chart, mark: str) -> list[dict[str, Any]]:
    return [layer for layer in chart.specification()["layer"] if layer["mark"]["type"] == mark]


def test_curves_have_forecasts_matches_and_the_threshold(model: ft.Model, tmp_path: Path) -> None:
    page = ft.curve_page(TEXT, {"coins": coins(600, 2)}, tmp_path / "page.html", model=model)
    assert [chart.title for chart in page.charts] == [
        "twice, who=ann: a match within 2 events",
        "twice, who=bob: a match within 2 events",
    ]
    (first, _) = page.charts
    assert isinstance(first, ForecastCurve)
    found = first.lane
    (line,) = layers(first, "line")
    assert len(line["data"]["values"]) == (~np.isnan(found.probability)).sum() == len(found.time)
    points = [row for layer in layers(first, "point") for row in layer["data"]["values"]]
    marks = [row["forecast"] for row in points if "forecast" in row]
    assert len(marks) == len(found.rises) > 20
    assert marks.count("came true") == found.happened[found.rises].sum()
    matches = [row for row in points if row.get("event") == "match"]
    assert len(matches) == found.matched.sum()
    assert [row["label"] for layer in layers(first, "text") for row in layer["data"]["values"]] == ["ABOVE 0.4"]
    assert f"{len(found.time)} events, {found.matched.sum()} matches" in first.caption
    assert first.svg().startswith("<svg")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html()


def test_forecasts_agree_with_those_of_a_run(model: ft.Model) -> None:
    events = coins(600, 2)
    page = ft.curve_page(TEXT, {"coins": events}, model=model)
    run = ft.run(TEXT, {"coins": events}, model=model)
    made = sorted(n.end for n in run if n.kind == "forecast")
    drawn = sorted(
        time for chart in page.charts if isinstance(chart, ForecastCurve) for time in chart.lane.time[chart.lane.rises]
    )
    assert drawn == made


def test_few_lanes_are_shown_and_the_others_counted(model: ft.Model) -> None:
    page = ft.curve_page(TEXT, {"coins": coins(600, 2)}, model=model, lanes=1)
    assert len(page.charts) == 1
    assert "Shown are 1 of 2 lanes" in page.introduction
    with pytest.raises(ft.InputError, match="lanes: expected a whole number"):
        ft.curve_page(TEXT, {"coins": coins(10)}, model=model, lanes=0)


def test_a_hundred_thousand_points_are_thinned_with_a_note() -> None:
    chart = ForecastCurve("c", "C", "", lane(100_000))
    assert len(chart.records()) < 7_000
    (line,) = layers(chart, "line")
    assert len(line["data"]["values"]) <= 2_002
    assert chart.note.startswith("Drawn are 2,00")
    assert "of 100,000 points" in chart.note
    drawn = [row for layer in layers(chart, "point") for row in layer["data"]["values"] if "forecast" in row]
    assert len(drawn) == 90
    assert "Of 10,000 forecasts 90 are drawn" in chart.note
    true = sum(row["forecast"] == "came true" for row in drawn)
    assert true / 90 == pytest.approx(chart.lane.happened[chart.lane.rises].mean(), abs=0.1)
    highest = max(row["probability"] for row in line["data"]["values"])
    assert highest == 0.9
    assert ForecastCurve("c", "C", "", lane(100)).note == ""


def test_moments_are_on_a_clock() -> None:
    chart = ForecastCurve("c", "C", "", lane(100, time=1.7e9 + np.arange(100.0), has_moments=True))
    (line,) = layers(chart, "line")
    assert line["encoding"]["x"]["type"] == "temporal"
    assert line["data"]["values"][0]["time"] == 1.7e12


def test_without_a_forecast_there_is_a_sentence_and_no_picture() -> None:
    with pytest.raises(ft.InputError, match="there is no forecast: too few events"):
        ft.curve_page(TEXT, {"coins": coins(5)})
    with pytest.raises(ft.InputError, match="no subscription has a FORECAST"):
        ft.curve_page(TEXT.partition("FORECAST")[0] + ";", {"coins": coins(5)})
    with pytest.raises(ft.InputError, match="'C' has nothing to draw: the model has seen too little"):
        ForecastCurve("c", "C", "", lane(5, probability=np.full(5, np.nan))).specification()


def test_a_page_of_a_backtest(model: ft.Model, tmp_path: Path) -> None:
    report = ft.backtest(TEXT, {"coins": coins(3000, 5)}, model=model)
    page = ft.forecast_page(report, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html()
    calibration, precision, trade = page["s0-reliability"], page["s0-precision"], page["s0-trade"]
    assert isinstance(calibration, LineChart)
    assert isinstance(precision, LineChart)
    assert isinstance(trade, LineChart)
    (curve,) = calibration.curves
    assert len(curve.intervals) == len(curve.points)
    assert all(low <= y <= high for (_, y), (low, high) in zip(curve.points, curve.intervals, strict=True))
    assert precision.marks == ((0.4, "ABOVE 0.4"),)
    assert "ABOVE 0.4" in precision.svg()
    points = trade.curves[0].points
    assert points == tuple(sorted(points))
    assert trade.curves[0].note == f"base rate {report.scorecards[0].overall.base_rate:.2g}"
    with pytest.raises(ft.InputError, match="report: expected the result of"):
        ft.forecast_page("report.html")  # type: ignore[arg-type]


@pytest.mark.browser
def test_a_browser_draws_the_pages(model: ft.Model, tmp_path: Path) -> None:
    ft.curve_page(TEXT, {"coins": coins(600, 2)}, tmp_path / "curves.html", model=model)
    report = ft.backtest(TEXT, {"coins": coins(3000, 5)}, model=model)
    ft.forecast_page(report, tmp_path / "backtest.html")
    for name, charts, words in (("curves", 2, {"ABOVE 0.4", "time"}), ("backtest", 8, {"ABOVE 0.4", "recall"})):
        command = [executable(), *OPTIONS, "--enable-logging=stderr", (tmp_path / f"{name}.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.stdout.count('class="marks') == charts
        assert words <= set(re.findall(r"<text[^>]*>([^<]*)</text>", done.stdout))
        assert "CONSOLE" not in done.stderr


def test_intervals_cover_the_probability_as_often_as_they_say() -> None:
    chance, probability, trials = np.random.default_rng(1), 0.02, 400
    shares = chance.binomial(trials, probability, 4000) / trials
    ends = np.array([wilson_interval(share, trials) for share in shares.tolist()])
    covered = ((ends[:, 0] <= probability) & (probability <= ends[:, 1])).mean()
    assert 0.93 < covered < 0.975

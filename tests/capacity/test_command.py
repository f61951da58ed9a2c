"""`foretell capacity`: tables, JSON, the page, and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import foretell as ft
from foretell.charts.capacity import capacity_charts, capacity_page
from foretell.charts.page import svg
from tests.command import foretell

SCENARIO = """title = "A <small> one"
[provider]
rate = 30
[filter]
rate = 50
[run]
precision = 0.05
seconds = 10
"""
VARIED = SCENARIO + '[vary]\nkey = "provider.rate"\nvalues = [20, 40, 60]\n'


def test_a_table_with_findings(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(VARIED, encoding="utf-8")
    done = foretell(tmp_path, "capacity", "s.toml")
    assert done.returncode == 0
    title, header, *rows = done.stdout.splitlines()
    assert title == "A <small> one"
    assert re.split(r"  +", header.strip()) == [
        "provider.rate", "mean time", "±", "95%", "99%", "equation 7.1", "busiest", "breaks down at",
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == ["20", "40", "60"]
    assert re.search(r"  filter 4[01]%|  filter 39%", rows[0])
    assert rows[2].split()[1] == "unstable"
    assert "warning: provider.rate 60: no steady state: 'observed_events' grows by" in done.stderr
    assert "3 points" in done.stderr
    assert foretell(tmp_path, "capacity", "s.toml", "--quiet").stderr == ""


def test_a_single_point_shows_its_stations_and_places(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    done = foretell(tmp_path, "capacity", "s.toml", terminal=True)
    assert re.search(r"Stations\n  station  busy\n  filter   (59|60)\.", done.stdout)
    assert "Times by Little's law" in done.stdout


def test_json(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(VARIED, encoding="utf-8")
    report = json.loads(foretell(tmp_path, "capacity", "s.toml", "--json").stdout)
    assert report["key"] == "provider.rate"
    assert [point["stable"] for point in report["points"]] == [True, True, False]
    first = report["points"][0]
    assert first["latency"] == pytest.approx(1 / 30, rel=0.1)
    assert first["equation"] == pytest.approx(1 / 30)
    assert first["saturation"] == pytest.approx(50, rel=0.05)
    assert report["points"][2]["latency"] is None


def test_an_overloaded_service_fails(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO.replace("rate = 30", "rate = 70"), encoding="utf-8")
    done = foretell(tmp_path, "capacity", "s.toml")
    assert done.returncode == 1
    assert "unstable" in done.stdout


def test_mistakes_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO.replace("rate = 50", "rate = 0"), encoding="utf-8")
    done = foretell(tmp_path, "capacity", "s.toml")
    assert done.returncode == 1
    assert done.stderr.startswith("error: s.toml:5:1: filter.rate: 0 is no rate")
    missing = foretell(tmp_path, "capacity", "none.toml")
    assert (missing.returncode, missing.stderr) == (1, "error: there is no file 'none.toml'\n")


def test_the_page_opens_offline(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(VARIED, encoding="utf-8")
    done = foretell(tmp_path, "capacity", "s.toml", "--html", "page.html")
    assert done.returncode == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"<script[^>]*\bsrc=|<link\b|@import", text)
    assert "A &lt;small&gt; one" in text
    assert "no steady state" in text


def test_charts_of_variants_and_of_single_points() -> None:
    given = {"provider": {"rate": 30}, "filter": {"rate": 50}, "run": {"seconds": 5, "precision": 0.1}}
    single = ft.capacity(given)
    assert [chart.slug for chart in capacity_charts(single)] == ["stations-0", "times-0"]
    varied = ft.capacity(
        {
            **given,
            "vary": {"key": "provider.rate", "values": [10, 20, 80]},
            "variants": {"one": {}, "two": {"filter.fixed": True}},
        }
    )
    charts = capacity_charts(varied)
    assert [chart.slug for chart in charts] == ["latency", "utilisation-0", "utilisation-1"]
    assert "provider.rate" in svg(charts[0])
    unstable = ft.capacity({**given, "provider": {"rate": 90}})
    assert "unstable" in capacity_page(unstable).html()

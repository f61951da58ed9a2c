"""Pictures draw themselves, and a page with them needs no network."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import altair as alt
import pytest

import foretell as ft
from foretell.charts.automaton import AutomatonChart
from foretell.charts.bars import BarChart
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart, chart_page, page, save, svg
from foretell.charts.theme import dark_styles
from foretell.charts.time_scale import TimeScale
from foretell.charts.timeline import RowKind, Timeline, TimelineRow
from foretell.charts.waterfall import Factor, Waterfall
from foretell.events.types import Type
from tests.charts.browser import OPTIONS, executable

CURVES = LineChart(
    "lanes",
    "More lanes",
    "Should be level.",
    Axis("lanes"),
    Axis("time per event", "s"),
    (Curve("level", ((1, 2e-7), (1000, 2e-7)), "x^0.0"), Curve("steep", ((1, 2e-7), (1000, 3e-4)), "x^1.1")),
    reference_line=True,
)
BARS = BarChart("start", "Start", "Short bars are good.", "time", "s", (("import", 0.4), ("push", 0.002)))

TIMELINE = Timeline(
    "timeline",
    "A match",
    "",
    TimeScale.over([1, 9], Type.INT, 1),
    tuple(TimelineRow(kind.value, kind, "text", (1, 9)) for kind in RowKind),
)
WATERFALL = Waterfall("waterfall", "An estimate", "", (Factor("a → b", "lost c", 0.9),), 0.9, 0.5)


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (CURVES, ["More lanes", "time per event", "level  x^0.0", "steep  x^1.1", "100µs", "1k"]),
        (BARS, ["Start", "import", "400ms", "2ms"]),
        (TIMELINE, ["A match", "events", "lost", "window", "text", "time"]),
        (WATERFALL, ["An estimate", "a → b", "lost c", "× 0.9", "ABOVE 0.5", "probability"]),
    ],
)
def test_svg_says_what_it_shows(picture: Chart, words: list[str]) -> None:
    drawn = svg(picture)
    assert drawn.startswith("<svg")
    assert [word for word in words if word not in drawn] == []


def test_a_curve_with_plain_axes() -> None:
    plain = LineChart("c", "C", "", Axis("x", log=False), Axis("y", log=False), (Curve("one", ((0, 0), (1, 0.5))),))
    assert "one" in svg(plain)


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    save(tmp_path / "new", "growth", "How <it> grows", "Read on.", [CURVES, BARS])
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        "growth-lanes.svg",
        "growth-start.svg",
        "growth.html",
    ]
    text = (tmp_path / "new" / "growth.html").read_text()
    assert not re.search(r"<script[^>]*\bsrc=|<link\b|@import", text)
    assert "How &lt;it&gt; grows" in text
    assert "Should be level." in text


def test_names_do_not_end_the_script() -> None:
    evil = BarChart("b", "B", "", "time", "s", (("</script>", 1.0),))
    assert page("T", "", [evil]).count("</script>") == page("T", "", [BARS]).count("</script>")


@pytest.mark.parametrize("chart", [CURVES, BARS, TIMELINE, WATERFALL], ids=lambda chart: chart.slug)
def test_every_colour_has_a_dark_one(chart: Chart) -> None:
    colours = set(re.findall(r"#[0-9a-f]{6}", json.dumps(chart.specification())))
    assert len(colours) > 3
    rules = dark_styles()
    assert [c for c in colours for part in ("fill", "stroke") if f'svg [{part}="{c}"] {{ {part}: #' not in rules] == []


def test_a_hundred_thousand_points_are_thinned_with_a_note() -> None:
    points = tuple((float(x), float(x % 1000)) for x in range(100_000))
    chart = LineChart("c", "C", "", Axis("x", log=False), Axis("y", log=False), (Curve("one", points),))
    drawn = [row for row in chart.records() if "x" in row]
    assert len(drawn) <= 2_002
    assert {0.0, 999.0} <= {row["y"] for row in drawn}
    assert chart.note == f"Drawn are {len(drawn):,} of 100,000 points: of each stretch the lowest and the highest."
    assert chart.note in page("T", "", [chart])
    assert chart.note in chart._repr_html_()
    bars = BarChart("b", "B", "", "time", "s", tuple((f"{n}", 1.0) for n in range(1000)))
    assert len(bars.records()) == 200
    assert bars.note == "Drawn are the first 200 of 1,000 bars."


@pytest.mark.parametrize(
    ("chart", "reason"),
    [
        (LineChart("c", "C", "", Axis("x"), Axis("y"), (Curve("one", ()),)), "no curve has a point"),
        (LineChart("c", "C", "", Axis("x"), Axis("y"), ()), "no curve has a point"),
        (BarChart("b", "C", "", "time", "s", ()), "there are no bars"),
        (Timeline("t", "C", "", TIMELINE.scale, ()), "the match has no steps"),
        (AutomatonChart("a", "C", "", (), ()), "the automaton has no states"),
    ],
)
def test_an_empty_chart_is_a_sentence(chart: Chart, reason: str) -> None:
    with pytest.raises(ft.InputError, match=f"the chart 'C' has nothing to draw: {reason}"):
        chart.svg()
    with pytest.raises(ft.InputError, match=reason):
        page("T", "", [chart])


def test_a_notebook_shows_charts_without_a_script() -> None:
    fragment = chart_page("T <b>", "Read `on`.", [CURVES, BARS])._repr_html_()
    assert fragment.count("<svg") == 2
    assert "<script" not in fragment
    assert "T &lt;b&gt;" in fragment
    assert "Read <code>on</code>." in fragment
    many = chart_page("T", "", [replace(BARS, slug=f"b{n}") for n in range(15)])._repr_html_()
    assert many.count("<svg") == 12
    assert "3 more charts" in many


def test_a_specification_is_altairs() -> None:
    restyled = alt.LayerChart.from_dict(CURVES.specification()).properties(width=900)
    assert restyled.to_dict()["width"] == 900


@pytest.mark.browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page("T", "", [CURVES, BARS]), encoding="utf-8")
    address = (tmp_path / "page.html").as_uri()
    done = subprocess.run([executable(), *OPTIONS, address], capture_output=True, text=True, timeout=120)
    assert done.stdout.count('class="marks"') == 2

"""Pictures draw themselves, and a page with them needs no network."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from foretell.charts.bars import BarChart
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart, page, save, svg
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


@pytest.mark.browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page("T", "", [CURVES, BARS]), encoding="utf-8")
    address = (tmp_path / "page.html").as_uri()
    done = subprocess.run([executable(), *OPTIONS, address], capture_output=True, text=True, timeout=120)
    assert done.stdout.count('class="marks"') == 2

"""Pictures draw themselves, and a page with them needs no network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from foretell.charts.bars import BarChart
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart, page, save, svg

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


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (CURVES, ["More lanes", "time per event", "level  x^0.0", "steep  x^1.1", "100µs", "1k"]),
        (BARS, ["Start", "import", "400ms", "2ms"]),
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


@pytest.mark.browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser, "no chromium or google-chrome on the PATH"
    (tmp_path / "page.html").write_text(page("T", "", [CURVES, BARS]), encoding="utf-8")
    address = (tmp_path / "page.html").as_uri()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    done = subprocess.run([browser, *options, address], capture_output=True, text=True, timeout=120)
    assert done.stdout.count('class="marks"') == 2

"""The page of charts: its code runs, and its pictures are those that the code makes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import foretell as ft
from tests.docs.chart_pictures import DOCS, pictures

#: Of a running pipeline the numbers are never the same twice.
TIMED = "pictures/chart-pipeline.svg"


def texts(drawn: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawn).iter() if element.tag.endswith("text")]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pictures()


def test_pictures_are_those_that_the_code_makes(made: dict[str, str]) -> None:
    """By their texts: the numbers on axes, labels, thresholds and intervals."""
    assert len(made) == 9
    for name, drawn in made.items():
        kept = texts((DOCS / name).read_text(encoding="utf-8"))
        if name == TIMED:
            assert {"events", "notifications", "Throughput"} <= set(kept) & set(texts(drawn))
        else:
            assert texts(drawn) == kept, f"{name}: run python -m tests.docs.chart_pictures"


def test_every_picture_is_on_the_page_and_small(made: dict[str, str]) -> None:
    assert {f"pictures/{path.name}" for path in (DOCS / "pictures").glob("chart-*.svg")} == set(made)
    assert all((DOCS / name).stat().st_size < 60_000 for name in made)


def test_the_page_names_every_call_that_draws() -> None:
    text = (DOCS / "charts.md").read_text(encoding="utf-8")
    assert {f"`ft.{name}(" for name in ft.__all__ if name.endswith("_page")} <= set(re.findall(r"`ft\.\w+\(", text))


def test_pictures_do_not_name_the_machine() -> None:
    for path in Path(DOCS / "pictures").glob("chart-*.svg"):
        assert not re.search(r"/(home|root|tmp|work)/", path.read_text(encoding="utf-8"))

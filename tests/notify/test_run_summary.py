"""The figures of a run, in every engine that runs here."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft
from foretell.notify.run_summary import RunSummary

TEXT = """
STREAM s (k STRING, v INT) TIME time;
SUBSCRIBE pair FROM s PER k MATCH a , b DEFINE a AS v = 1, b AS v = 2;
SUBSCRIBE none FROM s MATCH a DEFINE a AS v = 99;
SUBSCRIBE again FROM pair MATCH p;
"""
ROWS: list[dict[str, Any]] = [
    {"time": 1, "k": "x", "v": 1},
    {"time": 2, "k": "x", "v": 2},
    {"time": 3, "k": "y", "v": "many"},
    {"time": 4, "k": None, "v": "NA"},
    {"time": "x", "k": "z", "v": 1},
    {"time": "y", "k": "z", "v": 1},
    {"k": "z", "v": 1},
]


@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_the_figures_of_a_run(engine: str) -> None:
    found = ft.run(TEXT, {"s": ROWS}, engine=engine).summary
    assert found == RunSummary(
        events={"s": 7},
        set_aside={"s": {"time: expected INT": 2, "no time": 1}},
        unreadable={"s": {"v": 1}},
        late={},
        lanes={"pair": 3, "none": 1, "again": 1},
        notifications={"pair": {"match": 1}, "none": {}, "again": {"match": 1}},
    )
    assert found.matches == {"pair": 1, "none": 0, "again": 1}
    assert found.forecasts == {"pair": 0, "none": 0, "again": 0}
    assert not found.all_set_aside


def test_no_events_and_all_set_aside_are_told_apart() -> None:
    text = "STREAM s (v INT) TIME time; SUBSCRIBE m FROM s MATCH a;"
    assert not ft.run(text, {"s": []}).summary.all_set_aside
    with pytest.warns(ft.ForetellWarning):
        assert ft.run(text, {"s": [{"time": None, "v": 1}, {"time": "x", "v": 2}]}).summary.all_set_aside


@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_events_that_are_all_set_aside_give_a_warning(engine: str) -> None:
    text, rows = "STREAM s (v INT, time TIMESTAMP) TIME time; SUBSCRIBE m FROM s MATCH a;", [{"time": "May", "v": 1}]
    note = (
        "all 2 events were set aside: there was nothing to match; the first, s:1: time: expected TIMESTAMP, found 'May'"
    )
    with pytest.warns(ft.ForetellWarning) as caught:
        found = ft.run(text, {"s": rows * 2}, engine=engine)
    assert [str(warning.message) for warning in caught] == [
        f"{note}\n  hint: look at .bad; read=ft.ReadOptions(...) says how to read them"
    ]
    assert caught[0].filename == __file__
    assert found.notes[0] == note
    assert repr(found).splitlines()[:2] == ["no notifications", "  2 events set aside: see .bad"]


def test_late_events_by_stream() -> None:
    engine = ft.Engine("STREAM s (v INT, time INT) TIME time LATE BY 1; SUBSCRIBE m FROM s MATCH a;")
    engine.push("s", [{"time": 10, "v": 1}])
    assert engine.push("s", [{"time": 1, "v": 1}, {"time": 2, "v": 1}]).summary.late == {"s": 2}


def test_the_view_of_the_figures() -> None:
    found = ft.run(TEXT, {"s": ROWS}).summary
    assert repr(found) == (
        "7 events read, 2 matches\n"
        "  s     7 events read\n"
        "  s     2 events set aside: time: expected INT\n"
        "  s     1 event set aside: no time\n"
        "  s     1 value of v set to NULL\n"
        "  pair  1 match in 3 lanes\n"
        "  … 2 more"
    )
    assert "no matches in 1 lane" in found._repr_html_()

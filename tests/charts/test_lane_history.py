"""The other events of a lane on the timeline of a match, named by the engine itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import foretell as ft
from foretell.charts.lane_history import LaneHistory
from foretell.charts.timeline import RowKind, Timeline
from tests.command import foretell

TEXT = """
    STREAM s (k STRING, user STRING, time INT) TIME time;
    STREAM r (k STRING, user STRING, time INT) TIME time;
    SUBSCRIBE m FROM s, r PER user MATCH a ; b ; c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c';
    SUBSCRIBE again FROM m MATCH x , y;
"""
S = [
    {"time": time, "k": kind, "user": user}
    for time, kind, user in [
        (1, "z", "ann"), (5, "a", "ann"), (6, "z", "bob"), (9, "z", "ann"), (10, "b", "ann"), (30, "c", "ann")
    ]
]  # fmt: skip
R = [{"time": 7, "k": "z", "user": "ann"}, {"time": 90, "k": "z", "user": "ann"}, {"time": 12, "k": "a", "user": None}]
INPUTS = {"s": S, "r": R}


def test_the_events_of_a_lane_have_the_names_of_notifications() -> None:
    (match,) = ft.run(TEXT, INPUTS)
    lane = LaneHistory.read(TEXT, INPUTS).lane(match)
    assert lane is not None
    assert lane.names == (0, 1, 2, 3, 4, 5, 6)
    assert lane.times == (1, 5, 7, 9, 10, 30, 90)
    assert [lane.time_of[match.events[step]] for step in "abc"] == [5, 10, 30]  # type: ignore[index]


def test_a_timeline_shows_them_and_the_times_of_all_events() -> None:
    found = ft.run(TEXT, INPUTS)
    page = ft.estimate_page(found, subscriptions=TEXT, inputs=INPUTS)
    timeline = page["n1-timeline"]
    assert isinstance(timeline, Timeline)
    rows = {row.name: row for row in timeline.rows}
    assert (rows["b"].kind, rows["b"].times) == (RowKind.EVENTS, (10,))
    # The axis reaches to the nearest events, but the one at 90 is farther away than the match is long.
    assert (rows["lane"].kind, rows["lane"].times) == (RowKind.AROUND, (1, 7, 9))
    assert rows["lane"].label == "3 other events of the lane"
    ticks = [layer for layer in timeline.specification()["layer"] if layer["mark"]["type"] == "tick"]
    assert len(ticks[0]["data"]["values"]) == 3
    assert "Ticks in the lowest row" in page.html()
    without = ft.estimate_page(found)["n1-timeline"]
    assert isinstance(without, Timeline)
    assert next(row for row in without.rows if row.name == "b").kind is RowKind.UNTIMED


def test_a_lane_of_a_missing_value_and_one_of_a_derived_stream() -> None:
    history = LaneHistory.read(TEXT, INPUTS)
    (match,) = ft.run(TEXT, INPUTS)
    unknown = ft.Notification(**{name: getattr(match, name) for name in match.__slots__} | {"key": {"user": None}})
    lane = history.lane(unknown)
    assert lane is not None
    assert lane.times == (12,)
    derived = ft.Notification(**{name: getattr(match, name) for name in match.__slots__} | {"subscription": "again"})
    assert history.lane(derived) is None


def test_events_are_named_by_their_ids() -> None:
    text = "STREAM s (n STRING, time TIMESTAMP) TIME time ID n LATE BY 1 min; SUBSCRIBE m FROM s MATCH a , b;"
    rows = [{"time": f"2026-03-01T10:0{n}:00", "n": f"e{n}"} for n in (2, 0, 1)]
    found = ft.run(text, {"s": rows})
    lane = LaneHistory.read(text, {"s": rows}).lane(found[0])
    assert lane is not None
    assert lane.names == ("e0", "e1", "e2")
    assert lane.times[0] == found[0].start


def test_lanes_of_several_keys_of_any_type() -> None:
    text = "STREAM s (d TIMESTAMP, k BOOL, f FLOAT, time INT) TIME time; SUBSCRIBE m FROM s PER d, k, f MATCH a , b;"
    days = ["2026-03-01T10:00:00Z", "2026-03-02T10:00:00.5Z"]
    rows = [{"d": days[n % 2], "k": n % 3 == 0, "f": 0.1, "time": n} for n in range(24)]
    history = LaneHistory.read(text, {"s": rows})
    for match in ft.run(text, {"s": rows}):
        lane = history.lane(match)
        assert lane is not None
        assert len(lane.times) in (4, 8)
        assert lane.time_of[match.events["a"]] == match.start  # type: ignore[index]


def test_very_many_events_are_thinned_with_a_note() -> None:
    text = "STREAM s (k INT, time INT) TIME time; SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS k = 1, b AS k = 99999;"
    events = [{"time": n, "k": n} for n in range(100_001)]
    page = ft.estimate_page(ft.run(text, {"s": events}), subscriptions=text, inputs={"s": events})
    timeline = page["n1-timeline"]
    assert isinstance(timeline, Timeline)
    (ticks,) = (row for row in timeline.rows if row.kind is RowKind.AROUND)
    assert len(ticks.times) > 99_000
    assert len(timeline.records()) < 2_100
    assert "marks that would cover each other are drawn once" in timeline.note
    assert timeline.note in page._repr_html_()
    assert timeline.note in page.html()


def test_arguments_that_do_not_fit() -> None:
    found = ft.run(TEXT, INPUTS)
    with pytest.raises(ft.InputError, match="inputs: the events of lanes need it"):
        ft.estimate_page(found, subscriptions=TEXT)
    with pytest.raises(ft.InputError, match="no events of stream 'r'"):
        ft.estimate_page(found, subscriptions=TEXT, inputs={"s": S})


def test_the_command_shows_them(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text(TEXT.partition("SUBSCRIBE again")[0], encoding="utf-8")
    for name, rows in INPUTS.items():
        lines = [",".join(str(row[column] or "") for column in ("time", "k", "user")) for row in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,k,user", *lines]) + "\n", encoding="utf-8")
    arguments = ("run", "m.ftl", "--input", "s=s.csv", "--input", "r=r.csv", "--html", "page.html", "--quiet")
    done = foretell(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert "3 other events of the lane" in (tmp_path / "page.html").read_text(encoding="utf-8")

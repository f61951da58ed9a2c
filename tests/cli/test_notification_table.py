"""Notifications on a terminal: tables that fit its width."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import foretell as ft
from foretell.cli.notification_line import notification_line
from foretell.cli.notification_table import FirstNotifications, NotificationGroup, print_tables
from tests.command import foretell


def groups(found: ft.Notifications) -> list[NotificationGroup]:
    first = FirstNotifications()
    first.write(found.rows)
    return first.groups()


def tables(found: ft.Notifications, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system=None)
    print_tables(console, groups(found), found.summary.notifications)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines), default=0) <= width
    return [line.rstrip() for line in lines]


def run(statements: str, events: list[dict[str, Any]]) -> ft.Notifications:
    return ft.run(statements, {"s": events}, time={"s": "time"})


def test_a_table_for_each_statement() -> None:
    events = [{"time": f"2026-03-01T10:0{i}:00", "user": "annabel", "n": i / 3, "ok": i % 2 == 0} for i in range(4)]
    found = run(
        "SUBSCRIBE rise FROM s PER user MATCH a , b RETURN b.n AS value, b.ok AS good;"
        "SUBSCRIBE late FROM s MATCH x DEFINE x AS n >= 1;",
        events,
    )
    assert tables(found) == [
        "rise  3 matches",
        "user     start             end       value  good",
        "annabel  2026-03-01 10:00  10:01  0.333333  false",
        "annabel  2026-03-01 10:01  10:02  0.666667  true",
        "annabel  2026-03-01 10:02  10:03         1  false",
        "",
        "late  1 match",
        "time              x",
        "2026-03-01 10:03  3",
    ]


def test_dates_and_fractions() -> None:
    days = run("SUBSCRIBE m FROM s MATCH a , b;", [{"time": f"2026-03-0{i}"} for i in (1, 2)])
    assert tables(days)[1:] == ["start       end         a  b", "2026-03-01  2026-03-02  0  1"]
    parts = run("SUBSCRIBE m FROM s MATCH a , b;", [{"time": f"2026-03-01T10:00:00.{i}"} for i in ("25", "5")])
    assert tables(parts)[2] == "2026-03-01 10:00:00.250  10:00:00.500  0  1"
    numbers = run("SUBSCRIBE m FROM s MATCH a , b;", [{"time": 5}, {"time": 50}])
    assert tables(numbers)[1:] == ["start  end  a  b", "    5   50  0  1"]


def test_long_runs_are_shortened() -> None:
    found = run("SUBSCRIBE m FROM s MATCH a{9};", [{"time": i} for i in range(9)])
    assert tables(found)[1:] == ["start  end  a", "    0    8  0 … 8 (9)"]


def test_many_rows_are_cut() -> None:
    found = run("SUBSCRIBE m FROM s MATCH a;", [{"time": i} for i in range(500)])
    shown = tables(found)
    assert shown[0] == "m  500 matches"
    assert len(shown) == 2 + 20 + 1
    assert shown[-1] == "… 480 more: use --output FILE.csv"


def test_long_names_take_several_lines_before_columns_are_left_out() -> None:
    rows = [{"time": n, "v": n} for n in range(2)]
    names = ["temperature_of_the_first", "temperature_of_the_second", "temperature_of_the_third", "last_one"]
    found = run(f"SUBSCRIBE m FROM s MATCH a RETURN {', '.join(f'a.v AS {name}' for name in names)};", rows)
    assert tables(found)[1:4] == [
        "      temperature_  temperature_  temperature_",
        "           of_the_       of_the_       of_the_",
        "time         first        second         third  last_one",
    ]
    assert tables(found, 120)[1].split() == ["time", *names]


def test_names_of_columns_that_shrink_take_several_lines() -> None:
    row = {"time": 1, "k": "a text that is longer than its column"}
    found = run("SUBSCRIBE m FROM s MATCH a RETURN a.k AS comment, a.k AS name_of_the_whole_customer;", [row])
    assert tables(found, 40)[1:] == [
        "                        name_of_the_",
        "time  comment           whole_customer",
        "   1  a text that is …  a text that is …",
    ]


def test_wide_rows_are_cut() -> None:
    row = {"time": 1, "text": "x" * 300, "note": "y" * 30} | {f"column_{i}": i for i in range(12)}
    returned = ", ".join(f"a.{name} AS {name}_" for name in row if name != "time")
    shown = tables(run(f"SUBSCRIBE m FROM s MATCH a RETURN {returned};", [row]))
    assert shown[-1].endswith(" more columns: use --output FILE.csv")
    assert "xxx…" in shown[3]
    assert shown[2].split()[0] == "time"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_every_width(width: int) -> None:
    found = run(
        "SUBSCRIBE a_long_name_of_a_statement FROM s PER k MATCH a , b;", [{"time": i, "k": "語" * 9} for i in (1, 2)]
    )
    tables(found, width)


def test_groups_are_counted_in_columns() -> None:
    """The same groups of many notifications in columns as of objects, and of results that are not encoded."""
    text = "SUBSCRIBE n FROM s MATCH b ; c; SUBSCRIBE m FROM s MATCH a;"
    events = [{"time": i} for i in range(500)]
    found = run(text, events)
    counted = groups(found)
    assert [(g.subscription, g.kind, g.count, len(g.first)) for g in counted] == [
        ("m", "match", 500, 20),
        ("n", "match", 124_750, 20),
    ]
    assert groups(ft.Notifications(tuple(found))) == counted
    first = FirstNotifications()
    ft.run(text, {"s": events}, time="time", output=first)
    assert first.groups() == counted


def test_a_terminal_gets_tables_and_a_pipe_gets_lines(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text("SUBSCRIBE m FROM s MATCH a , b;")
    (tmp_path / "s.csv").write_text("time\n1\n2\n")
    command = ("run", "m.ftl", "--input", "s=s.csv", "--time", "s=time", "--quiet")
    assert foretell(tmp_path, *command, terminal=True).stdout == "m  1 match\nstart  end  a  b\n    1    2  0  1\n"
    assert foretell(tmp_path, *command).stdout.startswith('{"subscription":"m",')
    assert foretell(tmp_path, *command, "--flat").stdout == (
        '{"subscription":"m","kind":"match","start":1,"end":2,"probability":1.0,"horizon":null,"id":null,'
        '"events.a":0,"events.b":1}\n'
    )
    assert foretell(tmp_path, *command, "--output", "out.csv", terminal=True).stdout == ""


def test_lost_steps_are_shown() -> None:
    text = """SUBSCRIBE m FROM s PER id MATCH x ; y ; z DEFINE x AS k = 'x', y AS k = 'y', z AS k = 'z'
    WITHIN 1 hour LOSING 0.5 OF y ABOVE 0.1;"""
    exponential = {"distribution": "exponential", "mean": 60.0}
    after = {"y": {"x": exponential | {"share": 0.5}}, "z": {"x": exponential, "y": exponential}}
    events = [{"time": f"2026-03-01T10:{minute}:00", "id": "hat", "k": k} for minute, k in (("30", "x"), ("31", "z"))]
    found = ft.run(text, {"s": events}, time={"s": "time"}, model={"subscriptions": {"m": {"after": after}}})
    # Anywhere between the two, without a tenth of the minute on either side.
    assert tables(found, 100)[1:] == [
        "id   start             end    estimate          probability  lost                          x  y  z",
        f"hat  2026-03-01 10:30  10:31  {found[0].id}        0.333  y lost, 10:30:06 to 10:30:54  0     1",
    ]
    (line,) = found.lines()
    assert b"y lost, 10:30:06 to 10:30:54" in notification_line(line, 200)

"""Witnesses as tables: events, times, and what is notified."""

from __future__ import annotations

from collections.abc import Mapping

import foretell as ft
from foretell.check.witness import Witness, WitnessEvent
from foretell.check.witness_table import compared_lines, witness_lines
from foretell.events.types import Scalar
from foretell.language.checked import CheckedProgram


def program(text: str) -> CheckedProgram:
    return ft.parse(text).checked()


def events(*rows: tuple[str, int, Mapping[str, Scalar]], until: int | None = None) -> Witness:
    return Witness(tuple(WitnessEvent(stream, time, attributes) for stream, time, attributes in rows), until)


S = "STREAM s (k STRING, x INT, t INT) TIME t;\n"


def test_events_and_what_they_notify() -> None:
    checked = program(S + "SUBSCRIBE m FROM s MATCH a , b DEFINE b AS x > a.x;")
    witness = events(("s", 3, {"k": "u", "x": 1, "t": 3}), ("s", 4, {"k": None, "x": 2, "t": 4}))
    assert witness_lines(witness, checked, "m") == ["time  k     x  m", "3     u     1", "4     NULL  2  a=0, b=1"]


def test_several_streams_and_attributes_that_only_one_has() -> None:
    checked = program(S + "STREAM r (y BOOL, t INT) TIME t; SUBSCRIBE m FROM s, r MATCH a , b;")
    witness = events(("s", 1, {"x": 1, "t": 1}), ("r", 2, {"y": True, "t": 2}))
    assert witness_lines(witness, checked, "m") == [
        "stream  time  x  y     m",
        "s       1     1",
        "r       2        TRUE  a=0, b=1",
    ]


def test_time_that_passes_has_a_row() -> None:
    checked = program(S + "SUBSCRIBE m FROM s MATCH a ; !b DEFINE a AS x = 1, b AS x = 2 WITHIN 5;")
    assert witness_lines(events(("s", 1, {"x": 1, "t": 1}), until=9), checked, "m") == [
        "time  x  m",
        "1     1",
        "9        a=0",
    ]


def test_timestamps_near_1970_show_the_time_since() -> None:
    checked = program("STREAM s (x INT, t TIMESTAMP) TIME t; SUBSCRIBE m FROM s MATCH a , b;")
    near = events(("s", 0, {"x": 1, "t": 0}), ("s", 300_000_000, {"x": 1, "t": 300_000_000}))
    assert [line.split("  ")[0] for line in witness_lines(near, checked, "m")] == ["time", "0 s", "5 min"]
    moment = 1_767_225_600_000_000
    far = events(("s", moment, {"x": 1, "t": moment}))
    assert witness_lines(far, checked, "m")[1] == "2026-01-01T00:00:00Z  1"


def test_long_witnesses_are_cut_in_the_middle() -> None:
    checked = program(S + "SUBSCRIBE m FROM s MATCH a{30} DEFINE a AS x = 1;")
    lines = witness_lines(events(*(("s", n, {"x": 1, "t": n}) for n in range(30))), checked, "m")
    assert len(lines) == 14
    assert lines[-1] == "(18 more events in the middle)"
    assert lines[12].startswith("29    1  a=[0, 1, 2")


def test_events_of_a_derived_stream_are_taken_as_they_are() -> None:
    checked = program(S + "SUBSCRIBE m FROM s MATCH a RETURN a.x AS y; SUBSCRIBE n FROM m MATCH b DEFINE b AS y > 1;")
    assert witness_lines(events(("m", 1, {"y": 2})), checked, "n") == ["time  y  n", "1     2  b=0"]


def test_two_statements_beside_each_other() -> None:
    left = program(S + "SUBSCRIBE m FROM s MATCH a DEFINE a AS x > 1;")
    right = program(S + "SUBSCRIBE m FROM s MATCH a DEFINE a AS x > 5;")
    witness = events(("s", 0, {"x": 3, "t": 0}))
    assert compared_lines(witness, left, "m", right, "m") == ["time  x  m (here)  m (other)", "0     3  a=0"]


def test_notifications_that_need_more_than_events_are_not_shown() -> None:
    checked = program(S + "SUBSCRIBE m FOR EACH rows FROM s MATCH a DEFINE a AS x > :low;")
    assert witness_lines(events(("s", 0, {"x": 3, "t": 0})), checked, "m") == ["time  x", "0     3"]

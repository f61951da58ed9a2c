"""Notifications of a stream on a terminal: one short line each."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.cli.notification_line import notification_line

EVENTS = [{"time": n, "k": "a\x1b[31m", "v": v} for n, v in enumerate([1, 1, 2, 1])]


def line(clauses: str, width: int = 79) -> str:
    found = ft.run(f"SUBSCRIBE m FROM s PER k MATCH {clauses};", {"s": EVENTS}, time="time")
    return notification_line(next(iter(found.lines())).splitlines(keepends=True)[0], width).decode()


@pytest.mark.parametrize(
    ("clauses", "shown"),
    [
        ("a , b DEFINE b AS v > a.v", "m  1 to 2  k=a\\x1b[31m  a=1, b=2\n"),
        ("a DEFINE a AS v > 1 RETURN a.v AS v, a.k AS k", "m  2  k=a\\x1b[31m  v=2, k=a\\x1b[31m\n"),
    ],
)
def test_a_match(clauses: str, shown: str) -> None:
    assert line(clauses) == shown


def test_a_narrow_terminal() -> None:
    assert line("a , b DEFINE b AS v > a.v", 12) == "m  1 to 2  …\n"


def test_a_forecast() -> None:
    row = (
        b'{"subscription":"m","kind":"forecast","key":null,"start":1,"end":4,"probability":0.83333,"horizon":"6 EVENTS"'
    )
    assert notification_line(row + b',"id":7,"bindings":{},"events":{"a":1}}', 79) == (
        b"m forecast 0.833  1 to 4  within 6 EVENTS  id=7  a=1\n"
    )

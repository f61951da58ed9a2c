"""Partial matches that only time would complete, at the end of a finite input: a note counts them."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft

DOORS = "STREAM doors (door STRING, state STRING, time INT) TIME time;"
LEFT_OPEN = """SUBSCRIBE left_open FROM doors PER door MATCH a ; !b
DEFINE a AS state = 'open', b AS state = 'shut' WITHIN 60;"""
EVENTS: list[dict[str, Any]] = [
    {"time": 0, "door": "x", "state": "open"},
    {"time": 100, "door": "y", "state": "open"},
    {"time": 110, "door": "y", "state": "shut"},
    {"time": 120, "door": "y", "state": "open"},
    {"time": 130, "door": "z", "state": "open"},
]
ADVICE = "still waiting for time to pass at the end of the input; let it pass with --until TIME, or until=TIME"


def notes(statements: str, events: list[dict[str, Any]] = EVENTS, **options: Any) -> tuple[int, tuple[str, ...]]:
    found = ft.run(DOORS + statements, {"doors": events}, engine="embedded", **options)
    return len(found), found.notes


def test_absences_that_are_still_open() -> None:
    assert notes(LEFT_OPEN) == (1, (f"2 partial matches of 'left_open' were {ADVICE}",))
    assert notes(LEFT_OPEN, EVENTS[:2]) == (1, (f"1 partial match of 'left_open' was {ADVICE}",))


def test_none_where_until_says_how_far_time_goes() -> None:
    assert notes(LEFT_OPEN, until=150) == (1, ())
    assert notes(LEFT_OPEN, until=200) == (3, ())


def test_none_where_no_absence_is_open() -> None:
    assert notes(LEFT_OPEN, [*EVENTS, {"time": 500, "door": "w", "state": "shut"}]) == (3, ())


def test_statements_that_share_states_are_counted_apart() -> None:
    longer = LEFT_OPEN.replace("left_open", "longer").replace("60", "200")
    assert notes(LEFT_OPEN + longer)[1] == (
        f"2 partial matches of 'left_open' were {ADVICE}",
        f"3 partial matches of 'longer' were {ADVICE}",
    )


def test_a_last_that_is_not_decided() -> None:
    """LAST is known when the window has passed."""
    last = "SUBSCRIBE last FROM doors MATCH a ; LAST b DEFINE a AS time = 100, b AS state = 'open' WITHIN 60;"
    found, message = notes(last)
    assert found == 0
    assert len(message) == 1
    assert message[0].endswith(f"of 'last' were {ADVICE}")


@pytest.mark.parametrize("pattern", ["MATCH !a WITHIN 60", "MATCH a , b", "MATCH a+ AFTER MATCH LONGEST"])
def test_none_for_other_patterns(pattern: str) -> None:
    """A negated step alone always waits, which is no news."""
    assert notes(f"SUBSCRIBE m FROM doors {pattern};")[1] == ()

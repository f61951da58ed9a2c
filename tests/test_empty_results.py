"""Notes where a statement found nothing: texts that no event has, lanes of one event each."""

from __future__ import annotations

import pytest

import foretell as ft

SALES = [
    {"time": 1, "shop": "North", "till": "a"},
    {"time": 2, "shop": "South", "till": "b"},
    {"time": 3, "shop": "North", "till": "c"},
]


def notes(statements: str, events: list[dict[str, object]] | None = None) -> list[str]:
    return list(ft.run(statements, {"sales": events or SALES}, time="time").notes)


@pytest.mark.parametrize(
    ("condition", "note"),
    [
        ("shop = 'north'", "'m': no event of 'sales' has shop = 'north'; did you mean 'North'?"),
        ("'Noth' = shop AND time > 1", "'m': no event of 'sales' has 'Noth' = shop; did you mean 'North'?"),
        ("x.shop = 'Zoo'", "'m': no event of 'sales' has x.shop = 'Zoo'; known here: 'North', 'South'"),
        ("shop IN ('x', 'y')", "'m': no event of 'sales' has shop IN ('x', 'y'); known here: 'North', 'South'"),
    ],
)
def test_a_text_that_no_event_has(condition: str, note: str) -> None:
    assert notes(f"SUBSCRIBE m FROM sales MATCH x DEFINE x AS {condition};") == [note]


@pytest.mark.parametrize(
    "condition",
    [
        "shop = 'North' AND time > 5",
        "shop IN ('x', 'South') AND time > 5",
        "NOT shop <> 'x'",
        "shop = 'x' OR time > 5",
        "lower(shop) = 'x'",
        "shop IS NULL",
        "shop = prev.shop",
    ],
)
def test_no_note_where_texts_are_not_the_reason(condition: str) -> None:
    assert notes(f"SUBSCRIBE m FROM sales MATCH x DEFINE x AS {condition};") == []


def test_no_note_where_something_was_found_or_must_not_be() -> None:
    assert notes("SUBSCRIBE m FROM sales MATCH x | y DEFINE x AS shop = 'x', y AS shop = 'North';") == []
    absent = "SUBSCRIBE m FROM sales MATCH a ; !x ; b DEFINE a AS time > 5, x AS shop = 'x';"
    assert notes(absent) == []


def test_statements_that_read_others_are_left_out() -> None:
    found = notes(
        "SUBSCRIBE m FROM sales MATCH x RETURN x.shop AS shop; SUBSCRIBE n FROM m MATCH y DEFINE y AS shop = 'x';"
    )
    assert found == []


def test_lanes_of_one_event_each() -> None:
    note = "'m': no two events have the same till, by which PER separates them"
    assert notes("SUBSCRIBE m FROM sales PER till MATCH x , y;") == [note]
    assert notes("SUBSCRIBE m FROM sales PER till MATCH x{2,};") == [note]
    assert notes("SUBSCRIBE m FROM sales PER till MATCH x+ DEFINE x AS time > 5;") == []
    assert notes("SUBSCRIBE m FROM sales PER shop MATCH x , y , z;") == []
    assert notes("SUBSCRIBE m FROM sales PER till MATCH x , y;", SALES[:1]) == []

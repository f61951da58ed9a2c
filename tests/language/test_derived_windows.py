"""Notes on WITHIN over derived streams."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.language.derived_windows import derived_window_notes

MONTHS = [{"time": i, "price": price} for i, price in enumerate([100, 90, 80, 70, 85, 60, 50])]


def notes(pattern: str, within: str = "WITHIN 1") -> tuple[str, ...]:
    text = f"SUBSCRIBE inner FROM s MATCH {pattern} AFTER MATCH HOLD; SUBSCRIBE outer FROM inner MATCH x ; y {within};"
    return derived_window_notes(ft.parse(text).program)


@pytest.mark.parametrize("pattern", ["a , b", "a+", "a{2}", "a & b", "a ; !b WITHIN 5", "!b WITHIN 5", "(a , b) | c"])
def test_a_window_over_matches_that_take_time(pattern: str) -> None:
    assert notes(pattern) == (
        "'outer': WITHIN 1 counts from the start of a match of 'inner', and t() is its end; see Derived streams in "
        "docs/language.md",
    )


@pytest.mark.parametrize("pattern", ["a", "a | b", "a?", "!b ; a WITHIN 5"])
def test_none_where_a_match_takes_no_time(pattern: str) -> None:
    assert notes(pattern) == ()


def test_none_without_a_window() -> None:
    assert notes("a , b", "") == ()


def test_a_single_event_of_a_stream_that_takes_time() -> None:
    text = "SUBSCRIBE p FROM s MATCH a , b; SUBSCRIBE q FROM p MATCH a; SUBSCRIBE r FROM q MATCH a , b WITHIN 3;"
    (note,) = derived_window_notes(ft.parse(text).program)
    assert note.startswith("'r': WITHIN 3 counts from the start of a match of 'q'")


@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_the_note_and_the_recipe(engine: str) -> None:
    """A fall from each month to the next; two falls in a row are 2 apart by their starts, 1 by their ends."""
    text = """SUBSCRIBE changes FROM months MATCH a , b RETURN b.price - a.price AS change;
    SUBSCRIBE within FROM changes MATCH f , g DEFINE f, g AS change < 0 WITHIN 1;
    SUBSCRIBE between FROM changes MATCH f , g @(t(g) - t(f) <= 1) DEFINE f, g AS change < 0;"""
    found = ft.run(text, {"months": MONTHS}, time={"months": "time"}, engine=engine)
    assert (found.summary.matches["within"], found.summary.matches["between"]) == (0, 3)
    assert found.notes == (
        "'within': WITHIN 1 counts from the start of a match of 'changes', and t() is its end; see Derived streams in "
        "docs/language.md",
    )

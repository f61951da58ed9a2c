"""Statements that the embedded engine does not run yet are refused before the first event."""

from __future__ import annotations

import pytest

import foretell as ft

ROWS = [{"time": 1, "n": "x"}]


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("SUBSCRIBE m FROM s MATCH a ; b LOSING 0.1 ABOVE 0.5", "LOSING of the first step, 'a', without WITHIN"),
        ("CORRELATE m FROM s DO push('x'){a}", "CORRELATE"),
    ],
)
def test_unsupported_statements_are_refused(text: str, expected_message: str) -> None:
    with pytest.raises(ft.InputError) as caught:
        ft.run(text, {"s": ROWS}, time={"s": "time"}, engine="embedded")
    assert caught.value.code == "not-in-engine"
    assert caught.value.message == f"the embedded engine does not run {expected_message} yet"

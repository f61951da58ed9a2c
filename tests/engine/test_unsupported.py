"""Statements that the embedded engine does not run yet are refused before the first event."""

from __future__ import annotations

import pytest

import foretell as ft

ROWS = [{"time": 1, "n": "x"}]


def test_unsupported_statements_are_refused() -> None:
    with pytest.raises(ft.InputError) as caught:
        ft.run("CORRELATE m FROM s DO push('x'){a}", {"s": ROWS}, time={"s": "time"}, engine="embedded")
    assert caught.value.code == "not-in-engine"
    assert caught.value.message == "the embedded engine does not run CORRELATE yet"

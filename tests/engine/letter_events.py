"""Statements on a stream of letters, and its events, for the tests of Engine."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft

STREAM = "STREAM s (k STRING, v INT, time INT) TIME time;\n"
PAIR = "SUBSCRIBE pair FROM s MATCH a ; b DEFINE a AS k = 'a', b AS k = 'b';\n"
LETTER = "SUBSCRIBE letter FROM s MATCH a DEFINE a AS k = 'b' RETURN a.k AS k, a.v AS v;\n"
LIMITS = "SUBSCRIBE above FOR EACH limits FROM s MATCH a DEFINE a AS v > :least;\n"
TABLE = {"limits": [{"id": "low", "least": 1}, {"id": "high", "least": 100}]}


def events(letters: str, first: int = 1) -> list[dict[str, Any]]:
    return [{"time": t, "k": k, "v": t} for t, k in enumerate(letters, start=first)]


def names(found: ft.Notifications) -> list[str]:
    return [n.subscription for n in found]


def refused(work: Any) -> tuple[str, str, str]:
    with pytest.raises(ft.ForetellError) as caught:
        work()
    return caught.value.code, caught.value.message, caught.value.hint

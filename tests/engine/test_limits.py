"""Limits on partial matches: what is refused, what is dropped, and that nobody else notices."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft
from foretell.machine.limits import Limits
from foretell.machine.running import Running
from tests.both import Both, told

OPEN = "SUBSCRIBE m FROM s PER k MATCH a ; b+ DEFINE a AS v = 1, b AS v = 2;"


def events(*rows: tuple[int, str, int]) -> list[dict[str, object]]:
    return [{"time": time, "k": k, "v": v} for time, k, v in rows]


def run(text: str, rows: list[dict[str, object]], limits: Limits) -> tuple[list[Any], Running]:
    both = Both(text, {"s": rows}, time={"s": "time"})
    running = Running(both.checked, limits=limits)
    return told(running.feed(both.loaded)), running


def test_a_lane_with_too_many_is_refused_and_others_go_on() -> None:
    rows = events(*((i, "x", 1) for i in range(20)), (30, "y", 1), (31, "x", 2), (32, "y", 2))
    found, running = run(OPEN, rows, Limits(lane=10))
    assert [one[2] for one in found] == [(("k", ("str", "'y'")),)]
    assert running.ledger.refused == [("m", {"k": "x"})]
    assert running.ledger.tell() == ("'m' in lane {'k': 'x'} is refused: more than 10 partial matches",)
    assert running.ledger.tell() == ()


def test_the_oldest_are_dropped_and_counted() -> None:
    rows = events(*((i, "x", 1) for i in range(20)), (31, "x", 2))
    found, running = run(OPEN, rows, Limits(lane=10, then="drop"))
    assert 7 <= len(found) <= 10
    assert running.ledger.dropped["m"] >= 20 - len(found)
    assert [int(one[3][1]) for one in found] == list(range(20 - len(found), 20))


def test_a_subscription_that_shares_is_not_refused_with_another() -> None:
    """Both wait for b after a; only what the first goes on with is too much."""
    text = """SUBSCRIBE many FROM s PER k MATCH a , b+<;> ; c DEFINE a AS v = 1, b AS v = 2, c AS v = 3;
    SUBSCRIBE few FROM s PER k MATCH a , b , c DEFINE a AS v = 1, b AS v = 2, c AS v = 2;"""
    rows = events((0, "x", 1), *((i, "x", 2) for i in range(1, 12)), (30, "x", 3))
    unlimited, _ = run(text, rows, Limits())
    found, running = run(text, rows, Limits(lane=100))
    assert [name for name, _ in running.ledger.refused] == ["many"]
    assert [one for one in found if one[0] == "few"] == [one for one in unlimited if one[0] == "few"] != []


@pytest.mark.parametrize("then", ["refuse", "drop"])
@pytest.mark.parametrize("pattern", ["a ; b+", "a ; b", "a , c* , b"])
def test_the_engine_as_a_whole_stays_within_bounds(pattern: str, then: str) -> None:
    text = f"SUBSCRIBE m FROM s PER k MATCH {pattern} DEFINE a AS v = 1, b AS v = 2;"
    rows = events(*((i, f"k{i % 7}", 1) for i in range(5000)))
    _, running = run(text, rows, Limits(lane=4000, engine=2000, then=then))  # type: ignore[arg-type]
    assert sum(running.ledger.held.values()) <= 2700
    assert bool(running.ledger.refused) == (then == "refuse")
    assert bool(running.ledger.dropped) == (then == "drop")


@pytest.mark.parametrize("wrong", [{"lane": 0}, {"engine": -1}, {"lane": 1.5}, {"then": "wait"}])
def test_wrong_limits_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(ft.InputError) as caught:
        Limits(**wrong)  # type: ignore[arg-type]
    assert caught.value.code == "wrong-limit"


# ── in ft.Engine ──


def test_the_engine_tells() -> None:
    engine = ft.Engine("STREAM s (k STRING, v INT, time INT) TIME time;" + OPEN, limits=ft.Limits(lane=10))
    found = engine.push("s", events(*((i, "x", 1) for i in range(20))))
    assert found.notes == ("'m' in lane {'k': 'x'} is refused: more than 10 partial matches",)
    assert engine.refused == (("m", {"k": "x"}),)
    assert engine.partial_matches == 0
    again = ft.Engine.restore(None, engine.snapshot(), limits=ft.Limits(lane=10))
    assert again.refused == engine.refused
    assert not again.push("s", events((30, "x", 1), (31, "x", 2)))
    assert len(again.push("s", events((32, "y", 1), (33, "y", 2)))) == 1


def test_what_is_dropped_is_counted() -> None:
    text = "STREAM s (k STRING, v INT, time INT) TIME time;" + OPEN
    engine = ft.Engine(text, limits=ft.Limits(lane=10, then="drop"))
    engine.push("s", events(*((i, "x", 1) for i in range(20))))
    assert engine.dropped_matches["m"] >= 10
    assert engine.partial_matches <= 10


def test_limits_of_another_kind_are_refused() -> None:
    with pytest.raises(ft.InputError, match="limits"):
        ft.Engine(OPEN, limits=10)  # type: ignore[arg-type]

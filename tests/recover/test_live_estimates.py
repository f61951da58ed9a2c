"""LOSING in an engine that runs: rows and statements that come and go, late events, limits, and AFTER MATCH."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft
from tests.recover.estimate_programs import ESTIMATE_MODEL, ESTIMATES, estimate_events, exponential
from tests.recover.test_estimates import rows

STREAM, STATEMENT = ESTIMATES.split("SUBSCRIBE ")
TAKING = f"SUBSCRIBE {STATEMENT.replace('LOSING', 'AFTER MATCH SKIP PAST LAST LOSING')}"
LIMITED = f"SUBSCRIBE {STATEMENT}".replace("theft FROM", "theft FOR EACH shops FROM").replace(
    "v = 0", "v = 0 AND tag < :tags"
)
SHOPS = [{"id": 1, "tags": 3}, {"id": 2, "tags": 9}]


def engine_of(statement: str, **given: Any) -> ft.Engine:
    return ft.Engine(STREAM + statement, model=ESTIMATE_MODEL, **given)


@pytest.mark.parametrize("statement", [f"SUBSCRIBE {STATEMENT}", TAKING])
def test_every_cut_gives_the_same(statement: str) -> None:
    events = estimate_events(300)
    whole = ft.run(STREAM + statement, {"s": events}, model=ESTIMATE_MODEL, until=2_000, engine="reference")
    assert {n.kind for n in whole} >= {"estimate", "withdrawn"}
    engine, found = engine_of(statement), list[ft.Notification]()
    for first in range(0, 300, 23):
        found += engine.push("s", events[first : first + 23])
        engine = ft.Engine.restore(None, engine.snapshot())
    assert rows([*found, *engine.advance(2_000)]) == rows(whole)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        # Estimates that ended before a certain match began stay.
        ("ac--ac-abc", [("estimate", 1, 2), ("estimate", 5, 6), ("match", 8, 10)]),
        # The b is seen just after its gap; another a before it may be what it follows.
        ("aacbc", [("estimate", 1, 3), ("withdrawn", 1, 4), ("match", 1, 5)]),
        ("-acabc", [("estimate", 2, 3), ("withdrawn", 2, 6), ("match", 2, 6)]),
    ],
)
def test_certain_matches_come_first(kinds: str, expected: list[tuple[str, int, int]]) -> None:
    text = """STREAM s (k STRING) TIME time;
    SUBSCRIBE m FROM s MATCH a ; b ; c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'
    WITHIN 4 AFTER MATCH SKIP PAST LAST LOSING 0.5 OF b ABOVE 0;"""
    model = {"subscriptions": {"m": {"after": {"b": exponential(5.0, 0.9), "c": exponential(5.0, 0.9)}}}}
    engine, events = ft.Engine(text, model=model), [{"time": time, "k": k} for time, k in enumerate(kinds, 1)]
    found = [(n.kind, n.start, n.end) for event in events for n in engine.push("s", [event])]
    whole = ft.run(text, {"s": events}, model=model, engine="reference")
    assert found == expected
    assert sorted((n.kind, n.start, n.end) for n in whole) == sorted(expected)


def test_rows_come_and_go() -> None:
    events = estimate_events(300)
    engine = engine_of(LIMITED, tables={"shops": SHOPS})
    engine.push("s", events[:100])
    engine.remove_rows("shops", [2])
    assert {n.id for n in engine.push("s", events[100:150])} <= {1}
    engine.add_rows("shops", [SHOPS[1]])
    again = ft.Engine.restore(None, engine.snapshot())
    found = [n for n in again.push("s", events[150:]) if n.id == 2]
    alone = engine_of(LIMITED, tables={"shops": SHOPS[1:]})
    assert rows(found) == rows(alone.push("s", events[150:]))
    assert {n.kind for n in found} >= {"estimate", "withdrawn"}


def test_statements_come_and_go_while_estimates_are_held() -> None:
    events = estimate_events(300)
    engine = engine_of("SUBSCRIBE q FROM s MATCH a DEFINE a AS v = 5;")
    engine.push("s", events[:100])
    engine.subscribe(TAKING)
    assert {n.subscription for n in engine.push("s", events[100:200])} == {"theft"}
    engine = ft.Engine.restore(None, engine.snapshot())
    engine.unsubscribe("theft")
    assert engine.partial_matches == 0
    assert not engine.push("s", events[200:210])
    engine.subscribe(TAKING)
    alone = engine_of(TAKING)
    assert rows(engine.push("s", events[210:])) == rows(alone.push("s", events[210:])) != []


def test_late_events_find_their_place() -> None:
    events = estimate_events(200)
    for statement in (f"SUBSCRIBE {STATEMENT}", TAKING):
        ordered = engine_of(statement)
        expected = [*ordered.push("s", events), *ordered.advance(2_000)]
        late = ft.Engine((STREAM + statement).replace("ID e;", "ID e ORDER BY e LATE BY 9;"), model=ESTIMATE_MODEL)
        found = list[ft.Notification]()
        for first in range(0, 200, 4):
            found += late.push("s", events[first : first + 4][::-1])
        assert rows([*found, *late.advance(2_000)]) == rows(expected)


def test_a_limit_names_the_pattern() -> None:
    engine = engine_of(f"SUBSCRIBE {STATEMENT}".replace("PER tag ", ""), limits=ft.Limits(lane=3))
    engine.push("s", estimate_events(100))
    assert engine.stopped_lanes
    assert all(name.startswith("theft") and "\0" not in name for name in engine.stopped_lanes)

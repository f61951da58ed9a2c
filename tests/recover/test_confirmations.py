"""Estimates that late events confirm or withdraw, and those of which somebody knows the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.events.notification import Notification
from tests.recover.estimate_programs import (
    ESTIMATE_MODEL,
    ESTIMATES,
    EstimateProgram,
    estimate_events,
    estimate_program,
    wide_program,
)
from tests.recover.late_programs import LateProgram, late_program

Rows = list[tuple[Any, ...]]


def rows(notifications: Iterable[Notification]) -> Rows:
    """In any order, and without the probabilities of estimates, which are those of tables."""
    found = []
    for n in notifications:
        probability = 0.5 if n.kind == "estimate" else n.probability
        details = str(n.id), str(n.events), str(n.key), str(n.bindings)
        found.append((n.subscription, n.kind, n.start, n.end, probability, *details))
    return sorted(found)


def pushed(program: LateProgram, random: Random) -> list[Notification]:
    """As the events come, some of them after a snapshot was restored."""
    engine, found = program.engine(), list[Notification]()
    for push in program.pushes:
        found += engine.push("s", push.events) if push.now is None else engine.advance(push.now)
        if random.random() < 0.3:
            engine = ft.Engine.restore(None, engine.snapshot())
    return [*found, *engine.advance(program.program.until)]


def agrees(
    seeds: Iterable[int], most: int, made: Callable[[Random, int], EstimateProgram] = estimate_program
) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        program = late_program(random, made(random, most))
        expected = rows(program.expected)
        assert rows(pushed(program, random)) == expected, (seed, program)
        kinds.update(row[1] for row in expected)
    return kinds


def test_random_programs() -> None:
    kinds = agrees([1, 17, 32, 37, 52, 53, 57], 3) + agrees([4], 3, wide_program)
    assert kinds["confirmed"] > 5


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_programs_for_long() -> None:
    kinds = agrees(range(1_000, 1_300), 3) + agrees(range(2_000, 2_300), 3, wide_program)
    assert kinds["confirmed"] > 30


# ── single estimates ──

DELAY = {"distribution": "uniform", "low": 0, "high": 50, "share": 0.9}
STEPS = "DEFINE a AS k = 'a', b AS k = 'b' AND v = $v, c AS k = 'c', d AS k = 'd' AND v = $v, n AS k = 'n'"


def engine_of(pattern: str, clauses: str = "WITHIN 10", steps: str = STEPS, **given: Any) -> ft.Engine:
    """An engine with one statement, whose stream has IDs and declares LATE BY 2."""
    names = [name for name in "abcdn" if name in pattern]
    defined = ", ".join(part for part in steps.removeprefix("DEFINE ").split(", ") if part[0] in names)
    delays = {name: {other: DELAY for other in names if other != name} for name in names}
    losing = "" if "LOSING" in clauses else "LOSING 0.3 ABOVE 0"
    text = f"""STREAM s (k STRING, v INT, e STRING, time INT) TIME time ID e LATE BY 2;
    SUBSCRIBE m FROM s MATCH {pattern} DEFINE {defined} {clauses} {losing};"""
    return ft.Engine(text, model={"subscriptions": {"m": {"after": delays, "before": delays}}}, **given)


def events(text: str) -> list[dict[str, Any]]:
    """Events from `a1 c5`: each has its kind, its time, and itself as ID; after a colon its value."""
    found = []
    for word in text.split():
        name, _, value = word.partition(":")
        found.append({"k": name[0], "v": int(value or 0), "e": name, "time": int(name[1:])})
    return found


def shown(notifications: Iterable[Notification]) -> list[tuple[str, int, str]]:
    return [
        (n.kind, int(n.end), " ".join(str(name or "-") for name in n.events.values()))
        for n in notifications
        if n.kind in ("confirmed", "withdrawn")
    ]


@pytest.mark.parametrize(
    ("pattern", "clauses", "timely", "late", "expected"),
    [
        ("a ; b ; c", "WITHIN 10", "a1 c5", "b3", [("confirmed", 18, "a1 b3 c5")]),
        ("a ; b ; c", "WITHIN 10", "a1 c5", "b6", []),
        ("a ; b ; c", "WITHIN 10", "a1 c5", "b5", []),
        ("a ; b ; c", "LOSING 0.3 OF b ABOVE 0", "a1 c5", "b3", [("confirmed", 18, "a1 b3 c5")]),
        # The first of two that would do.
        ("a ; b ; c", "WITHIN 10", "a1 c5", "b4 b3", [("confirmed", 18, "a1 b4 c5")]),
        # A variable, a condition of a later step, a time condition.
        ("a ; b ; d", "WITHIN 10 LOSING 0.3 OF b ABOVE 0", "a1 d5:7", "b3:6 b4:7", [("confirmed", 18, "a1 b4 d5")]),
        ("a ; b @(t(b) - t(a) > 2) ; c", "WITHIN 10", "a1 c5", "b3 b4", [("confirmed", 18, "a1 b4 c5")]),
        ("a ; b ; c @(c.v > b.v)", "WITHIN 10", "a1 c5:3", "b3:4 b4:2", [("confirmed", 18, "a1 b4 c5")]),
        # What must not come, or must not come between.
        ("a ; !n ; b ; c", "WITHIN 10 LOSING 0.3 OF b ABOVE 0", "a1 c5", "n2 b3", [("withdrawn", 18, "a1 - c5")]),
        ("a ; !n ; b ; c", "WITHIN 10 LOSING 0.3 OF b ABOVE 0", "a1 c5", "b3 n2", [("confirmed", 18, "a1 b3 c5")]),
        ("a , b , c", "WITHIN 10 LOSING 0.3 OF b ABOVE 0", "a1 c5", "d2", [("withdrawn", 18, "a1 - c5")]),
        ("a , b , c", "WITHIN 10 LOSING 0.3 OF b ABOVE 0", "a1 c5", "b2", [("confirmed", 18, "a1 b2 c5")]),
        # Steps at the edges.
        ("a ; b ; c", "WITHIN 10 LOSING 0.3 OF a ABOVE 0", "b9 c12", "a2", [("confirmed", 18, "a2 b9 c12")]),
        ("a ; b ; c", "WITHIN 10 LOSING 0.3 OF a ABOVE 0", "b9 c12", "a1", []),
        ("a ; b ; c", "WITHIN 10 LOSING 0.3 OF c ABOVE 0", "a2 b9", "c12", [("confirmed", 18, "a2 b9 c12")]),
        ("a ; b ; c", "WITHIN 10 LOSING 0.3 OF c ABOVE 0", "a2 b9", "c13", []),
    ],
)
def test_late_events(pattern: str, clauses: str, timely: str, late: str, expected: list[tuple[str, int, str]]) -> None:
    engine = engine_of(pattern, clauses)
    engine.push("s", events(f"{timely} x20"))
    batch = engine.push("s", events(late))
    assert shown(batch) == expected
    assert {n.kind for n in batch} <= {"confirmed", "withdrawn"}
    assert len(batch.late) == engine.late["s"] == len(late.split())


def test_all_of_several_lost_steps_must_come() -> None:
    clauses = "WITHIN 10 LOSING 0.3 OF b, c ABOVE 0"
    for order in ("b3 c4", "c4 b3"):
        engine = engine_of("a ; b ; c ; d", clauses)
        engine.push("s", events("a1 d8 x20"))
        first, second = order.split()
        assert shown(engine.push("s", events(f"n7 {first} b9"))) == []
        engine = ft.Engine.restore(None, engine.snapshot())
        assert shown(engine.push("s", events(second))) == [("confirmed", 18, "a1 b3 c4 d8")]
    engine = engine_of("a ; b ; c ; d", clauses)
    engine.push("s", events("a1 d8 x20"))
    assert shown(engine.push("s", events("c3 b4"))) == []
    assert shown(engine.push("s", events("c5"))) == [("confirmed", 18, "a1 b4 c5 d8")]


def test_a_row_refers_to_its_estimate() -> None:
    engine = engine_of("a ; b ; c", "WITHIN 10 RETURN a.v AS x, b.v AS y LOSING 0.3 OF b ABOVE 0")
    (estimate,) = engine.push("s", events("a1:4 c5 x20"))
    (confirmed,) = found = engine.push("s", events("b3:7"))
    assert (confirmed.kind, confirmed.probability, confirmed.id) == ("confirmed", 1.0, estimate.id)
    assert (confirmed.start, confirmed.bindings) == (estimate.start, estimate.bindings)
    assert confirmed.events == {**estimate.events, "b": "b3"}
    (row,) = found.to_arrow().to_pylist()
    assert (row["kind"], row["id"], row["events"]) == ("confirmed", estimate.id, confirmed.events)


def test_a_late_event_without_an_id_has_no_name() -> None:
    text = "STREAM s (k STRING) TIME time LATE BY 2; SUBSCRIBE m FROM s MATCH a ; b ; c"
    text += " DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' WITHIN 10 LOSING 0.3 OF b ABOVE 0;"
    delays = {name: {other: DELAY for other in "abc" if other != name} for name in "abc"}
    engine = ft.Engine(text, model={"subscriptions": {"m": {"after": delays}}})
    engine.push("s", [{"time": time, "k": k} for time, k in ((1, "a"), (5, "c"), (20, "x"))])
    assert [n.events for n in engine.push("s", [{"time": 3, "k": "b"}])] == [{"a": 0, "b": None, "c": 1}]


def test_revised_estimates_are_no_events() -> None:
    engine = engine_of("a ; b ; c", "WITHIN 10 LOSING 0.3 OF b ABOVE 0; SUBSCRIBE seen FROM m MATCH x")
    found = engine.push("s", events("a1 c5 x20"))
    assert [(n.subscription, n.kind) for n in found] == [("m", "estimate"), ("seen", "estimate")]
    assert [(n.subscription, n.kind) for n in engine.push("s", events("b3 x25"))] == [("m", "confirmed")]


def test_until_when_a_late_event_counts() -> None:
    for now, expected in ((25, [("confirmed", 25, "a1 b3 c5")]), (26, [])):
        engine = engine_of("a ; b ; c", "WITHIN 10 LOSING 0.3 OF b ABOVE 0")
        engine.push("s", events("a1 c5"))
        engine.advance(now)
        assert shown(engine.push("s", events("b3"))) == expected
    engine = engine_of("a ; b ; c", "LOSING 0.3 OF b ABOVE 0")
    engine.push("s", events("a1 c5 x9999"))
    assert shown(engine.push("s", events("b3"))) == [("confirmed", 9997, "a1 b3 c5")]


@pytest.mark.parametrize("after", ["", "AFTER MATCH SKIP PAST LAST"])
def test_a_confirmed_estimate_is_never_withdrawn(after: str) -> None:
    """The b just after the gap would have withdrawn it; and it goes on excluding what it excludes."""
    clauses = f"WITHIN 10 {after} LOSING 0.3 OF b ABOVE 0"
    plain, engine = engine_of("a ; b ; c", clauses), engine_of("a ; b ; c", clauses)
    for each in (plain, engine):
        each.push("s", events("a1 c5 x8"))
    assert shown(engine.push("s", events("b3"))) == [("confirmed", 6, "a1 b3 c5")]
    engine = ft.Engine.restore(None, engine.snapshot())
    assert shown(engine.push("s", events("b2"))) == []
    later = "b8 c9 x40"
    assert ("withdrawn", 8, "a1 - c5") in shown(plain.push("s", events(later)))
    found = engine.push("s", events(later))
    assert shown(found) == []
    assert bool([n for n in found if n.kind == "match"])


# ── the truth became known ──


@pytest.mark.parametrize("statement", [ESTIMATES, ESTIMATES.replace("LOSING", "AFTER MATCH SKIP PAST LAST LOSING")])
def test_somebody_knows_the_truth(statement: str) -> None:
    engine = ft.Engine(statement, model=ESTIMATE_MODEL)
    history = estimate_events(300)
    found = engine.push("s", history)
    engine = ft.Engine.restore(None, engine.snapshot())
    withdrawn = {n.id for n in found if n.kind == "withdrawn"}
    *_, first, second = (n for n in found if n.kind == "estimate" and n.id not in withdrawn)
    for estimate, happened, kind in ((first, True, "confirmed"), (second, False, "withdrawn")):
        named = estimate if happened else str(estimate.id)
        (row,) = engine.confirm(named, happened=happened)
        assert (row.kind, row.id, row.probability) == (kind, estimate.id, float(happened))
        assert (row.start, row.end, row.events) == (estimate.start, history[-1]["time"], estimate.events)
        engine = ft.Engine.restore(None, engine.snapshot())
    for gone in (first.id, second.id, next(iter(withdrawn)), "ffff"):
        with pytest.raises(ft.InputError) as caught:
            engine.confirm(gone)
        assert caught.value.code == "unknown-estimate"
        assert "two windows" in caught.value.hint
    with pytest.raises(ft.InputError, match="expected a notification"):
        engine.confirm(None)


def test_estimates_of_rows_have_the_ids_of_rows() -> None:
    text = ESTIMATES.replace("theft FROM", "theft FOR EACH shops FROM").replace("v = 0", "v = 0 AND tag < :tags")
    shops = [{"id": 1, "tags": 3}, {"id": 2, "tags": 9}]
    engine = ft.Engine(text, model=ESTIMATE_MODEL, tables={"shops": shops})
    *_, estimate = (n for n in engine.push("s", estimate_events(300)) if n.kind == "estimate")
    with pytest.raises(ft.InputError) as caught:
        engine.confirm(estimate.id)
    assert caught.value.code == "unclear-estimate"
    named = {"id": str(estimate.id), "events": estimate.events}
    assert [(n.kind, n.id, n.events) for n in engine.confirm(named)] == [("confirmed", estimate.id, estimate.events)]

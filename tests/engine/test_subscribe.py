"""Engine.subscribe, unsubscribe, add_rows and remove_rows while events come."""

from __future__ import annotations

import gc
import time
from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.build import event, steps, subscribe
from foretell.engine import Engine
from foretell.storage.blob import unpack
from tests.engine.letter_events import LETTER, LIMITS, PAIR, STREAM, TABLE, events, names, refused

# ── subscribe, unsubscribe ──


def test_a_subscription_counts_from_the_next_event_on() -> None:
    engine = Engine(STREAM + LETTER)
    engine.push("s", events("a"))
    engine.subscribe(PAIR)
    assert names(engine.push("s", events("ba", 2))) == ["letter"]
    found = engine.push("s", events("b", 4))
    assert [(n.subscription, n.start, n.events) for n in found] == [
        ("letter", 4, {"a": 3}),
        ("pair", 3, {"a": 2, "b": 3}),
    ]
    engine.unsubscribe("letter")
    assert names(engine.push("s", events("b", 5))) == ["pair"]


def test_changes_before_the_first_events() -> None:
    engine = Engine("SUBSCRIBE m FROM s MATCH a DEFINE a AS k = 'a';", time={"s": "time"})
    engine.subscribe(PAIR)
    engine.unsubscribe("m")
    assert names(engine.push("s", events("ab"))) == ["pair"]
    assert refused(lambda: Engine(STREAM + PAIR).subscribe("SUBSCRIBE m FROM r MATCH a;"))[0] == "unknown-stream"


def test_a_built_statement_works_like_text() -> None:
    (a,) = steps("a")
    engine = Engine(STREAM)
    engine.subscribe(subscribe("built").from_("s").match(a).define(a, event.k == "a"))
    assert names(engine.push("s", events("a"))) == ["built"]


def test_a_subscription_may_read_another() -> None:
    engine = Engine(STREAM + LETTER)
    engine.push("s", events("bb"))
    engine.subscribe("SUBSCRIBE twice FROM letter MATCH a , b DEFINE b AS v > a.v;")
    assert names(engine.push("s", events("bab", 3))) == ["letter", "letter", "twice"]
    message = refused(lambda: engine.unsubscribe("letter"))
    assert message == ("still-read", "'letter' cannot be removed: 'twice' reads it", "unsubscribe 'twice' first")
    engine.unsubscribe("twice")
    engine.unsubscribe("letter")
    assert len(engine.push("s", events("b", 9))) == 0


def test_a_text_may_bring_its_stream_along() -> None:
    engine = Engine(STREAM + PAIR)
    engine.push("s", events("a"))
    more = "STREAM r (k STRING, time INT) TIME time;\nSUBSCRIBE other FROM r MATCH a;"
    engine.subscribe(more)
    assert names(engine.push("r", [{"time": 2, "k": "x"}])) == ["other"]
    engine.unsubscribe("other")
    engine.subscribe(more.replace("other", "again"))  # the same declaration may be said again
    assert names(engine.push("r", [{"time": 3, "k": "x"}])) == ["again"]
    other = more.replace("k STRING", "k INT").replace("other", "third")
    assert refused(lambda: engine.subscribe(other))[:2] == ("defined-twice", "'r' is already defined")


def test_an_engine_may_begin_with_a_stream_alone() -> None:
    engine = Engine(STREAM)
    assert len(engine.push("s", events("ab"))) == 0
    engine.subscribe(PAIR)
    assert names(engine.push("s", events("ab", 3))) == ["pair"]


def test_events_that_are_held_back_are_still_to_come() -> None:
    engine = Engine(STREAM.replace(";", " LATE BY 10;") + LETTER)
    engine.push("s", events("ab"))
    engine.subscribe(PAIR)
    assert names(engine.end()) == ["letter", "pair"]


def test_what_comes_before_a_subscription_does_not_count_against_it() -> None:
    """A negation that leads looks back only as far as the subscription does."""
    engine = Engine(STREAM + LETTER)
    engine.push("s", events("x"))
    engine.subscribe("SUBSCRIBE calm FROM s MATCH !x ; a DEFINE x AS k = 'x', a AS k = 'a' WITHIN 10;")
    engine.subscribe("SUBSCRIBE third FROM s MATCH a[2] DEFINE a AS k IN ('a', 'x');")
    engine.subscribe("SUBSCRIBE quiet FROM s MATCH !b DEFINE b AS k = 'b' WITHIN 5;")
    assert names(engine.push("s", events("a", 2))) == ["calm"]
    assert names(engine.push("s", events("a", 3))) == ["calm", "third"]
    assert [(n.subscription, n.start, n.end) for n in engine.advance(8)] == [("quiet", 2, 7)]


def test_held_matches_survive_new_subscriptions() -> None:
    """Those who join ask a shared machine for more of each match; what was found before has less."""
    last = "SUBSCRIBE last FROM s MATCH a ;{k = 'b'} LAST b DEFINE a AS k = 'a' WITHIN 10;"
    engine, alone = Engine(STREAM + last), Engine(STREAM + last)
    for place, letter in enumerate("abxabb", start=1):
        engine.push("s", events(letter, place))
        alone.push("s", events(letter, place))
        engine.subscribe(f"SUBSCRIBE m{place} FROM s MATCH a ;{{k = 'b'}} b DEFINE a AS k = 'a', b AS v > {place};")
    separate = [(n.start, n.events) for n in alone.advance(99)]
    assert separate
    assert [(n.start, n.events) for n in engine.advance(99) if n.subscription == "last"] == separate


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize(
    ("text", "tables", "code"),
    [
        ("SUBSCRIBE m FROM s MATCH", {}, "unexpected-end"),
        ("SUBSCRIBE m FROM s MATCH a DEFINE a AS w = 1;", {}, "unknown-attribute"),
        ("SUBSCRIBE m FROM r MATCH a;", {}, "unknown-stream"),
        (PAIR, {}, "defined-twice"),
        ("SUBSCRIBE s FROM letter MATCH a;", {}, "defined-twice"),
        ("SUBSCRIBE x FROM y MATCH a; SUBSCRIBE y FROM x MATCH a;", {}, "cycle"),
        (LIMITS, {}, "missing-table"),
        (LIMITS, {**TABLE, "others": []}, "unread-table"),
        (LIMITS.replace("least", "most"), TABLE, "unknown-column"),
        (LIMITS.replace("above", "m").replace("limits", "known"), {"known": []}, "known-table"),
        ("STREAM s (k STRING) TIME time; SUBSCRIBE m FROM s MATCH a;", {}, "defined-twice"),
        ("STREAM r TIME time; SUBSCRIBE m FROM r MATCH a;", {}, "undeclared-stream"),
        ("SUBSCRIBE m FROM letter MATCH a DEFINE a AS w = 1;", {}, "unknown-attribute"),
    ],
)
def test_a_refused_subscription_changes_nothing(text: str, tables: dict[str, Any], code: str, running: bool) -> None:
    known = "SUBSCRIBE each FOR EACH known FROM s MATCH a DEFINE a AS v = :v;"
    engine = Engine(STREAM + PAIR + LETTER + known, tables={"known": [{"id": 1, "v": 7}]})
    if running:
        engine.push("s", events("a"))
    before, blob = engine.subscriptions, engine.snapshot()
    later = not running and code == "undeclared-stream"  # this is known when events come
    if later:
        engine.subscribe(text, tables=tables)
        assert refused(lambda: engine.push("s", events("a")))[0] == code
        return
    assert refused(lambda: engine.subscribe(text, tables=tables))[0] == code
    assert engine.subscriptions == before
    assert unpack(engine.snapshot(), "engine")[1]["statements"] == unpack(blob, "engine")[1]["statements"]
    assert names(engine.push("s", events("ab", 2))) == ["letter", *["pair"] * (2 if running else 1)]


def test_an_input_cannot_become_a_statement() -> None:
    engine = Engine("SUBSCRIBE m FROM s MATCH a;", time={"s": "time", "r": "time"})
    assert refused(lambda: engine.subscribe("SUBSCRIBE s FROM r MATCH a;"))[0] == "stream-and-statement"


def test_only_existing_subscriptions_can_be_removed() -> None:
    engine = Engine(STREAM + PAIR)
    message = refused(lambda: engine.unsubscribe("pear"))
    assert message == ("unknown-subscription", "there is no subscription 'pear'", "did you mean 'pair'?")
    for name in ("s", None, ["pair"]):
        assert refused(lambda name=name: engine.unsubscribe(name))[0] == "unknown-subscription"


# ── rows ──


def test_rows_are_added_and_removed() -> None:
    engine = Engine(STREAM + LIMITS, tables=TABLE)
    engine.push("s", events("a"))
    engine.add_rows("limits", [{"id": "middle", "least": 3}])
    assert [n.id for n in engine.push("s", events("aaa", 2))] == ["low", "low", "low", "middle"]
    engine.remove_rows("limits", ["low"])
    assert [n.id for n in engine.push("s", events("a", 5))] == ["middle"]
    engine.remove_rows("limits", ["middle", "high"])
    assert len(engine.push("s", events("a", 101))) == 0
    engine.add_rows("limits", [{"id": "low", "least": 2}])
    assert [n.id for n in engine.push("s", events("a", 102))] == ["low"]


def test_a_partial_match_keeps_the_rows_it_began_with() -> None:
    text = LIMITS.replace("MATCH a", "MATCH a , b")
    engine = Engine(STREAM + text, tables={"limits": [{"id": 1, "least": 0}, {"id": 5, "least": 0}]})
    engine.push("s", events("a"))
    engine.add_rows("limits", [{"id": 3, "least": 0}])
    engine.remove_rows("limits", [1])
    engine.add_rows("limits", [{"id": 1, "least": 0}])  # another row, though of the same name
    assert [n.id for n in engine.push("s", events("a", 2))] == [5]
    assert [n.id for n in engine.push("s", events("a", 3))] == [1, 3, 5]


def test_rows_before_the_first_events() -> None:
    engine = Engine(STREAM + LIMITS, tables=TABLE)
    engine.add_rows("limits", [{"id": "middle", "least": 3}])
    engine.remove_rows("limits", ["low"])
    assert [n.id for n in engine.push("s", events("aaaa"))] == ["middle"]


def test_rows_that_are_refused() -> None:
    engine = Engine(STREAM + LIMITS, tables=TABLE)
    engine.push("s", events("a"))
    assert refused(lambda: engine.add_rows("above", [])) == (
        "unread-table",
        "no statement is FOR EACH 'above'",
        "'above' is FOR EACH 'limits'",
    )
    assert refused(lambda: engine.remove_rows("limit", []))[2] == "did you mean 'limits'?"
    for rows, message in [
        ([{"id": "low", "least": 1}], "limits: the id 'low' exists already"),
        ([{"id": "x", "least": 1}, {"id": "x", "least": 2}], "limits:2: duplicate id 'x'"),
        ([{"id": "x", "least": "much"}], "limits:1: least: expected INT, found 'much'"),
        ([{"id": "x", "most": 1}], "limits: the table has no column 'most'"),
        ([{"least": 1}], "limits:1: no id"),
    ]:
        assert refused(lambda rows=rows: engine.add_rows("limits", rows))[:2] == ("bad-table", message)
    assert refused(lambda: engine.remove_rows("limits", "low"))[0] == "bad-argument"
    assert refused(lambda: engine.remove_rows("limits", ["low", "none"]))[:2] == (
        "unknown-row",
        "limits: there is no row with the id 'none'",
    )
    assert [n.id for n in engine.push("s", events("a", 2))] == ["low"]
    bare = Engine(STREAM + LIMITS, tables={"limits": []})
    assert refused(lambda: bare.add_rows("limits", [{"id": 1, "least": 1}]))[0] == "bad-table"


# ── churn ──


def test_a_search_between_events_beside_a_sparse_buffer() -> None:
    """Of the events before, the buffer has only those that partial matches of another statement refer to."""
    rare = "SUBSCRIBE r FROM s MATCH x ; y DEFINE x AS k = 'r', y AS k = 'never';"
    between = """SUBSCRIBE b FROM s MATCH p ; !n ; q
    DEFINE p AS k = 'p', q AS k = 'q', n AS k = 'n' AND v = q.v WITHIN 50;"""
    stream, chance = "STREAM s (k STRING, v INT, t INT) TIME t;", Random(1)
    rows = [{"k": chance.choice("pqnz") if t % 50 else "r", "v": chance.randrange(3), "t": t} for t in range(1_000)]
    engine = Engine(stream + rare)
    for first in range(0, 600, 20):
        engine.push("s", rows[first : first + 20])
    engine.subscribe(between)
    pushed = [n for first in range(600, 1_000, 20) for n in engine.push("s", rows[first : first + 20])]
    wanted = ft.run(stream + between, {"s": rows[600:]}, engine="reference")
    assert [(n.start, n.end) for n in pushed] == [(n.start, n.end) for n in wanted]
    assert len(pushed) > 200


def churn(engine: Engine, first: int, rounds: int) -> None:
    """Subscribe `rounds` times, keeping the latest five."""
    for number in range(first, first + rounds):
        engine.subscribe(
            f"SUBSCRIBE n{number} FROM s MATCH a , b ; c"
            f" DEFINE a AS v = {number % 7}, b AS v > a.v, c AS k = '{'abx'[number % 3]}' WITHIN 9;"
        )
        if number >= 5:
            engine.unsubscribe(f"n{number - 5}")
        if number % 10 == 0:
            engine.push("s", events("abx", 10 * number))


def fastest_push(engine: Engine, first: int) -> float:
    taken = []
    for place in range(first, first + 20):
        began = time.perf_counter()
        engine.push("s", events("a", place))
        taken.append(time.perf_counter() - began)
    return min(taken)


def live_objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("rounds", [600, pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
def test_churn_leaks_nothing(rounds: int) -> None:
    engine = Engine(STREAM + PAIR.replace(";\n", " WITHIN 9;") + LETTER)
    churn(engine, 0, 200)
    quick = fastest_push(engine, 1_910)
    before = live_objects()
    churn(engine, 200, rounds)
    # A shared NFA keeps the states of removed subscriptions until it is full: those of some hundred.
    assert live_objects() < before + 20_000
    assert fastest_push(engine, 10 * (rounds + 201)) < 5 * quick + 0.005
    assert len(engine.snapshot()) < 100_000

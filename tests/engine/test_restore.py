"""Engine.snapshot and Engine.restore: with the same statements, with others, and with damaged snapshots."""

from __future__ import annotations

from typing import Any

import foretell as ft
from foretell.engine import LAYOUT, Engine
from foretell.storage.blob import pack, unpack
from tests.engine.letter_events import LETTER, LIMITS, PAIR, STREAM, TABLE, events, names, refused


def test_changed_statements_start_anew() -> None:
    chain = "SUBSCRIBE after FROM pair MATCH a;\n"
    engine = Engine(STREAM + PAIR + LETTER + chain)
    engine.subscribe(LETTER.replace("letter", "more"))
    engine.push("s", events("a"))
    again = STREAM + PAIR.replace("k = 'b'", "k = 'x'") + chain + LETTER + LETTER.replace("letter", "new")
    engine = Engine.restore(again, engine.snapshot())
    assert (engine.carried, engine.fresh, engine.dropped) == (("letter",), ("pair", "after", "new"), ("more",))
    assert engine.subscriptions == ft.parse(again)
    assert names(engine.push("s", events("xbax", 2))) == ["letter", "new", "after", "pair"]


def test_the_statements_of_the_snapshot() -> None:
    engine = Engine(STREAM + PAIR)
    engine.push("s", events("a"))
    engine.subscribe(LETTER)
    engine.unsubscribe("pair")
    engine = Engine.restore(None, engine.snapshot())
    assert (engine.carried, engine.fresh, engine.dropped) == (("letter",), (), ())
    assert names(engine.push("s", events("b", 2))) == ["letter"]


def test_a_snapshot_before_the_first_events() -> None:
    engine = Engine("SUBSCRIBE m FROM s MATCH a;" + LIMITS, time={"s": "time"}, tables=TABLE)
    engine = Engine.restore(None, engine.snapshot())
    assert names(engine.push("s", events("a"))) == ["m"]


def test_a_stream_with_another_declaration() -> None:
    engine = Engine(STREAM + PAIR)
    engine.push("s", events("a"))
    blob = engine.snapshot()
    late = Engine.restore((STREAM + PAIR).replace("TIME time;", "TIME time LATE BY 5;"), blob)
    assert late.carried == ("pair",)
    assert len(late.push("s", events("b", 2))) == 0
    assert names(late.end()) == ["pair"]
    other = Engine.restore((STREAM + PAIR).replace("v INT", "v FLOAT"), blob)
    assert (other.carried, other.fresh) == ((), ("pair",))
    assert len(other.push("s", events("b", 2))) == 0
    blob = late.snapshot()
    assert Engine.restore(None, blob).carried == ("pair",)


def test_the_rows_of_a_restored_table() -> None:
    engine = Engine(STREAM + LIMITS.replace("MATCH a", "MATCH a , b"), tables=TABLE)
    engine.push("s", events("a", 101))
    blob = engine.snapshot()
    limits = [{"id": "low", "least": 1}, {"id": "high", "least": 50}, {"id": "new", "least": 1}]
    engine = Engine.restore(None, blob, tables={"limits": limits})
    assert engine.carried == ("above",)
    assert [n.id for n in engine.push("s", events("a", 102))] == ["low"]
    assert [n.id for n in engine.push("s", events("a", 103))] == ["high", "low", "new"]
    engine = Engine.restore(None, blob, tables={"limits": [{"id": "low", "least": 1.5}]})
    assert engine.fresh == ("above",)


def test_a_snapshot_from_before_a_change_of_meaning() -> None:
    """Decision 0002, item 8: such patterns have other states since layout 3, all others go on."""
    for pattern, goes_on in [("a ; !c ; b ; d", True), ("a ; !c ; b? ; d", False)]:
        engine = Engine(f"SUBSCRIBE m FROM s MATCH {pattern};", time={"s": "time"})
        engine.push("s", events("a"))
        header, state = unpack(engine.snapshot(), "engine")
        older = pack("engine", {**header, "layout": 2}, state)
        if goes_on:
            assert Engine.restore(None, older).carried == ("m",)
        else:
            assert refused(lambda older=older: Engine.restore(None, older))[0] == "unusable-snapshot"


def test_snapshots_that_cannot_be_restored() -> None:
    engine = Engine("SUBSCRIBE m FROM s MATCH a;", time={"s": "time"})
    engine.push("s", events("a"))
    blob = engine.snapshot()
    header, state = unpack(blob, "engine")
    broken = {**state, "work": {**state["work"], "running": {}}}
    wrong = {**state, "statements": "SUBSCRIBE m FROM s MATCH a DEFINE a AS nowhere = 1;"}
    for made, code in [
        (None, "not-a-snapshot"),
        ("text", "not-a-snapshot"),
        (b"something else", "not-a-snapshot"),
        (blob[:-1], "damaged-snapshot"),
        (blob[:100] + b"?" + blob[101:], "damaged-snapshot"),
        (pack("model", {}, {}), "other-snapshot"),
        (pack("engine", {**header, "layout": LAYOUT + 1}, state), "newer-snapshot"),
        (pack("engine", header, broken), "unusable-snapshot"),
        (pack("engine", header, wrong), "unusable-snapshot"),
        (pack("engine", {}, {}), "unusable-snapshot"),
        (pack("engine", {}, None), "unusable-snapshot"),
    ]:
        assert refused(lambda made=made: Engine.restore(None, made))[0] == code, code
    restore: Any = Engine.restore
    assert refused(lambda: restore(None, blob, time={"s": "when"}))[0] == "time-twice"
    assert refused(lambda: restore("SUBSCRIBE m FROM s MATCH a;" + LIMITS, blob))[0] == "missing-table"
    assert refused(lambda: restore(None, blob, tables=TABLE))[0] == "unread-table"
    more = "SUBSCRIBE m FROM s MATCH a;SUBSCRIBE n FROM r MATCH a;"
    assert refused(lambda: restore(more, blob))[0] == "unknown-stream"
    assert refused(lambda: restore(5, blob))[0] == "bad-argument"
    other = "STREAM r (time INT) TIME time; SUBSCRIBE n FROM r MATCH a;"
    held = Engine(STREAM.replace(";", " LATE BY 9;") + PAIR + other)
    held.push("s", events("a"))
    again = STREAM.replace("v INT", "v FLOAT") + PAIR + other
    assert refused(lambda: restore(again, held.snapshot()))[0] == "changed-stream"

"""Engine.push: batches give the same notifications as one run over all events; a refused batch changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft
from foretell.engine import Engine
from tests.case_files import rows

STREAM = "STREAM s (k STRING, v INT, time INT) TIME time;\n"
PAIR = STREAM + "SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS k = 'a', b AS k = 'b';"
EVENTS = [{"time": t, "k": k, "v": t} for t, k in enumerate("abxabbxa", start=1)]


def refused(work: Any) -> tuple[str, str]:
    with pytest.raises(ft.ForetellError) as caught:
        work()
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize("size", range(1, 9))
def test_batches_give_the_same_as_one_run(size: int) -> None:
    engine = Engine(PAIR)
    notified = [n for i in range(0, len(EVENTS), size) for n in engine.push("s", EVENTS[i : i + size])]
    assert rows(notified) == rows(ft.run(PAIR, {"s": EVENTS}))


def test_time_alone_completes_a_match() -> None:
    engine = Engine(PAIR.replace("MATCH a ; b", "MATCH a ; !b").replace("k = 'b';", "k = 'b' WITHIN 5;"))
    assert len(engine.push("s", [{"time": 1, "k": "a"}])) == 0
    assert len(engine.advance(6)) == 0
    assert [(n.start, n.end) for n in engine.advance(7)] == [(1, 6)]
    assert len(engine.advance(99)) == 0


def test_time_does_not_go_back() -> None:
    engine = Engine(PAIR)
    engine.push("s", EVENTS[:3])
    message = "stream 's': row 2 has time 2, but time is 3 already\n"
    code, text = refused(lambda: engine.push("s", [{"time": 4, "k": "b"}, {"time": 2, "k": "b"}]))
    assert (code, text.splitlines(keepends=True)[0]) == ("out-of-order", message)
    assert refused(lambda: engine.advance(2)) == ("out-of-order", "time cannot go back: it is 3 already")
    # The refused batch has left no trace.
    assert rows(engine.push("s", EVENTS[3:])) == rows(ft.run(PAIR, {"s": EVENTS}))[1:]


def test_types_of_the_first_batch_stay() -> None:
    engine = Engine("SUBSCRIBE m FROM s MATCH a DEFINE a AS v > 1;", time={"s": "time"})
    assert len(engine.push("s", [{"time": 1, "v": 1.5}])) == 1
    assert len(engine.push("s", [{"time": 2, "v": 2}])) == 1
    found = engine.push("s", [{"time": 3, "v": "x"}, {"time": None, "v": 1}])
    assert [b.reason for b in found.bad] == ["no time"]
    assert [values.reason for values in found.unreadable] == ["v: expected FLOAT, found 'x'"]


def test_refused_batches() -> None:
    engine = Engine(PAIR)
    assert refused(lambda: engine.push("r", []))[0] == "unread-input"
    assert [event.reason for event in engine.push("s", [{"k": "a"}]).bad] == ["no time"]
    assert refused(lambda: engine.push("s", [{"time": 1, "k": 5}], strict=True))[0] == "bad-event"
    two = Engine("SUBSCRIBE m FROM s, r MATCH a;", time={"s": "t", "r": "t"})
    assert refused(lambda: two.push("s", [{"t": 1}]))[0] == "undeclared-stream"


def test_streams_take_turns() -> None:
    text = """
    STREAM s (k STRING) TIME time;
    STREAM r (k STRING) TIME time;
    SUBSCRIBE m FROM s, r MATCH a , b DEFINE a AS stream = 's', b AS stream = 'r';
    """
    engine = Engine(text)
    notified = [*engine.push("s", [{"time": 1}]), *engine.push("r", [{"time": 2}]), *engine.push("s", [{"time": 3}])]
    assert [n.events for n in notified] == [{"a": 0, "b": 1}]

"""Engine.push_together: batches of several streams at once, and engines that share the lanes of streams."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.errors import InputError

TEXT = """
STREAM a (k INT, t INT) TIME t; STREAM b (k INT, t INT) TIME t;
SUBSCRIBE pair FROM a, b PER k MATCH x , y DEFINE x AS stream = 'a', y AS stream = 'b';
SUBSCRIBE quiet FROM a PER k MATCH x ; !y WITHIN 5;
"""


def test_batches_come_together() -> None:
    engine = ft.Engine(TEXT)
    notified = engine.push_together({"b": [{"k": 1, "t": 4}], "a": [{"k": 1, "t": 3}]})
    assert [(n.subscription, n.start, n.end) for n in notified] == [("pair", 3, 4)]
    with pytest.raises(InputError, match="time is 4 already"):
        engine.push_together({"a": [{"k": 1, "t": 9}], "b": [{"k": 1, "t": 3}]})
    assert not engine.push_together({"a": [{"k": 1, "t": 4}]}).late  # what was refused has changed nothing


def test_events_of_other_engines_advance_time() -> None:
    """For each statement by the streams that it reads."""
    engine = ft.Engine(TEXT)
    engine.push_together({"a": [{"k": 1, "t": 3}]})
    assert not engine.push_together({}, {"b": 50})
    assert [n.subscription for n in engine.push_together({}, {"a": 50})] == ["quiet"]


QUIET = """STREAM s (k STRING, kind STRING, t INT) TIME t LATE BY 3;
STREAM beats (t INT) TIME t LATE BY 3;
SUBSCRIBE quiet FROM s PER k MATCH !b DEFINE b AS kind = 'b' WITHIN 5;
SUBSCRIBE unheard FROM beats MATCH b DEFINE b AS FALSE;"""


def test_time_does_not_depend_on_which_engine_has_the_events() -> None:
    """Another stream lets all of `s` go: time has come to its last event, also where that event is not."""
    events = [{"k": "y", "kind": "b", "t": 3}, {"k": "x", "kind": "a", "t": 9}]
    beats = [{"t": 99}]
    whole = ft.Engine(QUIET).push_together({"s": events, "beats": beats})
    part = ft.Engine(QUIET).push_together({"s": events[:1], "beats": beats}, {"s": 9, "beats": 99})
    assert [(n.start, n.end) for n in whole] == [(3, 8)]
    assert part.rows == whole.rows

"""Calls at the same time, inside one another, after an error and after a fork: allowed, or a clear error."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import foretell as ft
from tests.engine.letter_events import LETTER, PAIR, STREAM, events, names, refused


def test_two_threads_that_push_at_once() -> None:
    engine = ft.Engine(STREAM + PAIR)
    reading, go_on = threading.Event(), threading.Event()
    found: list[ft.Notifications] = []

    def slowly() -> Iterator[dict[str, Any]]:
        yield from events("a")
        reading.set()
        go_on.wait(10)
        yield from events("b", 2)

    thread = threading.Thread(target=lambda: found.append(engine.push("s", slowly())))
    thread.start()
    reading.wait(10)
    for call in (lambda: engine.push("s", events("b", 3)), engine.snapshot, engine.end, lambda: engine.advance(9)):
        assert refused(call)[0] == "busy-engine"
    go_on.set()
    thread.join()
    assert names(found[0]) == ["pair"]
    assert names(engine.push("s", events("b", 3))) == ["pair"]


def test_a_source_that_pushes() -> None:
    engine = ft.Engine(STREAM + PAIR)

    def source() -> Iterator[dict[str, Any]]:
        yield from events("a")
        engine.push("s", events("b", 2))

    assert refused(lambda: engine.push("s", source()))[0] == "busy-engine"
    assert len(engine.push("s", events("b", 3))) == 0  # nothing was pushed


def test_push_inside_an_iteration() -> None:
    text = STREAM + LETTER + PAIR
    first, later = events("ab" * 50), [events("ab" * 20, 200 + 40 * i) for i in range(200)]
    expected = [str(n) for n in ft.Engine(text).push("s", first)]
    engine, seen = ft.Engine(text), []
    for notification, more in zip(engine.push("s", first), later, strict=False):
        engine.push("s", more)
        seen.append(str(notification))
    assert seen == expected[: len(seen)]
    assert len(seen) == 200


def test_after_an_error_of_ours_it_goes_on() -> None:
    engine = ft.Engine(STREAM + PAIR)
    engine.push("s", events("a", 5))
    assert refused(lambda: engine.push("s", events("b", 1)))[0] == "out-of-order"
    assert refused(lambda: engine.subscribe("SUBSCRIBE x FROM nowhere MATCH a;"))[0] == "unknown-stream"
    assert names(engine.push("s", events("b", 6))) == ["pair"]


def test_after_an_error_of_a_source_it_goes_on() -> None:
    engine = ft.Engine(STREAM + PAIR)

    def source() -> Iterator[dict[str, Any]]:
        yield from events("a")
        raise OSError("the line is dead")

    with pytest.raises(OSError, match="the line is dead"):
        engine.push("s", source())
    assert len(engine.push("s", events("ab"))) == 1


def test_after_any_other_error_it_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ft.Engine(STREAM + PAIR)
    engine.push("s", events("a"))
    snapshot = engine.snapshot()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("foretell.machine.runtime.MatchRuntime.pieces", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.push("s", events("b", 2))
    code, message, hint = refused(lambda: engine.push("s", events("b", 3)))
    assert (code, "KeyboardInterrupt" in message, "restore" in hint) == ("broken-engine", True, True)
    assert refused(engine.snapshot)[0] == "broken-engine"
    assert names(ft.Engine.restore(None, snapshot).push("s", events("b", 2))) == ["pair"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process() -> None:
    engine = ft.Engine(STREAM + PAIR)
    engine.push("s", events("a"))
    child = os.fork()
    if child == 0:
        try:
            engine.push("s", events("b", 2))
        except ft.InputError as error:
            os._exit(7 if error.code == "forked-engine" else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert names(engine.push("s", events("b", 2))) == ["pair"]

"""Results in parts: the same rows in the same order as all of them at once, whatever waits."""

from __future__ import annotations

import random

import pytest

from foretell.engine.planning import start_runtime
from foretell.errors import ForetellError
from foretell.events.notification import Notification
from foretell.machine.exec.limits import Limits, RunLedger
from foretell.machine.matches import settled_results
from foretell.machine.matches.notification_order import notifications_of
from foretell.machine.matches.settled_results import SettledResults
from foretell.notify.ordered_notifications import notification_parts
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties.patterns import Chance, case

EVENTS = [{"time": number // 3, "k": "xyz"[number % 3], "v": number % 5} for number in range(60)]


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.machine.runtime.SLICE", 4)


def in_parts(pair: EnginePair) -> tuple[list[list[Notification]], list[Notification]]:
    """The notifications of each part, and of all results at once."""
    runtime = start_runtime(pair.checked, pair.given)
    pieces = list(runtime.pieces(pair.loaded, pair.until, ends=True))
    parts = [notifications_of(part) for part in SettledResults(runtime.ledger, 1).parts(pieces)]
    assert id(runtime) not in runtime.ledger.bytes
    return parts, notifications_of([result for piece in pieces for result in piece.results])


@pytest.mark.parametrize(
    "text",
    [
        "SUBSCRIBE m FROM s MATCH a ; b",
        "SUBSCRIBE b FROM s PER k MATCH a , b; SUBSCRIBE a FROM s MATCH a ; !w WITHIN 2 DEFINE w AS v = 9",
        "SUBSCRIBE z FROM s MATCH a , b; SUBSCRIBE a FROM s MATCH x ; LAST y WITHIN 3 DEFINE x AS v = 1",
        "SUBSCRIBE z FROM s MATCH a; SUBSCRIBE q FROM s PER k MATCH !a DEFINE a AS v = 2 WITHIN 1",
        "SUBSCRIBE z FROM s MATCH a; SUBSCRIBE l FROM s PER k MATCH a+ ; b WITHIN 4 AFTER MATCH LONGEST;"
        "SUBSCRIBE r FROM l MATCH x , y",
    ],
)
def test_parts_follow_one_another_in_the_order_of_all(text: str) -> None:
    parts, whole = in_parts(EnginePair(text, {"s": EVENTS}, time={"s": "time"}, until=40))
    assert len(parts) > 5
    assert comparable_rows([n for part in parts for n in part]) == comparable_rows(whole)


def test_an_instant_is_not_divided() -> None:
    """Its matches are ordered by their first events, so none can be told before all are known."""
    events = [{"time": number // 30, "k": "x", "v": number} for number in range(60)]
    parts, whole = in_parts(EnginePair("SUBSCRIBE m FROM s MATCH a ; b", {"s": events}, time={"s": "time"}))
    assert [n for part in parts for n in part] == whole
    assert {tuple({n.end for n in part}) for part in parts} == {(0,), (1,)}


def test_random_programs() -> None:
    found = 0
    for seed in range(100):
        program = case(Chance(random.Random(seed).randint))
        try:
            pair = EnginePair(program.text, program.streams, tables=program.tables, until=program.until)
            parts, whole = in_parts(pair)
        except ForetellError:
            continue  # not a valid program
        assert comparable_rows([n for part in parts for n in part]) == comparable_rows(whole), program.text
        found += len(parts) > 1
    assert found > 15


def test_results_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match that LONGEST holds to the end does not hold all others back."""
    text = "SUBSCRIBE z FROM s MATCH a ; b; SUBSCRIBE l FROM s MATCH a ; b ; c? AFTER MATCH LONGEST DEFINE c AS v = 9"
    pair = EnginePair(text, {"s": EVENTS}, time={"s": "time"})
    held, _ = in_parts(pair)
    assert len(held) == 1
    monkeypatch.setattr(settled_results, "WAITING_SHARE", 10**9)
    parts, whole = in_parts(pair)
    assert len(parts) > 5
    assert sorted(map(str, (n for part in parts for n in part))) == sorted(map(str, whole))


def test_few_notifications_are_encoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.notify.ordered_notifications.MAX_ENCODED_ROWS", 100)
    text = "SUBSCRIBE m FROM s MATCH a ; b RETURN a.v AS v, b.k AS k; SUBSCRIBE b FROM s PER k MATCH a , b"
    pair = EnginePair(text, {"s": EVENTS}, time={"s": "time"})
    results = start_runtime(pair.checked, pair.given).process(pair.loaded, pair.until, ends=True)
    parts = list(notification_parts(results))
    assert [len(part) for part in parts[:-1]] == [100] * (len(parts) - 1)
    assert [n for part in parts for n in part] == notifications_of(results)


def test_waiting_results_count_as_memory() -> None:
    pair = EnginePair("SUBSCRIBE m FROM s MATCH a ; b", {"s": EVENTS}, time={"s": "time"})
    pieces = list(start_runtime(pair.checked, pair.given).pieces(pair.loaded))
    ledger = RunLedger(Limits())
    parts = SettledResults(ledger, 10**9, patient=True).parts(pieces)
    next(parts)
    assert sum(ledger.bytes.values()) > 0
    assert list(parts) == []
    assert not ledger.bytes

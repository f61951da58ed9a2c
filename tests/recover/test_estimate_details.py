"""What estimates rest on: the engine tells what the reference evaluator does, however batches are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.events.notification import Notification
from tests.recover.estimate_programs import (
    ESTIMATES,
    EstimateProgram,
    estimate_events,
    estimate_program,
    wide_program,
)
from tests.recover.test_estimates import push, run

#: Times are as near, as a part of the longest gap.
NEAR = 3e-4

#: No gap of these programs is longer.
LONGEST = 60.0


def with_fractions(program: EstimateProgram) -> EstimateProgram:
    """The program with times that are not rounded."""
    return replace(program, stream=program.stream.replace("time INT", "time FLOAT"))


def told(notifications: Iterable[Notification]) -> list[dict[str, Any]]:
    """The estimates of each row, by what does not depend on rounding."""
    rows = sorted(notifications, key=lambda n: (n.subscription, n.kind, n.end, str(n.id), str(n.events), str(n.key)))
    return [{"kind": n.kind, "events": n.events, "estimate": n.estimate} for n in rows]


def agree(mine: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> int:
    """How many estimates there are; both rows have the same."""
    assert [(row["kind"], row["events"]) for row in mine] == [(row["kind"], row["events"]) for row in theirs]
    count = 0
    for own, other in zip((row["estimate"] for row in mine), (row["estimate"] for row in theirs), strict=True):
        assert (own is None) == (other is None)
        if own is None:
            continue
        count += 1
        assert own.score == other.score
        assert [lost.step for lost in own.lost] == [lost.step for lost in other.lost]
        for a, b in zip(own.lost, other.lost, strict=True):
            assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=NEAR * LONGEST)
        assert [(gap.after, gap.before) for gap in own.gaps] == [(gap.after, gap.before) for gap in other.gaps]
        assert [gap.factor for gap in own.gaps] == pytest.approx([gap.factor for gap in other.gaps], abs=1e-4)
    return count


def compared(seeds: Iterable[int], most: int, made: Callable[[Random, int], EstimateProgram]) -> int:
    count = 0
    for seed in seeds:
        program = with_fractions(made(Random(seed), most))
        expected = told(run(program, "reference"))
        assert agree(told(run(program, "embedded")), expected) == agree(told(push(program, Random(seed))), expected)
        count += sum(row["estimate"] is not None for row in expected)
    return count


def test_random_programs() -> None:
    assert compared([*range(12), 24, 52], 2, estimate_program) + compared([38], 3, estimate_program) > 10


def test_wide_programs() -> None:
    assert compared([*range(6), 13, 23, 27, 31, 6240], 3, wide_program) > 5


def test_estimates_among_the_events_of_a_match() -> None:
    """Of the second statement one may be lost, too; a match that lacks nothing is as certain as its events."""
    text = """STREAM s (time FLOAT, v INT) TIME time;
    SUBSCRIBE first FROM s MATCH a ; b ; c DEFINE a AS v = 0, b AS v = 1, c AS v = 2 WITHIN 9
    RETURN a.v AS v LOSING 0.3 OF b ABOVE 0.05;
    SUBSCRIBE second FROM first MATCH x ; y ; z WITHIN 40 LOSING 0.2 OF y ABOVE 0.001;"""
    exponential = {"distribution": "exponential", "mean": 3.0, "share": 0.7}
    after = {"b": {"a": exponential}, "c": {"a": exponential, "b": exponential}}
    again = {"y": {"x": exponential}, "z": {"x": exponential, "y": exponential}}
    model = {"subscriptions": {"first": {"after": after}, "second": {"after": again}}}
    events = [{"time": 2.0 * n, "v": v} for n, v in enumerate([0, 1, 2, 0, 2, 0, 1, 2, 0, 2])]
    expected, found = (ft.run(text, {"s": events}, model=model, engine=e) for e in ("reference", "embedded"))
    assert agree(told(found), told(expected)) > 5
    assert any(n.estimate is not None and not n.estimate.lost for n in found["second"])
    assert any(n.estimate is not None and n.estimate.lost for n in found["second"])


TRAINED = ESTIMATES.replace("time INT", "time FLOAT").replace("!y", "y").replace("ABOVE 0.1", "ABOVE 0")


def test_counts_of_a_history() -> None:
    events = estimate_events(900)
    model = ft.train(TRAINED, {"s": events[:600]})
    given: dict[str, Any] = {"model": model, "learning": ft.Learning(online=False), "until": 4_000}
    expected = told(ft.run(TRAINED, {"s": events[600:]}, engine="reference", **given))
    assert agree(told(ft.run(TRAINED, {"s": events[600:]}, engine="embedded", **given)), expected) > 50


def test_counts_that_are_learned_on_line() -> None:
    """However the events are cut, and after snapshots: an estimate rests on the model as it was when it was made."""
    events, learning = estimate_events(1_200), ft.Learning(half_life=500)
    model = ft.train(TRAINED, {"s": events[:200]})
    whole = ft.run(TRAINED, {"s": events[200:]}, engine="embedded", model=model, learning=learning)
    engine, found, chance = ft.Engine(TRAINED, model=model, learning=learning), list[Notification](), Random(1)
    first = 200
    while first < len(events):
        count = chance.choice([1, 7, 60])
        found += engine.push("s", events[first : first + count])
        first += count
        if chance.random() < 0.2:
            engine = ft.Engine.restore(None, engine.snapshot())
    assert agree(told(found), told(whole)) > 100
    fixed = ft.run(TRAINED, {"s": events[200:]}, engine="embedded", model=model, learning=ft.Learning(online=False))
    assert [n.estimate for n in fixed] != [n.estimate for n in whole]


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_programs_for_long() -> None:
    assert compared(range(5_000, 5_300), 3, estimate_program) + compared(range(6_000, 6_300), 3, wide_program) > 500

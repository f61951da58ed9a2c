"""What is to be expected now: `Engine.outlook`, and its intervals judged by `backtest`."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.api.forecasting import run_observed
from foretell.forecast.chain.first_passage import shortest_interval
from foretell.forecast.evaluation.backtest import BacktestObserverFactory
from foretell.forecast.online.factory import ForecasterFactory
from tests.forecast.test_end_to_end import FORMS, SHARES, STEPS, STREAM, events, expected, subscription

WORD = f"PER l MATCH a , b , c {STEPS}"


def row(time: int, k: str, l: str = "x", v: int = 0) -> dict[str, Any]:  # noqa: E741 - the lane of these streams
    return {"k": k, "l": l, "v": v, "time": time}


def test_a_word_of_independent_events() -> None:
    """How likely each lane's match is, and when it comes, worked out by hand."""
    text = subscription(WORD, "5 EVENTS ABOVE 0.9")
    model = ft.train(text, {"s": events(60_000, 1)}, learning=ft.Learning(half_life=math.inf))
    engine = ft.Engine(text, model=model)
    assert engine.outlook("p") == []
    engine.push("s", [row(1, "d", "none"), row(2, "a", "one"), row(3, "a", "two"), row(4, "b", "two")])
    by_lane = {str(item.key["l"]): item for item in engine.outlook("p", confidence=0.18) if item.key}
    cdf = np.array([expected("abc", dict(zip("abcd", SHARES, strict=True)), n) for n in range(21)]).T
    for state, lane in enumerate(("none", "one", "two")):
        assert by_lane[lane].probability == pytest.approx(cdf[state][5], abs=0.02)
        assert by_lane[lane].interval == pytest.approx([int(end) for end in shortest_interval(cdf[state], 0.18)], abs=1)
    assert (by_lane["two"].horizon, by_lane["two"].bindings, by_lane["two"].id) == ("5 EVENTS", {}, None)
    assert [item.key for item in engine.outlook("p")] == [{"l": "two"}, {"l": "one"}, {"l": "none"}]
    sure = engine.outlook("p", confidence=0.99)
    assert [item.interval for item in sure] == [None] * 3
    further = engine.outlook("p", confidence=0.99, reach=100)
    assert all(item.interval is not None and item.interval[1] > 20 for item in further)


VALUES = [
    "MATCH a ; b ; c DEFINE a AS k = 'a' AND l = $l, b AS k = 'b' AND l = $l, c AS k = 'c' AND l = $l WITHIN 60",
    "MATCH a ;{l = a.l} b ;{l = a.l} c DEFINE a AS k = 'a' AND l = $l, b AS k = 'b', c AS k = 'c'",
]


@pytest.mark.parametrize("form", VALUES)
def test_values_that_tell_partial_matches_apart(form: str) -> None:
    text = subscription(form, "9 EVENTS ABOVE 0.9")
    engine = ft.Engine(text, model=ft.train(text, {"s": events(20_000, 2)}))
    engine.push("s", [row(1, "a", "one"), row(2, "d", "none"), row(3, "a", "two"), row(4, "b", "two")])
    found = engine.outlook("p", confidence=0.1)
    assert [entry.bindings for entry in found] == [{"l": "two"}, {"l": "one"}]
    assert [entry.key for entry in found] == [None, None]
    assert all(entry.probability and entry.interval for entry in found)
    assert ft.Engine.restore(text, engine.snapshot()).outlook("p", confidence=0.1) == found


@pytest.mark.parametrize("form", FORMS)
def test_it_says_what_was_said_after_the_last_event(form: str) -> None:
    text, stream = subscription(form), events(300, 4)
    model, learning = ft.train(text, {"s": events(3_000, 3)}), ft.Learning(online=False)
    engine = ft.Engine(text, model=model, learning=learning)
    engine.push("s", stream)
    found = engine.outlook("p")
    factory = BacktestObserverFactory(ForecasterFactory(model.subscriptions, learning))
    run_observed(ft.parse(text), {"s": stream}, factory)
    (observer,) = factory.observers["p"]
    trace = observer.recorder.record().trace
    (log,) = observer.logs.values()
    last = {process: row for row, process in enumerate(trace.process.tolist())}
    forecasts = [np.concatenate(part)[list(last.values())] for part in zip(*log.intervals, strict=True)]
    chances = np.concatenate(log.probabilities)[list(last.values())]
    spoken = (trace.state[list(last.values())] != 0) | trace.starts
    wanted = [(p, None if np.isnan(end) else (start, end)) for p, start, end in zip(chances, *forecasts, strict=True)]
    wanted = [item for item, speaks in zip(wanted, spoken, strict=True) if speaks]
    assert wanted
    assert sorted((item.probability, str(item.interval)) for item in found) == sorted((p, _text(i)) for p, i in wanted)
    assert ft.Engine.restore(text, engine.snapshot()).outlook("p") == found


def _text(interval: tuple[float, float] | None) -> str:
    return str(None if interval is None else tuple(map(int, interval)))


def test_in_time() -> None:
    """A b comes 10 seconds after each a, give or take one."""
    chance = np.random.default_rng(5)
    times = np.cumsum(np.stack([chance.uniform(20, 40, 2_000), chance.uniform(9, 11, 2_000)], axis=1).ravel())
    stamps = pa.array((times * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC"))
    table = pa.table({"k": ["a", "b"] * 2_000, "time": stamps})
    text = "STREAM s (k STRING, time TIMESTAMP) TIME time; SUBSCRIBE p FROM s MATCH a , b "
    text += "DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 12 seconds ABOVE 0.9;"
    engine = ft.Engine(text, model=ft.train(text, {"s": table.slice(0, 3_000)}))
    engine.push("s", table.slice(3_000, 1))
    (item,) = engine.outlook("p", confidence=0.9)
    assert item.interval is not None
    assert item.probability == pytest.approx(1.0, abs=0.01)
    assert item.interval == pytest.approx((9.0, 11.0), abs=0.6)
    engine.advance(table["time"][3_000].as_py() + timedelta(seconds=5))
    (later,) = engine.outlook("p", confidence=0.9)
    assert later.interval == pytest.approx((4.0, 6.0), abs=0.6)


def test_each_row_of_a_template() -> None:
    text = f"{STREAM} SUBSCRIBE p FOR EACH row FROM s MATCH a , b DEFINE a AS k = :k, b AS k = 'b' "
    text += "FORECAST WITHIN 1 EVENTS ABOVE 0.99;"
    engine = ft.Engine(text, tables={"row": [{"id": 1, "k": "a"}, {"id": 2, "k": "c"}]})
    engine.push("s", events(4_000, 9))
    engine.push("s", [row(100_000, "c")])
    item, two = sorted(engine.outlook("p"), key=lambda o: str(o.id))
    assert (item.id, two.id) == (1, 2)
    assert item.probability == 0
    assert two.probability == pytest.approx(0.3, abs=0.05)


def test_contexts_tell_when() -> None:
    """After `d` an `a` is always followed by `b`, else never."""
    kinds = [k for part in np.random.default_rng(6).choice(["dab", "cac", "ccd"], 8_000) for k in part]
    table = pa.table({"k": kinds, "time": list(range(len(kinds)))})
    text = "STREAM s (k STRING, time INT) TIME time; SUBSCRIBE p FROM s MATCH a , b "
    text += "DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 1 EVENTS ABOVE 0.9;"
    learning = ft.Learning(order=None, features=("k = 'd'",))
    engine = ft.Engine(text, model=ft.train(text, {"s": table}, learning=learning))
    found = []
    for time, k in enumerate("dabcac"):
        engine.push("s", [{"k": k, "time": time}])
        found += engine.outlook("p") if k == "a" else []
    assert found[0].probability == pytest.approx(1.0, abs=0.01)
    assert found[0].interval == (1, 1)
    assert found[1].probability == pytest.approx(0.0, abs=0.01)
    assert found[1].interval is None


def test_too_little_seen() -> None:
    engine = ft.Engine(subscription(WORD))
    engine.push("s", [row(1, "a")])
    (item,) = engine.outlook("p")
    assert (item.probability, item.interval) == (None, None)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("q", {}, "there is no subscription 'q'"),
        ("s", {}, "there is no subscription 's'"),
        ("plain", {}, "'plain' has no FORECAST clause"),
        ("p", {"confidence": 1.5}, "confidence: expected a number between 0 and 1, found 1.5"),
        ("p", {"reach": 0}, "reach: expected a number above 0, found 0"),
    ],
)
def test_what_cannot_be_asked(name: str, options: dict[str, Any], message: str) -> None:
    engine = ft.Engine(subscription(WORD) + " SUBSCRIBE plain FROM s MATCH a;")
    engine.push("s", [row(1, "a")])
    with pytest.raises(ft.InputError, match=message):
        engine.outlook(name, **options)


# ── judged ──


@pytest.mark.parametrize("form", [FORMS[0], FORMS[5], FORMS[8]])
@pytest.mark.parametrize("confidence", [0.5, 0.8])
def test_intervals_hold_as_often_as_they_say(form: str, confidence: float) -> None:
    """Events are whole, so that an interval may hold more than is asked for, by what its last event brings."""
    text = subscription(form, "30 EVENTS ABOVE 0.5")
    model = ft.train(text, {"s": events(20_000, 2)})
    report = ft.backtest(text, {"s": events(20_000, 3)}, model=model, confidence=confidence)
    found = report.scorecards[0].overall.intervals
    assert found is not None
    assert found.made > 5_000
    assert confidence - 0.03 < found.precision < confidence + 0.1
    assert found.spread > 1
    assert "Intervals for the next match" in report.text()


def test_intervals_in_time_hold_too() -> None:
    text = subscription(WORD, "60 ABOVE 0.5")
    model = ft.train(text, {"s": events(20_000, 5, lanes=2)})
    report = ft.backtest(text, {"s": events(10_000, 6, lanes=2)}, model=model, confidence=0.7)
    found = report.scorecards[0].overall.intervals
    assert found is not None
    assert found.made > 5_000
    assert 0.67 < found.precision < 0.8


def test_they_are_learned_on_the_way_and_not_from_what_comes() -> None:
    """Without a model: the first events have none, and the later ones hold as often as they say."""
    text = subscription(WORD, "30 EVENTS ABOVE 0.5")
    found = ft.backtest(text, {"s": events(20_000, 7)}).scorecards[0].overall.intervals
    assert found is not None
    assert 0.77 < found.precision < 0.88
    short = ft.backtest(text, {"s": events(60, 7)}).scorecards[0].overall.intervals
    assert short is not None
    assert (short.made, short.censored) == (0, 0)


def test_the_outlooks_of_many_lanes_are_a_table() -> None:
    text = subscription(WORD, "5 EVENTS ABOVE 0.9")
    engine = ft.Engine(text, model=ft.train(text, {"s": events(20_000, 1)}))
    assert repr(engine.outlook("p")) == "no forecasts yet"
    engine.push("s", [row(n, "a", f"lane {n}") for n in range(30)])
    found = engine.outlook("p", confidence=0.1)
    lines = repr(found).splitlines()
    assert lines[0] == "p: 30 forecasts within 5 EVENTS"
    assert lines[1].split() == ["lane", "probability", "next", "match"]
    assert len(lines) == 8
    assert lines[-1] == "  … 25 more"
    assert found._repr_html_().count("<tr>") == 21

"""Forecasts end to end: `train`, `backtest` and the engine, on streams whose law is known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.api.forecasting import run_observed
from foretell.bench.ptopss.experiments import heat_waves, synthetic, train_and_backtest
from foretell.forecast.chain import first_passage
from foretell.forecast.chain.probability_table import lookup_tables
from foretell.forecast.evaluation.backtest import BacktestObserverFactory
from foretell.forecast.evaluation.metrics import reliability_curve
from foretell.forecast.online.factory import ForecasterFactory
from foretell.learn.horizon import Horizon
from foretell.learn.lane_statistics import LaneCounts
from foretell.learn.outcomes import matched_within
from foretell.storage.blob import pack, unpack
from tests.forecast.reference_backtest import backtest as plain_backtest

STREAM = "STREAM s (k STRING, l STRING, v INT, time INT) TIME time;"
STEPS = "DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'"
SHARES = (0.4, 0.3, 0.2, 0.1)


def events(count: int, seed: int, lanes: int = 5, shares: Iterable[float] = SHARES) -> pa.Table:
    """Independent events: what comes next hangs on nothing."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "k": chance.choice(list("abcd"), count, p=list(shares)),
        "l": chance.choice([f"l{n}" for n in range(lanes)], count),
        "v": chance.integers(0, 10, count),
        "time": np.cumsum(chance.integers(1, 4, count)),
    }
    return pa.table(columns)


def subscription(pattern: str, forecast: str = "5 EVENTS ABOVE 0.5") -> str:
    return f"{STREAM} SUBSCRIBE p FROM s {pattern} FORECAST WITHIN {forecast};"


# ── known answers ──


def expected(steps: str, shares: dict[str, float], within: int) -> list[float]:
    """P(the word comes within n | its longest beginning so far has length i), by trying out all that may come."""
    after = {i: {k: _border(steps[:i] + k, steps) for k in shares} for i in range(len(steps))}
    reached = [0.0] * len(steps)
    for _ in range(within):
        reached = [
            sum(p * (1.0 if after[i][k] == len(steps) else reached[after[i][k]]) for k, p in shares.items())
            for i in range(len(steps))
        ]
    return reached


def _border(text: str, word: str) -> int:
    """The longest beginning of the word that the text ends with."""
    return next(n for n in range(min(len(text), len(word)), -1, -1) if text.endswith(word[:n]))


@pytest.mark.parametrize(("word", "within"), [("abc", 4), ("ab", 1), ("abca", 6)])
def test_a_word_of_independent_events(word: str, within: int) -> None:
    names = [f"s{i}" for i in range(len(word))]
    defined = ", ".join(f"{n} AS k = '{k}'" for n, k in zip(names, word, strict=True))
    text = subscription(f"MATCH {' , '.join(names)} DEFINE {defined}", f"{within} EVENTS ABOVE 0.5")
    learned = ft.train(text, {"s": events(60_000, 1)}, learning=ft.Learning(half_life=math.inf)).subscriptions["p"]
    known = expected(word, dict(zip("abcd", SHARES, strict=True)), within)
    found = first_passage.match_probability(
        first_passage.MarkovChain.of(learned.statistics.counts, learned.statistics.matched), within
    )
    for mask, chance in zip(learned.statistics.states.tolist(), found.tolist(), strict=True):
        assert chance == pytest.approx(known[mask.bit_length()], abs=0.02), mask


FORMS = [
    f"PER l MATCH a , b , c {STEPS}",
    f"PER l MATCH a ; b ; c {STEPS} WITHIN 30",
    f"PER l MATCH a ;{{k != 'd'}} b ;{{v > 4}} c {STEPS}",
    f"PER l MATCH a , b+ , c {STEPS}",
    f"PER l MATCH (a , b) | (b , c) {STEPS.replace('b AS', 'b1, b AS')}".replace("(a , b)", "(a , b1)"),
    f"PER l MATCH a & b & c {STEPS} WITHIN 12",
    f"PER l MATCH a ; b @(t(b) - t(a) < 8) ; c @(t(c) - t(b) < 8) {STEPS} WITHIN 30",
    f"PER l MATCH a ; !b ; c {STEPS} WITHIN 20",
    "MATCH a ; b ; c DEFINE a AS k = 'a' AND l = $l, b AS k = 'b' AND l = $l, c AS k = 'c' AND l = $l WITHIN 60",
    "MATCH a , b DEFINE a AS v > 3 AND k = $k, b AS k = $k AND v < a.v",
    f"PER l MATCH a , b , c {STEPS} AFTER MATCH SKIP PAST LAST",
    f"PER l MATCH a ; !b {STEPS.partition(', c')[0]} WITHIN 9",
    f"PER l MATCH a ; b ; c {STEPS} WITHIN 30 AFTER MATCH SKIP PAST LAST",
]


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_mean_what_they_say(form: str) -> None:
    """The stream itself is the simulation: of what was given probability p, the part p comes."""
    text = subscription(form)
    model = ft.train(text, {"s": events(40_000, 2)})
    # Neighbouring points share most of what comes after them, so it takes many to tell chance from error.
    report = ft.backtest(text, {"s": events(80_000, 3)}, model=model, horizons=[1, 5])
    for scorecard in report.scorecards:
        assert scorecard.overall.points > 10_000
        assert scorecard.overall.positives > 30
        assert scorecard.overall.reliability.error < 0.03, (form, str(scorecard.horizon), scorecard.overall.reliability)


def _any_order(count: int) -> str:
    return " & ".join(f"s{i}" for i in range(count))


LARGE = [
    (f"{_any_order(7)}", 7),  # 126 states wait
    (f"({_any_order(6)}) | (s6 , s7 , s8 , s9)", 10),
]


@pytest.mark.parametrize(("pattern", "steps"), LARGE)
def test_machines_of_more_states_than_bits(pattern: str, steps: int) -> None:
    """States as far from a match share bits; that they are spread over several is what keeps this right."""
    defined = ", ".join(f"s{i} AS v = {i}" for i in range(steps))
    text = subscription(f"MATCH {pattern} DEFINE {defined} WITHIN 24")
    model = ft.train(text, {"s": events(15_000, 2)})
    for scorecard in ft.backtest(text, {"s": events(15_000, 3)}, model=model, horizons=[1, 5]).scorecards:
        assert scorecard.overall.positives > 100
        assert scorecard.overall.reliability.error < 0.03, (str(scorecard.horizon), scorecard.overall.reliability)
        assert scorecard.overall.auc > 0.7


@pytest.mark.parametrize("form", FORMS[:4])
def test_probabilities_rise_with_the_horizon(form: str) -> None:
    text, near = subscription(form), [1, 2, 3, 5, 8, 13]
    model = ft.train(text, {"s": events(5_000, 2)})
    factory = BacktestObserverFactory(ForecasterFactory(model.subscriptions), [Horizon(events=n) for n in near])
    run_observed(ft.parse(text), {"s": events(2_000, 4)}, factory)
    (observer,) = factory.observers["p"]
    chances = np.stack([np.concatenate(observer.logs[Horizon(events=n)].probabilities) for n in near])
    known = chances[:, ~np.isnan(chances).any(axis=0)]
    assert known.shape[1] > 1000
    assert ((known >= 0) & (known <= 1)).all()
    # What is learned on the way is learned by all of them alike.
    assert (np.diff(known, axis=0) >= -1e-12).all()


def test_within_a_duration() -> None:
    """Gaps of 1, 2 or 3: within 6 units three events come at least half of the time."""
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "40 ABOVE 0.3")
    model = ft.train(text, {"s": events(20_000, 5, lanes=2)})
    report = ft.backtest(text, {"s": events(20_000, 6, lanes=2)}, model=model)
    (scorecard,) = report.scorecards
    assert str(scorecard.horizon) == "40"
    assert scorecard.overall.reliability.error < 0.03
    assert scorecard.overall.auc > 0.55


def test_configurations_may_be_numbered_as_they_come() -> None:
    """What is learned on line is not sorted."""
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "40 ABOVE 0.3")
    sorted_ = ft.train(text, {"s": events(5_000, 5)}).subscriptions["p"].statistics
    by = np.array([2, 0, 1])
    place, lasting = np.argsort(by), sorted_.sojourns
    mixed = replace(
        sorted_,
        states=sorted_.states[by],
        counts=sorted_.counts[np.ix_(by, by)],
        matched=sorted_.matched[by],
        sojourns=replace(
            lasting,
            states=lasting.states[by],
            source=place[lasting.source],
            target=np.where(lasting.target < 0, lasting.target, place[lasting.target]),
        ),
    )
    for horizon in (Horizon(time=40.0), Horizon(events=5)):
        earlier, other = (
            lookup_tables(horizon, group, LaneCounts.none(3), ft.Learning())[0][0] for group in (sorted_, mixed)
        )
        assert np.unique(earlier[:, 0]).size == 3
        assert other == pytest.approx(earlier[by])


def test_the_paper_s_experiments_agree_with_the_plainest_backtest() -> None:
    for part in (synthetic, heat_waves):
        mine = {(p.figure, p.curve, p.x): p.y for p in part(True, train_and_backtest)}
        plain = {(p.figure, p.curve, p.x): p.y for p in part(True, plain_backtest)}
        assert mine == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("horizon", ["0 EVENTS", "0"])
@pytest.mark.parametrize("use", [ft.train, ft.backtest, ft.run])
def test_nobody_looks_ahead_by_nothing(use: Any, horizon: str) -> None:
    """The text says so, wherever it is used: once it was trained, and only then refused, without a place."""
    with pytest.raises(ft.LanguageError) as refused:
        use(subscription(f"MATCH a , b , c {STEPS}", f"{horizon} ABOVE 0.5"), {"s": events(10, 1)})
    assert "^" in str(refused.value)


def odd_lane(count: int, seed: int) -> pa.Table:
    """In all lanes half of the `a` are followed by `b`; in lane l0 nearly all."""
    chance = np.random.default_rng(seed)
    lane = chance.choice([f"l{n}" for n in range(5)], count)
    kinds, before = [], dict.fromkeys(lane.tolist(), "c")
    for item, drawn in zip(lane.tolist(), chance.random(count).tolist(), strict=True):
        after_a = drawn < (0.95 if item == "l0" else 0.5)
        before[item] = ("b" if after_a else "c") if before[item] == "a" else ("a" if drawn < 0.5 else "c")
        kinds.append(before[item])
    return pa.table({"k": kinds, "l": lane.tolist(), "v": [0] * count, "time": range(count)})


def test_a_lane_of_the_model_has_its_own_forecast_from_its_first_event_on() -> None:
    text = subscription("PER l MATCH a , b DEFINE a AS k = 'a', b AS k = 'b'", "1 EVENTS ABOVE 0.01")
    model = ft.train(text, {"s": odd_lane(20_000, 1)})
    lanes = ["l3", "l0", "new", "l0"]
    first = pa.table({"k": ["a"] * 4, "l": lanes, "v": [0] * 4, "time": range(4)})
    engine = ft.Engine(text, model=model)
    found = [n for row in range(4) for n in engine.push("s", first.slice(row, 1)) if n.kind == "forecast"]
    forecasts = {n.key["l"]: n.probability for n in found if n.key}
    assert list(forecasts) == ["l3", "l0", "new"]
    assert forecasts["l0"] == pytest.approx(0.95, abs=0.03)
    assert forecasts["l3"] == pytest.approx(0.5, abs=0.03)
    assert forecasts["new"] == pytest.approx(0.59, abs=0.03)  # as all of them together
    assert [n.probability for n in ft.run(text, {"s": first}, model=model, engine="embedded")] == list(
        forecasts.values()
    )
    # A lane that comes after a snapshot is known too, and what none has counts for is as before.
    later = ft.Engine(text, model=model)
    later.push("s", first.slice(0, 1))
    (embedded_engine,) = ft.Engine.restore(text, later.snapshot()).push("s", first.slice(1, 1))
    assert embedded_engine.probability == forecasts["l0"]
    together = ft.run(text, {"s": first}, model=model, learning=ft.Learning(lanes=0), engine="embedded")
    assert {n.probability for n in together} == {forecasts["new"]}


# ── notifications ──


def test_one_notification_until_it_has_fallen() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "1 EVENTS ABOVE 0.15")
    model = ft.train(text, {"s": events(20_000, 1)})
    found = ft.run(text, {"s": events(3_000, 2)}, model=model, engine="embedded")
    notified = [n for n in found if n.kind == "forecast"]
    assert notified
    kinds = events(3_000, 2).to_pydict()
    by_lane: dict[str, list[str]] = {}
    for k, lane in zip(kinds["k"], kinds["l"], strict=True):
        by_lane.setdefault(lane, []).append(k)
    for item in notified:
        assert item.key is not None
        lane = by_lane[str(item.key["l"])]
        at = item.events["b"]
        assert isinstance(at, int)
        assert lane[at - 1 : at + 1] == ["a", "b"]
        assert item.events == {"a": at - 1, "b": at, "c": None}
        assert item.probability == pytest.approx(0.2, abs=0.03)
        assert item.horizon == "1 EVENTS"
    pairs = sum("".join(lane).count("ab") for lane in by_lane.values())
    assert len(notified) == pairs


def test_it_is_silent_until_it_has_seen_enough() -> None:
    text = subscription(f"MATCH a , b , c {STEPS}", "2 EVENTS ABOVE 0.01")
    few, many = (
        [n for n in ft.run(text, {"s": events(n, 7)}, engine="embedded") if n.kind == "forecast"] for n in (60, 4000)
    )
    assert not few
    assert many
    eager = ft.run(text, {"s": events(300, 7)}, engine="embedded", learning=ft.Learning(enough=1))
    slow = ft.run(text, {"s": events(300, 7)}, engine="embedded", learning=ft.Learning(enough=10_000))
    assert any(n.kind == "forecast" for n in eager)
    assert all(n.kind == "match" for n in slow)


def test_forecasts_are_no_events_for_other_statements() -> None:
    text = subscription(f"MATCH a , b {STEPS.partition(', c')[0]}", "1 EVENTS ABOVE 0.1")
    text += " SUBSCRIBE twice FROM p MATCH x , y;"
    found = ft.run(text, {"s": events(3_000, 8)}, engine="embedded")
    matches = [n for n in found if n.subscription == "p" and n.kind == "match"]
    assert sum(n.subscription == "twice" for n in found) == len(matches) - 1
    assert any(n.kind == "forecast" for n in found)


def test_each_row_of_a_template_has_its_own() -> None:
    text = f"{STREAM} SUBSCRIBE p FOR EACH row FROM s PER l MATCH a , b DEFINE a AS k = :k, b AS k = 'b' "
    text += "FORECAST WITHIN 1 EVENTS ABOVE 0.2;"
    rows = [{"id": 1, "k": "a"}, {"id": 2, "k": "c"}]
    found = ft.run(text, {"s": events(4_000, 9)}, tables={"row": rows}, engine="embedded")
    assert {n.id for n in found if n.kind == "forecast"} == {1, 2}


@pytest.mark.parametrize("form", FORMS)
def test_batches_and_snapshots_change_nothing(form: str) -> None:
    text, stream = subscription(form, "3 EVENTS ABOVE 0.03"), events(1_500, 11)
    model = ft.train(text, {"s": events(1_500, 12)})
    whole = ft.Engine(text, model=model).push("s", stream)
    engine, cut, chance = ft.Engine(text, model=model), [], random.Random(form)
    at = 0
    while at < len(stream):
        size = chance.randint(1, 300)
        cut += list(engine.push("s", stream.slice(at, size)))
        at += size
        engine = ft.Engine.restore(text, engine.snapshot())

    def notified(streams_given: Iterable[ft.Notification]) -> list[str]:
        return sorted(map(repr, streams_given))

    assert any(n.kind == "forecast" for n in whole)
    assert notified(whole) == notified(cut)


@pytest.mark.parametrize(
    "form",
    [
        f"PER l MATCH a ;{{k != 'd'}} b ;{{k != 'd'}} c {STEPS} WITHIN 40",
        f"PER l MATCH a ;{{k != 'd'}} b ;{{k != 'd'}} c @(t(c) - t(a) < 30) {STEPS}",
        f"MATCH a ;{{k != 'd' AND l = a.l}} b ;{{k != 'd'}} c {STEPS} WITHIN 40",
    ],
)
@pytest.mark.parametrize("forecast", ["3 EVENTS ABOVE 0.03", "20 ABOVE 0.05"])
def test_events_that_touch_no_run_are_seen_as_when_they_come_alone(form: str, forecast: str) -> None:
    """Within a batch an event that touches no run of its lane shows what the one before it showed."""
    text, stream = subscription(form, forecast), events(1_500, 11, shares=(0.1, 0.1, 0.1, 0.7))
    model = ft.train(text, {"s": events(5_000, 12, shares=(0.1, 0.1, 0.1, 0.7))})
    whole = list(map(repr, ft.Engine(text, model=model).push("s", stream)))
    engine = ft.Engine(text, model=model)
    assert [repr(n) for row in range(len(stream)) for n in engine.push("s", stream.slice(row, 1))] == whole
    assert sum("forecast" in n for n in whole) > 20


def test_a_snapshot_goes_on_with_other_statements_or_another_model() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "1 EVENTS ABOVE 0.5")
    engine = ft.Engine(text)
    engine.push("s", events(3_000, 1))
    other = text.replace("SUBSCRIBE p", "SUBSCRIBE q")
    changed = ft.Engine.restore(other, engine.snapshot())
    assert (changed.fresh, changed.dropped) == (("q",), ("p",))
    changed.push("s", events(10, 2))
    assert changed.outlook("q")
    surer = ft.train(text, {"s": events(3_000, 1, shares=(0.3, 0.3, 0.4, 0.0))})
    ends: dict[str, list[Any]] = {"k": ["a", "b"], "l": ["x", "x"], "v": [0, 0], "time": [10_000, 10_001]}
    chances = []
    for model in (None, surer):
        restored = ft.Engine.restore(text, engine.snapshot(), model=model)
        restored.push("s", pa.table(ends))
        chances += [item.probability for item in restored.outlook("p") if item.key == {"l": "x"}]
    assert chances == [pytest.approx(0.2, abs=0.05), pytest.approx(0.4, abs=0.05)]


def test_a_model_takes_the_place_of_one_that_cannot_be_read() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}")
    engine = ft.Engine(text)
    engine.push("s", events(100, 1))
    header, state = unpack(engine.snapshot(), "engine")
    broken = pack("engine", header, {**state, "model": "{"})
    with pytest.raises(ft.ForetellError) as caught:
        ft.Engine.restore(text, broken)
    assert caught.value.code == "unusable-snapshot"
    model = ft.train(text, {"s": events(3_000, 1)})
    assert ft.Engine.restore(text, broken, model=model).carried == ("p",)


# ── learning ──


def test_it_follows_a_changing_workload() -> None:
    """What was common becomes rare: with ageing the forecasts are right again soon, without they are not."""
    text = subscription(f"MATCH a , b , c {STEPS}", "5 EVENTS ABOVE 0.3")
    before, after = events(40_000, 13, shares=(0.4, 0.3, 0.2, 0.1)), events(12_000, 14, shares=(0.1, 0.1, 0.5, 0.3))
    shifted = after.set_column(3, "time", pa.array(after["time"].to_numpy() + before["time"].to_numpy()[-1]))
    errors = {}
    for half_life in (1_000.0, math.inf):
        factory = BacktestObserverFactory(
            ForecasterFactory(settings=ft.Learning(half_life=half_life)), [Horizon(events=5)]
        )
        run_observed(ft.parse(text), {"s": pa.concat_tables([before, shifted])}, factory)
        (observer,) = factory.observers["p"]
        trace = observer.recorder.record().trace
        chances = np.concatenate(observer.logs[Horizon(events=5)].probabilities)
        came, known = matched_within(trace, 5)
        # From 5,000 events after the change on.
        late = known & (np.arange(len(trace)) >= 45_000) & ~np.isnan(chances)
        errors[half_life] = reliability_curve(chances[late], came[late]).error
    assert errors[1_000.0] < 0.05, errors
    assert errors[math.inf] > 0.05, errors


def test_a_new_lane_borrows_from_all() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "1 EVENTS ABOVE 0.1")
    model = ft.train(text, {"s": events(10_000, 15)})
    fresh = [{"k": k, "l": "never seen", "v": 0, "time": t} for t, k in enumerate("ab")]
    (item,) = ft.run(text, {"s": fresh}, model=model, engine="embedded")
    assert (item.kind, item.key) == ("forecast", {"l": "never seen"})


def test_a_lane_of_its_own_kind_is_learned() -> None:
    """One lane never completes what the others do."""
    table = events(30_000, 16, lanes=4)
    kinds = ["d" if row["k"] == "c" and row["l"] == "l0" else row["k"] for row in table.to_pylist()]
    odd = table.set_column(0, "k", pa.array(kinds))
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "1 EVENTS ABOVE 0.1")
    found = ft.run(text, {"s": odd}, engine="embedded", learning=ft.Learning(strength=20))
    last = [n for n in found if n.kind == "forecast" and n.end > odd["time"][20_000].as_py()]
    assert {"l1", "l2", "l3"} <= {str(n.key["l"]) for n in last if n.key}
    assert "l0" not in {str(n.key["l"]) for n in last if n.key}


def test_contexts_see_what_states_do_not() -> None:
    """After `d` an `a` is always followed by `b`, else never: only the symbol before tells."""
    chance = random.Random(17)
    kinds: list[str] = []
    while len(kinds) < 30_000:
        kinds += chance.choice([["d", "a", "b"], ["c", "a", "c"], ["c", "c", "d"]])
    table = pa.table({"k": kinds, "time": list(range(len(kinds)))})
    text = "STREAM s (k STRING, time INT) TIME time; SUBSCRIBE p FROM s MATCH a , b "
    text += "DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 1 EVENTS ABOVE 0.9;"
    train, later = {"s": table.slice(0, 20_000)}, {"s": table.slice(20_000)}
    areas = {}
    for order in (0, None):
        learning = ft.Learning(order=order, features=("k = 'd'",))
        model = ft.train(text, train, learning=learning)
        report = ft.backtest(text, later, model=model)
        areas[order] = report.scorecards[0].overall.auc
        assert report.scorecards[0].overall.reliability.error < 0.03
    assert areas[None] > areas[0] + 0.02
    found = ft.run(text, later, model=model, engine="embedded")
    notified = [n for n in found if n.kind == "forecast"]
    matches = [n for n in found if n.kind == "match"]
    assert len(notified) == pytest.approx(len(matches), abs=1)


# ── models ──


def test_a_model_is_saved_and_loaded(tmp_path: Any) -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "1 EVENTS ABOVE 0.15")
    model = ft.train(text, {"s": events(5_000, 1)}, learning=ft.Learning(order=None, features=("v > 5",)))
    path = tmp_path / "model.json"
    model.save(path)
    item = ft.run(text, {"s": events(2_000, 2)}, model=model, engine="embedded")
    other = ft.run(text, {"s": events(2_000, 2)}, model=path, engine="embedded")
    assert item.rows == other.rows
    assert any(n.kind == "forecast" for n in item)


def test_a_model_of_other_statements_is_refused() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}")
    model = ft.train(text, {"s": events(1_000, 1)})
    with pytest.raises(ft.InputError, match="was trained for other statements"):
        ft.run(
            subscription(f"PER l MATCH a ; b ; c {STEPS} WITHIN 9"),
            {"s": events(10, 1)},
            model=model,
            engine="embedded",
        )
    # How far a forecast looks, and from when on it speaks, is none of the model's business.
    further = subscription(f"PER l MATCH a , b , c {STEPS}", "9 EVENTS ABOVE 0.1")
    assert any(n.kind == "forecast" for n in ft.run(further, {"s": events(500, 1)}, model=model, engine="embedded"))


def test_unchanged_statements_keep_theirs() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}")
    model = ft.train(text, {"s": events(1_000, 1)})
    more = text + f" SUBSCRIBE q FROM s MATCH a , b {STEPS.partition(', c')[0]} FORECAST WITHIN 1 EVENTS ABOVE 0.5;"
    found = ft.run(more, {"s": events(500, 1)}, model=model, engine="embedded")
    assert found.notes == ("the model has no subscription 'q': it starts untrained",)


def test_recalibration_sets_right() -> None:
    """A model of another law says too much; recalibrated it does not."""
    text = subscription(f"PER l MATCH a , b , c {STEPS}", "3 EVENTS ABOVE 0.3")
    model = ft.train(text, {"s": events(10_000, 1, shares=(0.3, 0.3, 0.4, 0.0))})
    off = ft.Learning(online=False)
    later = [{"s": events(10_000, seed, shares=(0.3, 0.3, 0.1, 0.3))} for seed in (2, 3)]
    wrong = ft.backtest(text, later[1], model=model, learning=off)
    right = ft.backtest(text, later[1], model=ft.recalibrate(text, later[0], model=model, learning=off), learning=off)
    assert wrong.scorecards[0].overall.reliability.error > 0.05
    assert right.scorecards[0].overall.reliability.error < 0.03
    assert any("badly calibrated" in warning for warning in wrong.warnings)
    assert any("stale model" in warning for warning in wrong.warnings)


@pytest.mark.parametrize(
    ("learning", "message"),
    [
        ({"half_life": 0}, "half_life: expected a number above 0, found 0"),
        ({"enough": "many"}, "enough: expected a number above 0, found 'many'"),
        ({"features": "v > 1"}, "features: expected a tuple of strings"),
        ({"features": ("v >",)}, "the feature 'v >' is not a condition"),
        ({"features": ("nothing > 1",)}, "the feature 'nothing > 1': .*nothing"),
        ({"features": ("v > prev.v",)}, "the feature 'v > prev.v' refers to more than a single event"),
        ({"features": ("v > 1 WITHIN 3",)}, "the feature 'v > 1 WITHIN 3' is not a condition"),
        ({"features": ("v > 1, b AS v > 2",)}, "the feature 'v > 1, b AS v > 2' is not a condition"),
        ({"order": -1}, "order: expected a whole number"),
        ({"order": 99_999_999_999}, "order: a context has at most 16 symbols"),
        ({"half_life": 10}, "no state can reach 30 events"),
        ({"half_life": 10**400}, "half_life: the number is too large"),
        ({"enough": 10**400}, "enough: the number is too large"),
    ],
)
def test_what_cannot_be_learned_so(learning: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.InputError, match=message):
        ft.train(subscription(f"MATCH a , b , c {STEPS}"), {"s": events(100, 1)}, learning=ft.Learning(**learning))


def test_nothing_to_learn() -> None:
    with pytest.raises(ft.InputError, match="no subscription has a FORECAST or LOSING clause"):
        ft.train(f"{STREAM} SUBSCRIBE p FROM s MATCH a;", {"s": events(10, 1)})


def test_training_and_backtests_say_what_was_set_aside() -> None:
    text = subscription(f"MATCH a , b , c {STEPS}")
    rows: list[dict[str, Any]] = events(500, 1).to_pylist()
    half = [{**row, "time": None} if number % 2 else row for number, row in enumerate(rows)]
    message = "s: 250 of 500 events set aside: 250 × no time (the first at s:2)"
    model = ft.train(text, {"s": half})
    assert model.notes == (message,)
    assert message in ft.backtest(text, {"s": half}, model=model).warnings
    with pytest.raises(ft.InputError, match="no events to learn from") as error:
        ft.train(text, {"s": [{**row, "time": None} for row in rows]})
    assert "500 of 500 events set aside" in error.value.hint
    with pytest.raises(ft.InputError, match="no events to learn from"):
        ft.train(text, {"s": []})


def test_contexts_stay_whatever_is_set_for_a_run() -> None:
    text = subscription(f"MATCH a , b , c {STEPS}", "2 EVENTS ABOVE 0.3")
    learning = ft.Learning(order=1, features=("v > 5",))
    model = ft.train(text, {"s": events(5_000, 1)}, learning=learning)
    own, other = (
        ft.backtest(text, {"s": events(2_000, 2)}, model=model, learning=group).as_dict()
        for group in (ft.Learning(order=1, features=("v > 5",), online=False), ft.Learning(online=False))
    )
    assert own == other
    assert own["scorecards"][0]["auc"] > 0.5


def test_untrained_statements_are_a_warning_of_a_backtest() -> None:
    text = subscription(f"PER l MATCH a , b , c {STEPS}")
    model = ft.train(text, {"s": events(1_000, 1)})
    more = text + f" SUBSCRIBE q FROM s MATCH a , b {STEPS.partition(', c')[0]} FORECAST WITHIN 1 EVENTS ABOVE 0.5;"
    report = ft.backtest(more, {"s": events(500, 1)}, model=model)
    assert report.warnings[0] == "the model has no subscription 'q': it starts untrained"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"horizons": [0]}, "horizons: expected numbers of events, from 1 on, found 0"),
        ({"horizons": [2.5]}, "horizons: expected numbers of events, from 1 on, found 2.5"),
        ({"horizons": 3.5}, "horizons: expected numbers of events"),
        ({"thresholds": [2]}, "thresholds: expected probabilities"),
        ({"thresholds": 0.5}, "thresholds: expected probabilities"),
    ],
)
def test_what_a_backtest_refuses(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.InputError, match=message):
        ft.backtest(subscription(f"MATCH a , b , c {STEPS}"), {"s": events(50, 1)}, **wanted)


def test_backtests_of_nothing() -> None:
    text = subscription(f"MATCH a , b , c {STEPS}")
    model = ft.train(text, {"s": events(1_000, 1)})
    (warning,) = ft.backtest(text, {"s": []}, model=model).warnings
    assert "no forecasts to evaluate" in warning
    far = ft.backtest(text, {"s": events(50, 1)}, model=model, horizons=[10**20])
    assert far.scorecards[0].overall.points == 0
    with pytest.raises(ft.InputError, match="no subscription has a FORECAST clause"):
        ft.backtest(f"{STREAM} SUBSCRIBE p FROM s MATCH a;", {"s": events(10, 1)})
    with pytest.raises(ft.InputError, match="no model to recalibrate"):
        ft.recalibrate(text, {"s": events(10, 1)}, model=None)


def test_forecasts_of_what_only_the_reference_runs() -> None:
    losing = f"MATCH a , b {STEPS.partition(', c')[0]} WITHIN 5 LOSING 0.1 ABOVE 0.2"
    with pytest.raises(ft.InputError, match="forecasts of LOSING are not supported yet"):
        ft.train(subscription(losing), {"s": events(10, 1)})


def test_features_of_a_model_that_are_no_list() -> None:
    text = subscription(f"MATCH a , b , c {STEPS}")
    document: Any = ft.train(text, {"s": events(100, 1)}).document()
    [trained] = document["subscriptions"].values()
    trained["forecast"]["settings"]["features"] = 5
    with pytest.raises(ft.InputError, match="features: expected a tuple of strings, found 5"):
        ft.run(text, {"s": events(10, 1)}, model=document)

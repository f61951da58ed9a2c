"""Which events a model is trained and evaluated on: periods, splits, and a backtest on the events of the training."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.learn.event_sample import NO_SAMPLE, SAMPLE_SIZE, EventSample

TEXT = """
STREAM s (k STRING, l STRING, time TIMESTAMP) TIME time;
SUBSCRIBE p FROM s PER l MATCH a , b DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 2 EVENTS ABOVE 0.5;
"""
TIMED = TEXT.replace("2 EVENTS", "2 hours")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WARNING = "'p': {} of these events were in the training data, so the figures are too good; backtest on later events"


def events(count: int, seed: int = 1, lanes: int = 3, begin: datetime = BEGIN) -> pa.Table:
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "k": chance.choice(list("abc"), count),
        "l": [f"l{n}" for n in chance.integers(0, lanes, count)],
        "time": [begin + timedelta(hours=hour) for hour in range(count)],
    }
    return pa.table(columns)


def trained(model: ft.Model) -> tuple[int, tuple[str, str]]:
    return model.subscriptions["p"].statistics.events, model.subscriptions["p"].period


def overlaps(report: Any) -> list[str]:
    return [warning for warning in report.warnings if "in the training data" in warning]


# ── periods ──


def test_a_period_has_its_first_moment_and_not_its_last() -> None:
    model = ft.train(TEXT, {"s": events(100)}, since="2026-01-02", until="2026-01-03T00:00:00Z")
    assert trained(model) == (24, ("2026-01-02T00:00:00Z", "2026-01-02T23:00:00Z"))
    only_since = ft.train(TEXT, {"s": events(100)}, since=BEGIN + timedelta(hours=90))
    assert trained(only_since)[0] == 10


def test_periods_of_plain_numbers() -> None:
    text = "STREAM s (k STRING, time INT) TIME time; SUBSCRIBE p FROM s MATCH a FORECAST WITHIN 2 EVENTS ABOVE 0.5;"
    rows = [{"time": i, "k": "a"} for i in range(50)]
    assert trained(ft.train(text, {"s": rows}, since=10, until=20)) == (10, ("10", "19"))


def test_what_train_leaves_out_is_what_backtest_takes() -> None:
    table = events(1000)
    model = ft.train(TEXT, {"s": table}, split=0.8)
    report = ft.backtest(TEXT, {"s": table}, model=model, split=0.8)
    assert trained(model)[0] == 800
    assert _points(report) == 200
    assert overlaps(report) == []
    middle = "2026-01-20"
    model = ft.train(TEXT, {"s": table}, until=middle)
    report = ft.backtest(TEXT, {"s": table}, model=model, since=middle)
    assert trained(model)[0] + _points(report) == 1000
    assert overlaps(report) == []
    corrected = ft.recalibrate(TEXT, {"s": table}, model=model, since=middle)
    assert corrected.subscriptions["p"].calibration != model.subscriptions["p"].calibration


def test_a_split_is_within_the_period_and_never_within_an_instant() -> None:
    table = events(100)
    hours = [BEGIN + timedelta(hours=hour // 10) for hour in range(100)]
    table = table.set_column(2, "time", pa.array(hours))
    model = ft.train(TEXT, {"s": table}, split=0.55)
    report = ft.backtest(TEXT, {"s": table}, model=model, split=0.55)
    assert (trained(model)[0], _points(report)) == (50, 50)
    model = ft.train(TEXT, {"s": table}, since="2026-01-01T05:00:00", split=0.5)
    assert trained(model) == (20, ("2026-01-01T05:00:00Z", "2026-01-01T06:00:00Z"))


def _points(report: Any) -> int:
    overall = report.scorecards[0].overall
    return int(overall.points + overall.censored + overall.silent)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"since": "noon"}, "since: expected a date and time, found 'noon'"),
        ({"until": True}, "until: expected a date and time, found True"),
        ({"split": 1}, "split: expected a fraction between 0 and 1, found 1"),
        ({"split": "0.5"}, "split: expected a fraction between 0 and 1, found '0.5'"),
        ({"since": "2027-01-01"}, "there are no events from `since` until `until`"),
    ],
)
@pytest.mark.parametrize("call", [ft.train, ft.backtest])
def test_wrong_periods(call: Any, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.InputError) as refused:
        call(TEXT, {"s": events(10)}, **wanted)
    assert refused.value.message == message
    if "2027-01-01" in wanted.values():
        assert refused.value.hint == "the events are from 2026-01-01T00:00:00Z to 2026-01-01T09:00:00Z"


def test_a_split_on_spark_is_refused() -> None:
    with pytest.raises(ft.InputError, match="split: Spark does not know the order of all events"):
        ft.train(TEXT, {"s": events(10)}, split=0.5, engine="spark")


# ── the events of the training ──


def test_a_backtest_on_the_events_of_the_training_warns() -> None:
    table = events(2000)
    model = ft.train(TEXT, {"s": table})
    assert overlaps(ft.backtest(TEXT, {"s": table}, model=model)) == [WARNING.format("100%")]
    half = overlaps(ft.backtest(TEXT, {"s": events(4000)}, model=ft.train(TEXT, {"s": events(4000)[:2000]})))
    assert len(half) == 1
    assert 0.4 < float(half[0].split()[1].rstrip("%")) / 100 < 0.6
    (part,) = overlaps(ft.backtest(TEXT, {"s": table}, model=model, since="2026-03-01"))
    assert 95 <= int(part.split()[1].rstrip("%")) < 100  # the first events of a lane have others before them
    assert overlaps(ft.backtest(TEXT, {"s": events(2000, begin=BEGIN + timedelta(days=100))}, model=model)) == []


def test_other_lanes_and_other_values_at_the_same_times_are_other_events() -> None:
    model = ft.train(TEXT, {"s": events(2000, seed=1)})
    assert overlaps(ft.backtest(TEXT, {"s": events(2000, seed=2)}, model=model)) == []
    without_lanes = TEXT.replace("PER l ", "")
    model = ft.train(without_lanes, {"s": events(2000, seed=1, lanes=1)})
    assert overlaps(ft.backtest(without_lanes, {"s": events(2000, seed=2, lanes=1)}, model=model)) == []


def test_a_saved_model_remembers_and_an_old_one_is_silent(tmp_path: Path) -> None:
    table = events(500)
    model = ft.train(TEXT, {"s": table})
    model.save(tmp_path / "model.json")
    loaded = ft.Model.load(tmp_path / "model.json")
    assert trained(loaded) == trained(model) == (500, ("2026-01-01T00:00:00Z", "2026-01-21T19:00:00Z"))
    assert overlaps(ft.backtest(TEXT, {"s": table}, model=loaded)) == [WARNING.format("100%")]
    assert overlaps(ft.backtest(TEXT, {"s": table}, model=ft.recalibrate(TEXT, {"s": table}, model=loaded))) != []
    document: Any = json.loads((tmp_path / "model.json").read_text())
    for key in ("sample", "time"):
        del document["subscriptions"]["p"]["forecast"][key]
    old = ft.Model.of(document)
    assert overlaps(ft.backtest(TEXT, {"s": table}, model=old)) == []
    assert json.loads(json.dumps(old.document())) == document
    assert repr(old) == (
        "Model of 1 statement\n"
        "  statement  events  matches  states\n"
        f"  p          500     {old.subscriptions['p'].statistics.matches}       2"
    )


@pytest.mark.parametrize("sample", ["x", "00", 5, "00" * 8 * (SAMPLE_SIZE + 1)])
def test_a_broken_sample(sample: object) -> None:
    document: Any = ft.train(TEXT, {"s": events(50)}).document()
    document["subscriptions"]["p"]["forecast"]["sample"] = sample
    with pytest.raises(ft.InputError, match="the model, subscription 'p', 'forecast': "):
        ft.Model.of(document)


def test_samples_are_merged_in_any_order() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**63, 5000).astype(np.uint64)
    whole = EventSample.of(hashes)
    parts = [EventSample.of(part) for part in np.array_split(hashes, 7)]
    merged = NO_SAMPLE
    for part in reversed(parts):
        merged = merged.merged(part)
    assert merged.hashes.tolist() == whole.hashes.tolist()
    assert len(whole.hashes) == SAMPLE_SIZE
    assert EventSample.from_json(whole.to_json()).hashes.tolist() == whole.hashes.tolist()


def test_samples_estimate_the_share() -> None:
    hashes = np.random.default_rng(2).integers(0, 2**63, 40_000).astype(np.uint64)
    sample = EventSample.of(hashes[:20_000])
    assert sample.share_of(hashes) == pytest.approx(0.5, abs=0.1)
    assert sample.share_of(hashes[:20_000]) == 1
    assert sample.share_of(hashes[20_000:]) == 0
    assert sample.share_of(hashes[:100]) is None or sample.share_of(hashes[:100]) == 1


# ── features and time horizons ──


FEATURES = ft.Learning(order=None, features=("k = 'c'",))


def test_a_time_horizon_refuses_features() -> None:
    for learning, name in ((FEATURES, "features"), (ft.Learning(order=2), "order")):
        with pytest.raises(ft.InputError) as refused:
            ft.train(TIMED, {"s": events(100)}, learning=learning)
        assert str(refused.value) == (
            f"{name}: 'p' forecasts within a duration, which does not use features and contexts\n"
            f"  hint: write FORECAST WITHIN n EVENTS, or leave {name} out"
        )
    chosen = ft.train(TIMED, {"s": events(300)}, learning=ft.Learning(order=None))
    assert len(chosen.subscriptions["p"].contexts) == 1


def test_among_others_a_time_horizon_says_that_it_ignores_them() -> None:
    both = TEXT + TIMED[TIMED.index("SUBSCRIBE") :].replace("SUBSCRIBE p", "SUBSCRIBE q")
    model = ft.train(both, {"s": events(300)}, learning=ft.Learning(order=2, features=("k = 'c'",)))
    unused = "'q' forecasts within a duration, which does not use features and contexts"
    assert model.notes == (unused,)
    idle = ft.train(both, {"s": events(300)}, learning=ft.Learning(order=None, features=("k = 'none'",)))
    assert idle.notes == (unused, "'p': the features do not improve its forecasts, so its model has no contexts")
    assert len(model.subscriptions["p"].contexts) > 1
    assert len(model.subscriptions["q"].contexts) == 1
    ft.run(both, {"s": events(100)}, model=model)


def test_a_model_with_features_is_refused_for_a_time_horizon() -> None:
    model = ft.train(TEXT, {"s": events(300)}, learning=ft.Learning(order=2, features=("k = 'c'",)))
    message = (
        "'p' forecasts within 2 hours, and a duration does not use features and contexts, which its model has\n"
        "  hint: write FORECAST WITHIN n EVENTS, or train without features"
    )
    uses: list[Any] = [
        lambda: ft.run(TIMED, {"s": events(100)}, model=model),
        lambda: ft.Engine(TIMED, model=model),
        lambda: ft.backtest(TIMED, {"s": events(100)}, model=model),
        lambda: ft.recalibrate(TIMED, {"s": events(100)}, model=model),
    ]
    for use in uses:
        with pytest.raises(ft.InputError) as refused:
            use()
        assert str(refused.value) == message
    assert ft.backtest(TIMED, {"s": events(100)}, model=model, horizons=[3]).scorecards[0].horizon.events == 3
    plain = replace(model.subscriptions["p"], contexts=ft.train(TEXT, {"s": events(50)}).subscriptions["p"].contexts)
    assert len(plain.contexts) == 1


def test_features_that_do_not_help_are_told() -> None:
    model = ft.train(TEXT, {"s": events(300)}, learning=ft.Learning(order=None, features=("k = 'none'",)))
    note = "'p': the features do not improve its forecasts, so its model has no contexts"
    assert len(model.subscriptions["p"].contexts) == 1
    assert model.notes == (note,)
    assert note not in ft.train(TEXT, {"s": events(300)}, learning=ft.Learning(order=2, features=("k = 'c'",))).notes
    assert note not in ft.train(TEXT, {"s": events(300)}).notes


def test_views_of_a_model() -> None:
    model = ft.train(TEXT, {"s": events(300)}, learning=ft.Learning(order=2, features=("k = 'c'",)))
    lines = repr(model).splitlines()
    assert lines[0] == "Model of 1 statement"
    assert lines[1].split() == ["statement", "events", "matches", "states", "contexts", "features", "from", "to"]
    assert max(map(len, lines)) <= 80
    assert repr(model.subscriptions["p"]).splitlines()[1] == "  events    300"
    assert "k = &#x27;c&#x27;" in model._repr_html_()

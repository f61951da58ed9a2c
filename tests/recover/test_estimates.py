"""Estimates of the compiled engine: those of the reference evaluator, however batches are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.arguments.model import as_model, delay_models
from foretell.events.delays.delay_model import DelayModel
from foretell.events.estimate_detail import EstimateDetail
from foretell.events.notification import Notification
from foretell.language.checked import CheckedSubscription
from foretell.language.time_bounds import time_bounds
from foretell.recover.estimate_stage import EstimateStage
from foretell.recover.gap_scores import GapScores
from foretell.recover.gap_tables import ModelTables
from foretell.recover.hidden_patterns import all_lost_sets, variant_of
from tests.recover.estimate_programs import (
    ESTIMATE_MODEL,
    ESTIMATES,
    EstimateProgram,
    estimate_events,
    estimate_program,
    exponential,
    wide_program,
)


def rows(notifications: Iterable[Notification]) -> list[tuple[Any, ...]]:
    """Probabilities of tables are not those of the integrals to the last digit."""
    return sorted(
        (
            n.subscription,
            n.kind,
            n.start,
            n.end,
            round(n.probability, 4),
            str(n.id),
            str(n.events),
            str(n.key),
            str(n.bindings),
            _outline(n.estimate),
        )
        for n in notifications
    )


def _outline(detail: EstimateDetail | None) -> str:
    """What does not depend on rounding; `test_estimate_details` compares times and factors."""
    if detail is None:
        return ""
    return f"{detail.score} {[lost.step for lost in detail.lost]} {[(gap.after, gap.before) for gap in detail.gaps]}"


def run(program: EstimateProgram, engine: str) -> ft.Notifications:
    inputs: dict[str, object] = {"s": program.events}
    return ft.run(
        program.program,
        inputs,
        engine=engine,
        tables=program.tables or None,
        model=program.model,
        until=program.until,
    )


def push(program: EstimateProgram, random: Random) -> list[Notification]:
    """In batches of a few events, some of them after a snapshot was restored."""
    engine = ft.Engine(program.program, model=program.model, tables=program.tables or None)
    found: list[Notification] = []
    first = 0
    while first < len(program.events):
        count = random.randint(1, 5)
        found += engine.push("s", program.events[first : first + count])
        first += count
        if random.random() < 0.4:
            engine = ft.Engine.restore(None, engine.snapshot())
    return [*found, *engine.advance(program.until)]


def agrees(
    seeds: Iterable[int], most: int, made: Callable[[Random, int], EstimateProgram] = estimate_program
) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for seed in seeds:
        program = made(Random(seed), most)
        expected = rows(run(program, "reference"))
        assert rows(run(program, "embedded")) == expected, (seed, program)
        assert rows(push(program, Random(seed))) == expected, (seed, program)
        kinds.update(row[1] for row in expected)
    return kinds


def test_random_programs() -> None:
    kinds = agrees([*range(12), 24, 52], 2) + agrees([38], 3)
    assert kinds["estimate"] > 10
    assert kinds["withdrawn"] > 2


def test_wide_programs() -> None:
    """With everything that statements have."""
    kinds = agrees([*range(6), 13, 23, 27, 31, 412, 502, 518], 3, wide_program)
    assert kinds["estimate"] > 10


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_wide_programs_for_long() -> None:
    kinds = agrees(range(3_000, 3_600), 3, wide_program) + agrees(range(4_000, 4_060), 4, wide_program)
    assert kinds["match"] > 50
    assert kinds["withdrawn"] > 50


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_programs_for_long() -> None:
    kinds = agrees(range(1_000, 1_600), 3) + agrees(range(2_000, 2_060), 4)
    assert kinds["match"] > 50
    assert kinds["withdrawn"] > 50


def test_lanes_and_batches() -> None:
    events = estimate_events(600)
    whole = ft.run(ESTIMATES, {"s": events}, model=ESTIMATE_MODEL, until=3_000, engine="embedded")
    assert {n.kind for n in whole} == {"match", "estimate", "withdrawn"}
    engine = ft.Engine(ESTIMATES, model=ESTIMATE_MODEL)
    found = [n for first in range(0, 600, 37) for n in engine.push("s", events[first : first + 37])]
    assert rows([*found, *engine.advance(3_000)]) == rows(whole)
    table = whole.to_arrow()
    assert table.column("id").to_pylist() == [n.id for n in whole]
    assert table.column("probability").to_pylist() == [n.probability for n in whole]


def test_rows_of_one_estimate_have_one_id() -> None:
    whole = ft.run(ESTIMATES, {"s": estimate_events(600)}, model=ESTIMATE_MODEL, until=3_000, engine="embedded")
    reported = {n.id: n for n in whole if n.kind == "estimate"}
    withdrawn = [n for n in whole if n.kind == "withdrawn"]
    assert len({n.id for n in withdrawn}) == len(withdrawn)
    assert all(reported[n.id].events == n.events and n.end > reported[n.id].end for n in withdrawn)


def checked(text: str) -> CheckedSubscription:
    (statement,) = ft.parse(text).checked({}, {}).statements
    assert isinstance(statement, CheckedSubscription)
    return statement


def test_patterns_that_cannot_reach_the_threshold_do_not_run() -> None:
    delays = delay_models(as_model(ESTIMATE_MODEL), ["theft"])["theft"]
    runs = EstimateStage(checked(ESTIMATES), delays)
    few = EstimateStage(checked(ESTIMATES.replace("ABOVE 0.1", "ABOVE 0.9")), delays)
    assert [sorted(pruned.variant.scorer.lost) for pruned in few.pruned]
    assert len(few.lost) < len(runs.lost) == len(all_lost_sets(checked(ESTIMATES)))
    events = estimate_events(600)
    likely = ft.run(ESTIMATES.replace("ABOVE 0.1", "ABOVE 0.9"), {"s": events}, model=ESTIMATE_MODEL, engine="embedded")
    every = ft.run(ESTIMATES, {"s": events}, model=ESTIMATE_MODEL, engine="embedded")
    assert {n.id for n in likely if n.kind == "estimate"} == {
        n.id for n in every if n.kind == "estimate" and n.probability >= 0.9
    }


def between(y: float, z: float, z_after_y: float) -> dict[str, Any]:
    """A model by the mean delays from x to y and z, and from y to z; half of all y are followed by z."""
    after = {"y": {"x": exponential(y, 0.5)}, "z": {"x": exponential(z, 0.9), "y": exponential(z_after_y, 0.9)}}
    return {"subscriptions": {"theft": {"after": after}}}


@pytest.mark.parametrize(
    ("pattern", "model", "above"),
    [("x ; !y ; z", between(9.0, 2.0, 4.0), 0.9), ("x ; y ; z", between(0.5, 9.0, 0.5), 0.2)],
)
def test_windows_are_as_short_as_the_threshold_permits(pattern: str, model: dict[str, Any], above: float) -> None:
    text = ESTIMATES.replace("x ; !y ; z", pattern).replace("LOSING 0.2", "LOSING 0.2 OF y")
    delays, events = delay_models(as_model(model), ["theft"])["theft"], estimate_events(900)
    windows, kept = dict[float, list[object]](), dict[float, list[tuple[str, object]]]()
    for least in (0.0, above):
        at_least = text.replace("ABOVE 0.1", f"ABOVE {least}")
        windows[least] = [statement.within for statement in EstimateStage(checked(at_least), delays).statements]
        found = ft.run(at_least, {"s": events}, model=model, until=3_000, engine="embedded")
        likely = {n.id for n in found if n.kind == "estimate" and n.probability >= above}
        kept[least] = [(n.kind, n.id) for n in found if n.id in likely]
    lasting = EstimateStage(checked(at_least), delays, instants=False).statements
    assert windows[above] != windows[0.0] == [statement.within for statement in lasting]
    assert kept[above] == kept[0.0]
    assert kept[above]


@pytest.mark.parametrize("spread", [0.03, 0.003])
@pytest.mark.parametrize(("pattern", "narrow"), [("x ; !y ; z", ["z of x"]), ("x ; y ; z", ["y of x", "z of y"])])
def test_narrow_delays(pattern: str, narrow: list[str], spread: float) -> None:
    """A belt takes the same time always: lengths that are spread evenly miss those of its gaps."""
    belt = {"distribution": "gamma", "shape": spread**-2, "scale": 50 * spread**2, "share": 0.5}
    delays = {way: belt if way in narrow else exponential(60.0, 0.5) for way in ("y of x", "z of x", "z of y")}
    after = {"y": {"x": delays["y of x"]}, "z": {"x": delays["z of x"], "y": delays["z of y"]}}
    chance = Random(4)
    lengths = [50.0, 100.0, *(chance.uniform(1, 300) for _ in range(1_000))]
    events = [
        {"t": 1000.0 * lane + past, "kind": kind, "lane": lane}
        for lane, length in enumerate(lengths)
        for kind, past in (("x", 0.0), ("z", length))
    ]
    text = f"""STREAM s (lane INT, kind STRING, t FLOAT) TIME t;
        SUBSCRIBE belt FROM s PER lane MATCH {pattern}
        DEFINE x AS kind = 'x', y AS kind = 'y', z AS kind = 'z'
        WITHIN 600 LOSING 0.3 OF y ABOVE 0.1;"""
    model = {"subscriptions": {"belt": {"after": after}}}
    found, meant = (ft.run(text, {"s": events}, model=model, engine=name) for name in ("embedded", "reference"))
    likely, exact = ({str(n.id): n.probability for n in each} for each in (found, meant))
    assert likely == pytest.approx(exact, abs=1e-4)
    assert max(likely.values()) > 0.9


def test_a_snapshot_with_another_model() -> None:
    """The patterns that run stay as they were: what they have bound does not depend on the model."""
    engine = ft.Engine(ESTIMATES.replace("ABOVE 0.1", "ABOVE 0.9"), model=ESTIMATE_MODEL)
    events = estimate_events(200)
    engine.push("s", events[:100])
    slow = {"distribution": "exponential", "mean": 500.0, "share": 0.01}
    theft = ESTIMATE_MODEL["subscriptions"]["theft"]
    model = {"subscriptions": {"theft": {**theft, "after": {**theft["after"], "y": {"x": slow}}}}}
    again = ft.Engine.restore(None, engine.snapshot(), model=model)
    assert again.push("s", events[100:]) is not None


def test_tables_are_near_the_integrals() -> None:
    delays = delay_models(as_model(ESTIMATE_MODEL), ["theft"])["theft"]
    statement = checked(ESTIMATES.replace("ABOVE 0.1", "ABOVE 0"))
    chance = np.random.default_rng(3)
    for lost in all_lost_sets(statement):
        variant = variant_of(statement, lost, delays)
        scores = GapScores(variant.scorer, variant.present, ModelTables(statement).of(delays))
        times = np.sort(chance.uniform(0, 20, (1_000, len(variant.present))), axis=1)
        likely = scores.probabilities(times)
        for row in range(0, 1_000, 250):
            at = dict(zip(variant.present, times[row].tolist(), strict=True))
            assert variant.scorer.scored(at, times[row, -1] - times[row, 0])[0] == pytest.approx(likely[row], abs=5e-5)


def test_estimates_of_steps_with_bounds_are_shared() -> None:
    """Matches whose gaps are equal are estimated once, each with the bounds that it sets itself."""
    delays = delay_models(as_model(ESTIMATE_MODEL), ["theft"])["theft"]
    text = ESTIMATES.replace("ABOVE 0.1", "ABOVE 0").replace("MATCH x ; !y ; z", "MATCH x ; !y ; z @(t(z) - t(x) < 9)")
    statement = checked(text)
    assert time_bounds(statement)
    chance = np.random.default_rng(3)
    for lost in all_lost_sets(statement):
        variant = variant_of(statement, lost, delays)
        scores = GapScores(variant.scorer, variant.present, ModelTables(statement).of(delays))
        times = np.sort(chance.integers(0, 12, (60, len(variant.present))), axis=1).astype(np.float64)
        likely = scores.probabilities(times)
        for row, own in enumerate(times):
            at = dict(zip(variant.present, own.tolist(), strict=True))
            assert variant.scorer.scored(at, own[-1] - own[0])[0] == pytest.approx(likely[row], abs=1e-6)


def test_engines_with_the_same_delays_share_tables() -> None:
    statement = checked(ESTIMATES)
    first, second = (delay_models(as_model(ESTIMATE_MODEL), ["theft"])["theft"] for _ in range(2))
    tables = ModelTables(statement).of(first)
    assert ModelTables(statement).of(second) is tables
    other = DelayModel(after=first.before, before=first.before)
    assert ModelTables(statement).of(other) is not tables


def test_statements_come_and_go() -> None:
    engine = ft.Engine(ESTIMATES.split("SUBSCRIBE")[0] + "SUBSCRIBE q FROM s MATCH a DEFINE a AS v = 5;")
    engine.push("s", [{"time": 0, "tag": 1, "v": 1, "e": 0}])
    refused = pytest.raises(ft.InputError)
    with refused as caught:
        engine.subscribe("SUBSCRIBE" + ESTIMATES.split("SUBSCRIBE")[1])
    assert caught.value.code == "no-delay"
    engine = ft.Engine(engine.subscriptions, model=ESTIMATE_MODEL)
    engine.push("s", [{"time": 0, "tag": 1, "v": 1, "e": 0}])
    engine.subscribe("SUBSCRIBE" + ESTIMATES.split("SUBSCRIBE")[1])
    assert engine.push("s", estimate_events(300)[1:])
    engine.unsubscribe("theft")
    assert engine.partial_matches == 0
    assert [str(s.name) for s in engine.subscriptions.program.statements] == ["s", "q"]


@pytest.mark.parametrize("names", [("b", "c"), ("seen", "again")])
def test_names_of_users_are_not_those_of_hidden_patterns(names: tuple[str, str]) -> None:
    """Other statements and steps may have any name."""
    lost, end = names
    exponential = {"distribution": "exponential", "mean": 3.0, "share": 0.5}
    after = {lost: {"a": exponential}, end: {lost: exponential, "a": exponential}}
    before = {"a": {lost: exponential, end: exponential}, lost: {end: exponential}}
    text = f"""
        STREAM s (k STRING) TIME time;
        SUBSCRIBE m FROM s MATCH a ; {lost} ; {end}
        DEFINE a AS k = 'a', {lost} AS k = 'b', {end} AS k = 'c' WITHIN 10 LOSING 0.2 ABOVE 0;
        SUBSCRIBE "m without {lost}" FROM s MATCH a DEFINE a AS k = 'a';
    """
    events = [{"time": time, "k": k} for time, k in [(1, "a"), (3, "c"), (5, "b"), (6, "c"), (8, "a"), (30, "x")]]
    model = {"subscriptions": {"m": {"after": after, "before": before}}}
    compiled, plain = (ft.run(text, {"s": events}, model=model, engine=e) for e in ("embedded", "reference"))
    assert {n.subscription for n in plain} == {"m", f"m without {lost}"}
    assert [(n.subscription, n.events) for n in compiled] == [(n.subscription, n.events) for n in plain]

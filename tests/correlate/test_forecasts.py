"""FORECAST of tokens: probabilities worked out by hand, the chain against the machine, calibration, snapshots."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.api.forecasting import run_observed
from foretell.correlate.forecast_states import ForecastStates, forecast_states, require_forecast_states
from foretell.forecast.chain.first_passage import MarkovChain, match_probability
from foretell.forecast.training.trace_recorder import TraceRecorderFactory
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedCorrelator
from foretell.language.parser import parse
from foretell.learn.trace import furthest
from tests.correlate.expressions import expression
from tests.correlate.test_engines import CONDITIONS, correlator

STREAM = "STREAM s (k STRING, n INT, g INT, t INT) TIME t;"
STEPS = "DEFINE a AS k = 'a', b AS k = 'b'"


def correlate(body: str, forecast: str, source: str = "s PER g") -> str:
    (statement,) = parse(f"CORRELATE m FROM s DO {body}").statements
    used = {n.step for n in statement.walk() if isinstance(n, tree.On)}
    used |= {n.guard for n in statement.walk() if isinstance(n, tree.Mode)}
    define = ", ".join(f"{step} AS k = '{step}'" for step in sorted(used))
    return f"{STREAM} CORRELATE m FROM {source} DO {body} DEFINE {define} FORECAST {forecast};"


def checked(text: str) -> CheckedCorrelator:
    (statement,) = check(parse(text)).statements
    assert isinstance(statement, CheckedCorrelator)
    return statement


def rows(kinds: Iterable[str], g: int = 0) -> list[dict[str, Any]]:
    return [{"k": kind, "n": 0, "g": g, "t": time} for time, kind in enumerate(kinds)]


# ── by hand ──

PAIR = "repeat{push('x'){sequential{a, b}}}"
#: Of four events that come while it waits for a one is an a; of two that come then, one is a b.
CYCLE = "cccacb"


def taught(text: str, kinds: str) -> ft.Model:
    return taught_by(text, rows(kinds))


def taught_by(text: str, given: object) -> ft.Model:
    return ft.train(text, {"s": given}, learning=ft.Learning(half_life=math.inf))


def test_a_chain_of_two_states_by_hand() -> None:
    """Within 3 events: from a on 1/2 + 1/4 + 1/8; before it (3/4)(1/4)(1/2) + (1/4)(1/2 + 1/4)."""
    text = correlate(PAIR, "OF 'x' WITHIN 3 EVENTS ABOVE 0.01")
    model = taught(text, CYCLE * 50)
    learned = model.subscriptions["m"].statistics
    assert learned.states.tolist() == [0, 2]
    assert learned.counts.tolist() == [[150.0, 50.0], [0.0, 50.0]]
    assert learned.matched.tolist() == [0.0, 50.0]
    off = ft.Learning(online=False)
    engine = ft.Engine(text, model=model, learning=off)
    shown = []
    for event in rows("cacbc"):
        engine.push("s", [event])
        shown.append(engine.outlook("m")[0].probability)
    # The token is what is forecast, so that after it the next one is.
    assert shown == pytest.approx([9 / 32, 7 / 8, 7 / 8, 9 / 32, 9 / 32])
    found = ft.run(text.replace("0.01", "0.8"), {"s": rows("cacbca")}, model=model, learning=off, engine="embedded")
    told = [(n.kind, n.start, n.end, n.probability, n.horizon, n.bindings, n.events) for n in found]
    assert told == [
        ("forecast", 1, 1, pytest.approx(7 / 8), "3 EVENTS", {}, {}),
        ("token", 3, 3, 1.0, None, {"token": "x"}, {}),
        ("forecast", 5, 5, pytest.approx(7 / 8), "3 EVENTS", {}, {}),
    ]


def test_events_that_satisfy_no_step_count() -> None:
    """The horizon is the lane's next events, whatever they are."""
    text = correlate(PAIR, "WITHIN 1 EVENTS ABOVE 0.01")
    learned = taught(text, "aczcb" * 40).subscriptions["m"].statistics
    assert learned.events == 200
    assert learned.counts.tolist() == [[0.0, 40.0], [0.0, 120.0]]
    assert learned.matched.tolist() == [0.0, 40.0]


def test_only_the_tokens_of_of_count() -> None:
    body = "parallel{repeat{push('x'){sequential{a, b}}}, repeat{push('y'){c}}}"
    counted = {}
    for of in ("", "OF 'x' ", "OF 'y' ", "OF 'y', 'x' "):
        text = correlate(body, f"{of}WITHIN 2 EVENTS ABOVE 0.1")
        counted[of] = taught(text, CYCLE * 20).subscriptions["m"].statistics.matches
    assert counted == {"": 100, "OF 'x' ": 20, "OF 'y' ": 80, "OF 'y', 'x' ": 100}


def test_what_a_model_was_trained_for() -> None:
    body = "parallel{repeat{push('x'){sequential{a, b}}}, repeat{push('y'){c}}}"
    text = correlate(body, "OF 'x' WITHIN 2 EVENTS ABOVE 0.1")
    model = taught(text, CYCLE * 20)
    ft.Engine(text.replace("2 EVENTS ABOVE 0.1", "7 ABOVE 0.9"), model=model)
    ft.Engine(correlate(body, "OF 'y' WITHIN 2 EVENTS ABOVE 0.1"))
    for other in (
        correlate(body, "OF 'y' WITHIN 2 EVENTS ABOVE 0.1"),
        correlate(body, "WITHIN 2 EVENTS ABOVE 0.1"),
        text.replace("{a, b}", "{b, a}"),
        text.replace("k = 'b'", "k = 'e'"),
    ):
        with pytest.raises(ft.InputError, match="was trained for other statements: 'm'"):
            ft.Engine(other, model=model)
    any_token = taught(correlate(body, "WITHIN 2 EVENTS ABOVE 0.1"), CYCLE * 20)
    ft.Engine(correlate(body, "OF 'y', 'x' WITHIN 2 EVENTS ABOVE 0.1"), model=any_token)


# ── the chain is the machine ──


def after(states: ForecastStates, state: int, satisfied: set[str]) -> tuple[int, bool]:
    """The state after an event that satisfies these steps, and whether it emits one of the tokens."""
    looked = {step for move in states.moves[state] for step in move.steps}
    move = next((m for m in states.moves[state] if set(m.steps) == satisfied & looked), None)
    return (state, False) if move is None else (move.following, states.emits(move))


def simulated(states: ForecastStates, satisfied: Iterable[set[str]]) -> list[tuple[int, bool]]:
    """The state after each event, and whether it emits one of the tokens."""
    state, found = 0, []
    for steps in satisfied:
        found.append(after(states, state, steps))
        state = found[-1][0]
    return found


def satisfied_by(event: dict[str, Any]) -> set[str]:
    kind, number = event["k"], event["n"]
    holds = {"a": kind == "a", "b": kind in ("b", "a"), "c": number > 2, "d": number % 2 == 0 and kind != "c"}
    assert set(holds) == set(CONDITIONS)
    return {step for step in holds if holds[step]}


def drawn(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [{"k": chance.choice("abc"), "n": chance.randint(0, 4), "g": chance.randint(0, 2), "t": time}
            for time in range(count)]  # fmt: skip


def random_correlator(chance: random.Random, forecast: str) -> str:
    whole: tree.Correlation = tree.Again("repeat", tree.Push("w", expression(chance, chance.randint(1, 4))))
    if chance.random() < 0.3:
        whole = tree.Parallel((whole, tree.Again("repeat", tree.Push("v", expression(chance, 2)))))
    text = correlator("m", "s PER g", whole)
    return f"{STREAM} {text.removesuffix(';')} FORECAST {forecast};"


@pytest.mark.parametrize("seed", range(40))
def test_the_observed_states_are_those_of_the_machine(seed: int) -> None:
    """After each event of each lane, and the tokens are those that the engine emits."""
    chance = random.Random(seed)
    text, given = random_correlator(chance, "OF 'w' WITHIN 3 EVENTS ABOVE 0.5"), drawn(chance, 300)
    states = require_forecast_states(checked(text))
    recorders = TraceRecorderFactory(ft.Learning())
    run_observed(ft.parse(text), {"s": given}, recorders)
    (recorder,) = recorders.recorders["m"]
    trace = recorder.record().trace
    emitted = {(n.key["g"], n.end) for n in ft.run(text, {"s": given}, engine="reference")
               if n.key is not None and n.bindings == {"token": "w"}}  # fmt: skip
    configurations = states.configurations.tolist()
    for lane in range(3):
        own = [row for row, event in enumerate(given) if event["g"] == lane]
        expected = simulated(states, (satisfied_by(given[row]) for row in own))
        assert [trace.state[row] for row in own] == [configurations[state] for state, _ in expected]
        assert [bool(trace.matched[row]) for row in own] == [emits for _, emits in expected]
        assert [(lane, row) in emitted for row in own] == [emits for _, emits in expected]


def moves(text: str) -> list[dict[str, tuple[int, str]]]:
    """Of each state, by the steps that an event satisfies, the next state and the tokens."""
    states = require_forecast_states(checked(text))
    return [{"+".join(m.steps): (m.following, "+".join(m.tokens)) for m in own} for own in states.moves]


def test_states_have_the_numbers_that_models_and_snapshots_know() -> None:
    """A model of an earlier version fits only as long as they do not change."""
    text = correlate("repeat{do{push('x'){accumulate{a, b}}} unless{c}}", "WITHIN 3 EVENTS ABOVE 0.5")
    assert moves(text) == [
        {
            "a": (1, ""), "b": (2, ""), "c": (0, ""),
            "a+b": (0, "x"), "a+c": (0, ""), "b+c": (0, ""), "a+b+c": (0, "x"),
        },
        {"b": (0, "x"), "c": (0, ""), "b+c": (0, "x")},
        {"a": (0, "x"), "c": (0, ""), "a+c": (0, "x")},
    ]  # fmt: skip
    # The order in which the expression names its parts changes nothing.
    assert moves(text.replace("{a, b}", "{b, a}")) == moves(text)
    assert require_forecast_states(checked(text)).configurations.tolist() == [0, 2, 4]
    document = json.loads(json.dumps(ft.train(text, {"s": rows("abcab" * 40)}).document()))
    assert document["subscriptions"]["m"]["forecast"]["configurations"] == [[], [1]]


@pytest.mark.parametrize("seed", range(30))
def test_distances_are_the_fewest_events(seed: int) -> None:
    states = require_forecast_states(checked(random_correlator(random.Random(seed), "WITHIN 3 EVENTS ABOVE 0.5")))
    for state, distance in enumerate(states.distances):
        reached, steps = {state}, 1
        while steps <= len(states) and not any(states.emits(move) for s in reached for move in states.moves[s]):
            reached |= {move.following for s in reached for move in states.moves[s]}
            steps += 1
        assert distance == (None if steps > len(states) else steps)


def independent_pairs(count: int) -> str:
    pairs = (f"repeat{{push('t{i}'){{sequential{{a{i}, b{i}}}}}}}" for i in range(count))
    return f"{STREAM} CORRELATE m FROM s DO parallel{{{', '.join(pairs)}}}"


def test_parts_that_emit_other_tokens_are_left_out_where_the_whole_is_too_large() -> None:
    states = forecast_states(checked(f"{independent_pairs(30)} FORECAST OF 't3' WITHIN 2 EVENTS ABOVE 0.5;"))
    assert states is not None
    assert (len(states), states.whole) == (2, False)
    text = f"{independent_pairs(30)} DEFINE a3 AS k = 'a', b3 AS k = 'b' FORECAST OF 't3' WITHIN 3 EVENTS ABOVE 0.5;"
    learned = taught(text, CYCLE * 50).subscriptions["m"].statistics
    assert learned.counts.tolist() == [[150.0, 50.0], [0.0, 50.0]]
    assert learned.matched.tolist() == [0.0, 50.0]
    small = forecast_states(checked(f"{independent_pairs(3)} FORECAST OF 't1' WITHIN 2 EVENTS ABOVE 0.5;"))
    assert small is not None
    assert (len(small), small.whole) == (8, True)


@pytest.mark.parametrize(
    "text",
    [
        f"{independent_pairs(30)} FORECAST WITHIN 2 EVENTS ABOVE 0.5;",
        f"{STREAM} CORRELATE m FROM s DO push('x'){{repeat(1000){{a}}}} FORECAST WITHIN 2 ABOVE 0.5;",
    ],
)
def test_a_machine_with_too_many_states_is_refused_before_the_first_event(text: str) -> None:
    for use in (
        lambda: ft.run(text, {"s": rows("a")}),
        lambda: ft.train(text, {"s": rows("a")}),
        lambda: ft.Engine(text).push("s", rows("a")),
    ):
        with pytest.raises(ft.LanguageError, match=r"'m' cannot have a FORECAST: .* more than 16,384 transitions"):
            use()


def test_states_of_a_large_machine_back_off_to_their_distance() -> None:
    body = "repeat{push('x'){sequential{repeat(100){a}, b}}}"
    states = require_forecast_states(checked(correlate(body, "WITHIN 3 EVENTS ABOVE 0.5")))
    configurations = states.configurations
    assert len(states) == 101 == len(set(configurations.tolist()))
    assert configurations[0] == 0
    merged = furthest(configurations)
    for state, distance in enumerate(states.distances[1:], start=1):
        assert distance is not None
        nearer = [other for other, own in enumerate(states.distances) if other and own is not None and own < distance]
        assert all(merged[other] >= merged[state] for other in nearer)
        if distance < 40:
            assert all(merged[other] > merged[state] for other in nearer)


# ── what probabilities mean ──


def markov_source(count: int, seed: int, lanes: int = 3) -> pa.Table:
    """Events whose kind depends on the one before in their lane."""
    chance = np.random.default_rng(seed)
    law = {"a": [0.5, 0.2, 0.2, 0.1], "b": [0.2, 0.4, 0.1, 0.3], "c": [0.3, 0.1, 0.4, 0.2], "d": [0.1, 0.2, 0.1, 0.6]}
    cumulated = {kind: np.cumsum(shares) for kind, shares in law.items()}
    lane, draws = chance.integers(0, lanes, count).tolist(), chance.random(count).tolist()
    before, kinds = dict.fromkeys(range(lanes), "d"), []
    for own, draw in zip(lane, draws, strict=True):
        before[own] = "abcd"[min(int(np.searchsorted(cumulated[before[own]], draw)), 3)]
        kinds.append(before[own])
    time = np.cumsum(chance.integers(1, 4, count))
    columns: dict[str, Any] = {"k": kinds, "n": [0] * count, "g": lane, "t": time}
    return pa.table(columns)


SHARES = {"a": 0.3, "b": 0.2, "c": 0.2, "d": 0.3}


def independent_source(count: int, seed: int, lanes: int = 3) -> pa.Table:
    """Events whose kind depends on nothing: the states of a correlator are a Markov chain."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "k": chance.choice([*SHARES], count, p=[*SHARES.values()]),
        "n": np.zeros(count, np.int64),
        "g": chance.integers(0, lanes, count),
        "t": np.cumsum(chance.integers(1, 4, count)),
    }
    return pa.table(columns)


#: Expressions, and what the area under the curve is at least: where the state hardly matters it is small.
BODIES = {
    "accumulate": ("repeat{do{push('x'){accumulate{a, b}}} unless{c}}", 0.59),
    "sequential": ("repeat{push('x'){sequential{a, b, c}}}", 0.77),
    "rounds": ("repeat{push('x'){repeat(4){sequential{a, b}}}}", 0.92),
    "persist": ("repeat{push('x'){persist(3){do{sequential{a, b}} unless{c}}}}", 0.62),
    "modes": ("in(a) do{repeat{push('x'){c}}} in(d) do{repeat{push('x'){accumulate{b, c}}}}", 0.55),
    "of": ("parallel{repeat{push('x'){sequential{a, a, b}}}, repeat{push('y'){sequential{c, d}}}}", 0.75),
}
IN_EVENTS, IN_TIME = "OF 'x' WITHIN 4 EVENTS ABOVE 0.5", "OF 'x' WITHIN 12 ABOVE 0.5"


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    ("source", "forecast", "order", "most"),
    [
        (independent_source, IN_EVENTS, 0, 0.02),
        (independent_source, IN_TIME, 0, 0.02),
        (markov_source, IN_EVENTS, 1, 0.02),  # with the event before, the state tells all of this source
        (markov_source, IN_EVENTS, 0, 0.05),
        (markov_source, IN_TIME, 0, 0.03),
    ],
)
def test_probabilities_mean_what_they_say(
    name: str, source: Callable[[int, int], pa.Table], forecast: str, order: int, most: float
) -> None:
    """The stream itself is the simulation: of what was given probability p, the part p comes."""
    body, auc = BODIES[name]
    text = correlate(body, forecast)
    model = ft.train(text, {"s": source(20_000, 2)}, learning=ft.Learning(order=order))
    (scorecard,) = ft.backtest(text, {"s": source(40_000, 3)}, model=model).scorecards
    assert scorecard.overall.points > 30_000
    assert scorecard.overall.positives > 100
    assert scorecard.overall.reliability.error < most
    assert scorecard.overall.auc > auc


def first_passage(states: ForecastStates, within: int) -> list[float]:
    """P(a token within so many independent events | state), from the shares of their kinds."""
    reached = [0.0] * len(states)
    for _ in range(within):
        reached = [
            sum(share * (1.0 if emits else reached[following])
                for kind, share in SHARES.items()
                for following, emits in [after(states, state, {kind})])
            for state in range(len(states))
        ]  # fmt: skip
    return reached


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("within", [1, 4, 9])
def test_learned_probabilities_are_those_of_the_source(name: str, within: int) -> None:
    text = correlate(BODIES[name][0], f"OF 'x' WITHIN {within} EVENTS ABOVE 0.5")
    learned = taught_by(text, independent_source(40_000, 5)).subscriptions["m"].statistics
    states = require_forecast_states(checked(text))
    exact = dict(zip(states.configurations.tolist(), first_passage(states, within), strict=True))
    found = match_probability(MarkovChain.of(learned.counts, learned.matched), within)
    assert set(learned.states.tolist()) == set(exact)
    for configuration, probability in zip(learned.states.tolist(), found.tolist(), strict=True):
        assert probability == pytest.approx(exact[configuration], abs=0.02)


def test_contexts_tell_what_the_states_do_not() -> None:
    """Which event came last decides in this source what comes next, and the machine knows it only in part."""
    text = correlate("repeat{push('x'){sequential{a, b, c}}}", "WITHIN 1 EVENTS ABOVE 0.5")
    given = {"s": markov_source(20_000, 2)}
    plain = ft.train(text, given)
    finer = ft.train(text, given, learning=ft.Learning(order=None))
    assert len(finer.subscriptions["m"].contexts) > 1
    later = {"s": markov_source(20_000, 3)}
    errors = [ft.backtest(text, later, model=model).scorecards[0].overall.brier.score for model in (plain, finer)]
    assert errors[1] < errors[0]


# ── batches, snapshots, statements that come and go ──


def told(found: Iterable[ft.Notification]) -> list[str]:
    return sorted(map(repr, found))


@pytest.mark.parametrize("seed", range(12))
def test_batches_and_snapshots_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    forecast = chance.choice(["WITHIN 3 EVENTS ABOVE 0.2", "OF 'w' WITHIN 6 ABOVE 0.2"])
    text, given = random_correlator(chance, forecast), drawn(chance, 900)
    model = ft.train(text, {"s": drawn(chance, 600)}) if chance.random() < 0.5 else None
    whole = ft.run(text, {"s": given}, model=model, engine="embedded")
    assert told(n for n in whole if n.kind == "token") == told(
        n for n in ft.run(text, {"s": given}, engine="reference") if n.kind == "token"
    )
    engine, cut = ft.Engine(text, model=model), list[ft.Notification]()
    at = 0
    while at < len(given):
        size = chance.randint(1, 120)
        cut += engine.push("s", given[at : at + size])
        at += size
        if chance.random() < 0.7:
            engine = ft.Engine.restore(None, engine.snapshot())
    assert told(whole) == told(cut)


def test_some_of_these_programs_forecast() -> None:
    """So that the test above compares something."""
    kinds = set[str]()
    for seed in range(6):
        text = random_correlator(random.Random(seed), "WITHIN 3 EVENTS ABOVE 0.2")
        kinds |= {n.kind for n in ft.run(text, {"s": drawn(random.Random(seed), 900)}, engine="embedded")}
    assert kinds == {"forecast", "token"}


def test_it_is_silent_until_it_has_seen_enough_and_then_learns_on() -> None:
    text = correlate(PAIR, "WITHIN 3 EVENTS ABOVE 0.5")
    engine = ft.Engine(text)
    assert {n.kind for n in engine.push("s", rows(CYCLE * 5))} == {"token"}
    later = [{**event, "t": 1000 + event["t"]} for event in rows(CYCLE * 200)]
    forecasts = [n for n in engine.push("s", later) if n.kind == "forecast"]
    assert 100 < len(forecasts) <= 200
    assert forecasts[-1].probability == pytest.approx(7 / 8, abs=0.02)
    (outlook,) = engine.outlook("m")
    assert outlook.key == {"g": 0}
    assert outlook.horizon == "3 EVENTS"


def test_it_comes_and_goes_while_the_engine_runs() -> None:
    text = correlate(PAIR, "WITHIN 3 EVENTS ABOVE 0.5")
    model = taught(text, CYCLE * 50)
    engine = ft.Engine(f"{STREAM} SUBSCRIBE other FROM s MATCH e DEFINE e AS n > 9;", model=model)
    engine.push("s", rows("a"))
    engine.subscribe(text.removeprefix(STREAM))
    # The a at 0 came before the statement.
    later = [{**event, "t": 10 + event["t"]} for event in rows("bca")]
    assert [(n.kind, n.end) for n in engine.push("s", later)] == [("forecast", 12)]
    engine.unsubscribe("m")
    assert not engine.push("s", [{"k": "b", "n": 0, "g": 0, "t": 20}])


def test_forecasts_are_no_events_for_other_statements() -> None:
    text = correlate(PAIR, "WITHIN 3 EVENTS ABOVE 0.5") + " SUBSCRIBE twice FROM m MATCH x , y;"
    found = ft.run(text, {"s": rows(CYCLE * 100)}, engine="embedded")
    assert any(n.kind == "forecast" for n in found)
    assert sum(n.subscription == "twice" for n in found) == 99


def test_a_correlator_of_matches_has_their_lane_s_events() -> None:
    """Its events are the matches, so that the horizon counts these."""
    text = f"""{STREAM} SUBSCRIBE q FROM s PER g MATCH x DEFINE x AS k <> 'c' RETURN x.k AS k;
    CORRELATE m FROM q DO {PAIR} DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 1 EVENTS ABOVE 0.5;"""
    model = taught(text, CYCLE * 50)
    learned = model.subscriptions["m"].statistics
    assert learned.events == 100
    assert learned.counts.tolist() == [[0.0, 50.0], [0.0, 0.0]]
    assert learned.matched.tolist() == [0.0, 50.0]


def test_several_statements_over_the_same_events() -> None:
    """A correlator with FORECAST, one without, and a subscription with FORECAST, each as it is alone."""
    other = PAIR.replace("'x'", "'z'")
    parts = [
        correlate(PAIR, "WITHIN 3 EVENTS ABOVE 0.5").removeprefix(STREAM),
        f"CORRELATE other FROM s PER g DO {other} DEFINE a AS k = 'c', b AS k = 'a';",
        f"SUBSCRIBE p FROM s PER g MATCH a , b {STEPS} FORECAST WITHIN 1 EVENTS ABOVE 0.1;",
    ]
    given = markov_source(2_000, 4)
    together = ft.run(f"{STREAM} {' '.join(parts)}", {"s": given}, engine="embedded")
    apart = [n for part in parts for n in ft.run(f"{STREAM} {part}", {"s": given}, engine="embedded")]
    assert told(together) == told(apart)
    assert {(n.subscription, n.kind) for n in together} == {
        ("m", "token"), ("m", "forecast"), ("other", "token"), ("p", "match"), ("p", "forecast"),
    }  # fmt: skip

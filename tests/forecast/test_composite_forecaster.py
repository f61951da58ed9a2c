"""Forecasts by the parts of a pattern (P-ToPSS 5.2.3): where parts are independent, against what is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.forecast.chain.first_passage import MarkovChain, waiting_time_cdf
from foretell.forecast.chain.part_configurations import part_configurations, whole_waiting_time
from foretell.language.checked import CheckedSubscription
from foretell.learn.model import Model
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Trace
from foretell.machine.observe.observer import ObservedParts
from foretell.plan.explain import as_text, explain
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.decomposition import DONE, Decomposition, Segment, decompose
from tests.forecast.test_end_to_end import events, expected, subscription

EVENTS = 6


def checked(pattern: str, steps: int, rest: str = "") -> CheckedSubscription:
    defined = ", ".join(f"s{i} AS v = {i}" for i in range(steps))
    (found,) = ft.parse(subscription(f"MATCH {pattern} DEFINE {defined} {rest}")).checked({}).statements
    assert isinstance(found, CheckedSubscription)
    return found


def in_any_order(steps: int, first: int = 0) -> str:
    return " & ".join(f"s{i}" for i in range(first, first + steps))


# ── which parts there are ──


@pytest.mark.parametrize(
    ("pattern", "steps", "segments"),
    [
        (in_any_order(7), 7, [(True, 7)]),
        (f"s7 ; ({in_any_order(7)}) ; s8 ; s9", 10, [(False, 1), (True, 7), (False, 1)]),
        (f"(s0 , s1 , s2 , s3) | ({in_any_order(6, 4)})", 10, [(False, 2)]),
        (f"({in_any_order(4)}) ; ({in_any_order(6, 4)})", 10, [(True, 4), (True, 6)]),
        ("s0{9} & s1{9}", 2, [(True, 2)]),
        (in_any_order(3), 3, None),  # small
        (" , ".join(f"s{i}" for i in range(70)), 70, None),  # no parts
        (f"s7* ; ({in_any_order(7)})", 8, None),  # where it begins is not certain
    ],
)
def test_parts_of_a_pattern(pattern: str, steps: int, segments: list[tuple[bool, int]] | None) -> None:
    subscription = checked(pattern, steps)
    parts = decompose(subscription, build(subscription))
    found = None if parts is None else [(s.every, s.stop - s.first) for s in parts.segments]
    assert found == segments


def test_what_a_state_is_for_each_part() -> None:
    pattern = f"s9 ; ((s0 , s1) & {in_any_order(6, 2)}) ; s8"
    subscription = checked(pattern, 10)
    automaton = build(subscription)
    parts = decompose(subscription, automaton)
    assert parts is not None
    bits = {frozenset(state.bound): found for state, found in zip(automaton.states, parts.bits.tolist(), strict=True)}
    pair, single = 1, 2  # the numbers of two sides, after that of s9
    assert [bits[frozenset(group.split())][pair] for group in ("s9", "s9 s2", "s9 s0", "s9 s0 s1", "s9 s0 s1 s2")] == [
        parts.entries[pair], parts.entries[pair], 2 * parts.entries[pair], DONE, DONE,
    ]  # fmt: skip
    assert bits[frozenset({"s9", "s0"})][single] == parts.entries[single]
    assert bits[frozenset({"s9", "s2", "s0"})][single] == DONE
    before_the_end = frozenset({"s9", *(f"s{i}" for i in range(8))})
    assert bits[before_the_end] == [DONE] * 8 + [parts.entries[8]]


def test_a_side_that_can_be_empty_is_not_waited_for() -> None:
    subscription = checked(f"{in_any_order(7)} & s7?", 8)
    parts = decompose(subscription, build(subscription))
    assert parts is not None
    assert [entry == DONE for entry in parts.entries] == [False] * 7 + [True]


# ── parts that are independent ──


@pytest.mark.parametrize("seed", range(4))
def test_sides_that_go_on_by_themselves(seed: int) -> None:
    """Three chains side by side, from the beginning again when the last of them is done: what is learned of each, and
    what is made of all, is the product of their waiting times."""
    ways = np.random.default_rng(seed).dirichlet([2.0, 2.0, 1.0], (3, 2))
    chains, count = [MarkovChain(item[:, :2], item[:, 2], np.ones(2, np.bool_)) for item in ways], 12_000
    words, ended = simulated(chains, count, seed)
    steps = tuple(map(frozenset, "abc"))
    parts = Decomposition((Segment(True, 0, 3),), steps, words[:0], (0, 0, 0), ended[:0])
    process = np.zeros(count, np.int64)
    configuration, matched = part_configurations(
        ObservedParts(parts, words, ended), process, np.zeros((1, 3), np.uint64)
    )
    learned = []
    for n in range(3):
        trace = Trace(process, np.arange(count), process.astype(float), configuration[:, n], matched[:, n])
        learned.append(Statistics.of(trace))
    truth = [waiting_time_cdf(chain, EVENTS) for chain in chains]
    for occupied in ([0, 0, 0], [1, 0, DONE], [1, 1, 1], [DONE, DONE, 0]):
        now = []
        for word, item in zip(occupied, learned, strict=True):
            place = 0 if word == DONE else int(np.flatnonzero(item.states == np.uint64(word))[0])
            now.append(waiting_time_cdf(MarkovChain.of(item.counts, item.matched, 1.0), EVENTS)[place])
        found = whole_waiting_time(parts, np.array(occupied, np.uint64), now, now)
        waits = [np.ones(EVENTS + 1) if w == DONE else t[w] for w, t in zip(occupied, truth, strict=True)]
        assert found == pytest.approx(np.prod(waits, axis=0), abs=0.05)


def simulated(chains: list[MarkovChain], count: int, seed: int) -> tuple[Any, Any]:
    """The words of each, and where all were done."""
    drawn = np.random.default_rng(seed).random((count, len(chains)))
    into = [np.cumsum(np.hstack([chain.moves, chain.match[:, None]]), axis=1) for chain in chains]
    words, ended = np.zeros(drawn.shape, np.uint64), np.zeros(drawn.shape, np.bool_)
    at = [0] * len(chains)
    for row in range(count):
        for n, ways in enumerate(into):
            if at[n] != DONE:
                to = int(np.searchsorted(ways[at[n]], drawn[row, n] * ways[at[n], -1]))
                at[n] = DONE if to == len(ways) else to
        if all(item == DONE for item in at):
            ended[row], at = True, [0] * len(chains)
        words[row] = at
    return words, ended


BRANCHES, LENGTH = 10, 8


def bits(count: int, seed: int, more: float = 0.0, since: int = 0) -> pa.Table:
    """Attributes that know nothing of each other."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        f"x{i}": (chance.random(count) < 0.5 + 0.02 * i + more).astype(np.int64) for i in range(BRANCHES)
    }
    return pa.table({**columns, "time": pa.array(range(since, since + count))})


def runs(forecast: str = "5 EVENTS ABOVE 0.6") -> str:
    """Of any of the attributes eight in a row: the branches are independent."""
    columns = ", ".join(f"x{i} INT" for i in range(BRANCHES))
    names = [[f"s{i}_{j}" for j in range(LENGTH)] for i in range(BRANCHES)]
    pattern = " | ".join(f"({' , '.join(group)})" for group in names)
    defined = ", ".join(f"{', '.join(group)} AS x{i} = 1" for i, group in enumerate(names))
    statement = f"SUBSCRIBE p FROM s MATCH {pattern} DEFINE {defined} FORECAST WITHIN {forecast};"
    return f"STREAM s ({columns}, time INT) TIME time; {statement}"


@pytest.fixture(scope="module")
def trained() -> Model:
    return ft.train(runs(), {"s": bits(12_000, 1)})


def known(stream: pa.Table, within: int) -> np.ndarray:
    """After each event, from how long the run of each attribute is: 1 less the product of what does not come."""
    shares = [0.5 + 0.02 * i for i in range(BRANCHES)]
    after = [expected("1" * LENGTH, {"1": p, "0": 1 - p}, within) for p in shares]
    missed, run = np.ones(stream.num_rows), np.zeros(BRANCHES, np.int64)
    for row in range(stream.num_rows):
        for i in range(BRANCHES):
            run[i] = run[i] + 1 if stream[f"x{i}"][row].as_py() else 0
            # The run that has just matched goes on with all but its first event.
            missed[row] *= 1 - after[i][min(run[i], LENGTH - 1)]
    return 1 - missed


def test_branches_that_know_nothing_of_each_other(trained: Model) -> None:
    assert len(trained.subscriptions["p"].parts) == BRANCHES
    stream, text = bits(200, 2), runs("5 EVENTS ABOVE 0.0001")
    engine = ft.Engine(text, model=trained, learning=ft.Learning(online=False))
    message = []
    for row in range(stream.num_rows):
        engine.push("s", stream.slice(row, 1))
        (item,) = engine.outlook("p")
        message.append(item.probability)
    error = np.abs(np.array(message) - known(stream, 5))
    assert error.max() < 0.12
    assert error.mean() < 0.02


def test_training_chooses_what_is_better() -> None:
    """Sides that forget each other's events when the window has passed are no product: there the whole has a chain."""
    text = subscription(f"MATCH {in_any_order(7)} DEFINE {', '.join(f's{i} AS v = {i}' for i in range(7))} WITHIN 24")
    assert ft.train(text, {"s": events(8_000, 2)}).subscriptions["p"].parts == ()
    assert "or a chain for each of its 7 parts" in as_text(explain(checked(in_any_order(7), 7)))


# ── wherever forecasts are made ──


def test_a_model_with_parts_is_read_as_it_was_written(trained: Model, tmp_path: Path) -> None:
    trained.save(tmp_path / "model.json")
    read = Model.load(tmp_path / "model.json")
    assert read.document() == trained.document()
    assert len(read.subscriptions["p"].parts) == BRANCHES
    document: Any = trained.document()
    document["subscriptions"]["p"]["forecast"]["parts"] = 3
    with pytest.raises(ft.InputError, match="a list of objects 'parts'"):
        Model.of(document)
    fewer = replace(trained.subscriptions["p"], parts=trained.subscriptions["p"].parts[1:])
    with pytest.raises(ft.InputError, match="differ from those in the model"):
        ft.run(runs(), {"s": bits(50, 3)}, model=replace(trained, subscriptions={"p": fewer}), engine="embedded")


def test_batches_and_snapshots_change_nothing(trained: Model) -> None:
    stream, text = bits(500, 4), runs()
    learning = ft.Learning(half_life=200.0)  # so that tables are made several times
    once = ft.Engine(text, model=trained, learning=learning)
    notified = list(once.push("s", stream))
    pieces = ft.Engine(text, model=trained, learning=learning)
    found: list[Any] = []
    for first in range(0, 500, 171):
        found += pieces.push("s", stream.slice(first, 171))
        pieces = ft.Engine.restore(text, pieces.snapshot(), model=None)
    assert [n for n in notified if n.kind == "forecast"]
    assert found == notified
    assert pieces.outlook("p") == once.outlook("p")
    assert once.outlook("p")[0].probability is not None


def test_each_value_by_itself_and_within_a_time() -> None:
    """The same for each value of a variable, and until a point in time."""
    text = runs("12 ABOVE 0.5").replace(" , ", " ;{l = $l} ").replace(" = 1", " = 1 AND l = $l")
    text = text.replace("x0 INT", "x0 INT, l INT")

    def notifications_of(count: int, seed: int) -> pa.Table:
        values = np.random.default_rng(seed).integers(0, 3, count)
        return bits(count, seed).append_column("l", pa.array(values))

    model = ft.train(text, {"s": notifications_of(4_000, 1)})
    assert len(model.subscriptions["p"].parts) == BRANCHES
    (scorecard,) = ft.backtest(text, {"s": notifications_of(1_500, 2)}, model=model).scorecards
    assert str(scorecard.horizon) == "12"
    assert scorecard.overall.points > 1_000
    assert scorecard.overall.reliability.error < 0.05
    engine = ft.Engine(text, model=model)
    engine.push("s", notifications_of(50, 3))
    found = engine.outlook("p")
    assert {outlook.bindings["l"] for outlook in found} == {0, 1, 2}
    assert ft.Engine.restore(text, engine.snapshot()).outlook("p") == found


def test_the_report_says_how_it_was_forecast(trained: Model) -> None:
    report = ft.backtest(runs(), {"s": bits(6_000, 5)}, model=trained)
    assert report.notes == (f"'p' is forecast from its {BRANCHES} parts",)
    assert f"note: {report.notes[0]}" in report.text()
    (scorecard,) = report.scorecards
    assert scorecard.overall.reliability.error < 0.03
    assert scorecard.overall.auc > 0.78
    assert scorecard.overall.intervals is not None
    assert scorecard.overall.intervals.made > 100


def test_on_line_the_parts_are_learned_too(trained: Model) -> None:
    """Where attributes are more often 1 than in training, the forecasts come to know it."""
    learns, does_not = (
        ft.Engine(runs(), model=trained, learning=ft.Learning(half_life=500.0, online=online))
        for online in (True, False)
    )
    chances = []
    for engine in (learns, does_not):
        engine.push("s", bits(1_500, 6, more=0.15))
        engine.push("s", bits(1, 7, since=1_500))
        (item,) = engine.outlook("p")
        assert item.probability is not None
        chances.append(item.probability)
    assert chances[0] > chances[1] + 0.05

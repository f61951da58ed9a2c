"""Random templates: one executor for all rows tells what the reference tells, and what an executor for each row tells,
whole, in batches, stopped and restored, and while rows come and go."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import foretell as ft
from foretell.engine import Engine
from foretell.machine.exec import row_slices
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.plan import strategy
from foretell.plan.strategy import Decision, TemplateMode
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties.patterns import Case, Chance
from tests.properties.templates import FIRST, people, template_case

Rows = list[tuple[Any, ...]]


def numbers_of(few: int, many: int) -> pytest.MarkDecorator:
    """Few templates are tried each time, many in the long tests."""
    soak = pytest.param(range(10_000, 10_000 + many), marks=[pytest.mark.soak, pytest.mark.timeout(0)], id="for long")
    return pytest.mark.parametrize("numbers", [pytest.param(range(few), id="quickly"), soak])


def cases(numbers: range, *, single: bool | None = None) -> Iterator[tuple[int, Case, EnginePair]]:
    """Templates that run, with the numbers that they are drawn by."""
    for number in numbers:
        chance = Chance(random.Random(number).randint)
        trial = template_case(chance, single=number % 3 == 0 if single is None else single)
        try:
            yield number, trial, EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
        except ft.ForetellError:
            continue


def modes(trial: Case) -> set[TemplateMode | str]:
    """How the rows of a template run, and whether their partial matches are found by profiles."""
    engine = Engine(trial.text, tables=trial.tables)
    engine.push("s", trial.streams["s"])
    pipeline = engine._deployment.pipeline
    assert pipeline is not None
    plans = [plan.strategy.template for plan in pipeline.runtime.plan.statements]
    executors = [group.executor for groups in pipeline.runtime.groups.values() for group in groups.nfa_groups]
    rows = [executor.rows for executor in executors if isinstance(executor, NfaExecutor)]
    listed = any(each is not None and each.levels.index.value for each in rows)
    return {template.value for template in plans if template is not None} | ({"listed"} if listed else set())


@numbers_of(48, 10_000)
def test_it_says_what_the_reference_says(numbers: range) -> None:
    told: Counter[TemplateMode | str] = Counter()
    for number, trial, both in cases(numbers):
        embedded = comparable_rows(both.embedded())
        assert embedded == comparable_rows(both.reference()), (number, trial)
        told.update(dict.fromkeys(modes(trial), bool(embedded)))
    assert told[TemplateMode.SHARED_RUNS] > len(numbers) / 10
    assert told[TemplateMode.PROFILE_INDEX] > len(numbers) / 10
    assert told["listed"] > len(numbers) / 20


@numbers_of(24, 4_000)
def test_batches_may_be_cut_anywhere(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_slices, "MOST_SATISFIED", 1)  # the profiles of one event at a time
    for number, trial, both in cases(numbers):
        generator = random.Random(number)
        cuts = [generator.randrange(20) for _ in range(generator.randrange(1, 5))]
        parts = Counter(comparable_rows(both.embedded_in_batches(both.cut_at(cuts))))
        assert parts == Counter(comparable_rows(both.embedded())), (number, trial, cuts)


def by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every template run row by row."""
    choose = strategy._choose_template

    def apart(*given: Any, **named: Any) -> Decision[TemplateMode] | None:
        chosen = choose(*given, **named)
        return None if chosen is None else Decision(TemplateMode.EXECUTOR_PER_ROW, "a test compares with it")

    monkeypatch.setattr(strategy, "_choose_template", apart)


@numbers_of(24, 4_000)
def test_rows_may_come_and_go(numbers: range) -> None:
    """One executor tells what an executor for each row tells, while rows come and go and the engine is restored."""
    told = 0
    for number, trial, _ in cases(numbers):
        together = _with_changes(trial, random.Random(number), stops=True)
        with pytest.MonkeyPatch.context() as patch:
            by_row(patch)
            apart = _with_changes(trial, random.Random(number), stops=False)
        assert together == apart, (number, trial)
        told += sum(map(len, together))
    assert told > len(numbers)


def _with_changes(trial: Case, generator: random.Random, *, stops: bool) -> list[Rows]:
    """What an engine tells of each event while rows come and go; with `stops` it is stopped and restored now and
    then."""
    chance = Chance(generator.randint)
    text = trial.text.replace(") TIME time", ", nr INT) TIME time ID nr", 1)
    engine = Engine(text, tables=trial.tables)
    present = [row["id"] for row in trial.tables["people"][1:]]
    events = sorted(trial.streams["s"], key=lambda row: row["time"])
    found: list[Rows] = []
    for place, event in enumerate(events):
        if present and chance.maybe(25):
            gone = chance.shuffled(present)[: chance.number(1, 3)]
            engine.remove_rows("people", gone)
            present = [row_id for row_id in present if row_id not in gone]
        if chance.maybe(25):
            new = people(chance, chance.number(1, 3), first=100 * (place + 1))
            engine.add_rows("people", new)
            present += [row["id"] for row in new]
        stop = chance.maybe(25)
        if stop and stops:
            engine = Engine.restore(None, engine.snapshot())
            assert (engine.fresh, engine.dropped) == ((), ())
        found.append(comparable_rows(engine.push("s", [{**event, "nr": place}])))
    found.append(comparable_rows(engine.end()))
    return found


def test_a_snapshot_of_rows_that_run_apart_goes_on_apart() -> None:
    """Earlier versions had an executor for each row: their partial matches stay apart."""
    text = (
        "STREAM s (time INT, v INT) TIME time;"
        "SUBSCRIBE m FOR EACH people FROM s MATCH a ; b DEFINE a AS v = 1, b AS v > :lo;"
    )
    with pytest.MonkeyPatch.context() as patch:
        by_row(patch)
        early = Engine(text, tables={"people": [FIRST, {**FIRST, "id": 5, "lo": 7}]})
        early.push("s", [{"time": 1, "v": 1}])
        snapshot = early.snapshot()
    engine = Engine.restore(text, snapshot)
    assert [n.id for n in engine.push("s", [{"time": 2, "v": 8}])] == [-1, 5]

"""Very many statements at once: indexed starts and late guards say what the reference says."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from foretell.engine import Engine
from foretell.machine.exec import batch_columns, start_index
from foretell.plan import strategy
from foretell.plan.lower import start_profiles
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties.patterns import Chance, case
from tests.properties.test_random_programs import _both

_STREAM = "STREAM s (time INT, k STRING, x INT, y FLOAT) TIME time;"


def _condition(chance: random.Random, step: str, earlier: list[str]) -> str:
    """A conjunction that a large part of the statements have alike but for its constants."""
    parts = []
    if chance.random() < 0.7:
        parts.append(f"k = '{chance.choice('uvw')}'")
    if chance.random() < 0.7:
        parts.append(f"x {chance.choice(['<', '<=', '>', '>=', '=', '<>'])} {chance.randint(-1, 5)}")
    if chance.random() < 0.4:
        parts.append(f"y {chance.choice(['<', '>='])} {chance.choice(['1', '2.5', '-0.0', '3'])}")
    if earlier and chance.random() < 0.5:
        parts.append(f"x {chance.choice(['>', '<='])} {chance.choice(earlier)}.x + {chance.randint(0, 2)}")
    if chance.random() < 0.1:
        parts.append(f"(k LIKE '{chance.choice('uvw')}%' OR x = {chance.randint(0, 4)})")
    return " AND ".join(parts) or "x IS NOT NULL"


def _statement(chance: random.Random, number: int) -> str:
    names = ["a", "b", "c", "d"][: chance.choice([1, 2, 2, 3, 3, 4])]
    operator = chance.choices([",", ";{k = 'u'}", ";"], [8, 1, 1])[0]
    pattern = f" {operator} ".join(names)
    if operator == "," and chance.random() < 0.15:
        pattern = pattern.replace("b", "b+")
    define = ", ".join(f"{name} AS {_condition(chance, name, names[:i])}" for i, name in enumerate(names))
    within = f" WITHIN {chance.randint(1, 9)}" if operator == ";" or chance.random() < 0.3 else ""
    per = "PER k" if number % 3 else ""
    return f"SUBSCRIBE s{number} FROM s {per} MATCH {pattern} DEFINE {define}{within};"


def _rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "time": time,
            "k": chance.choice(["u", "v", "w", None]),
            "x": chance.choice([None, *range(5)]),
            "y": chance.choice([None, 0.0, 1.0, 2.0, 2.5, 3.5]),
        }
        for time in range(count)
    ]


def _program(seed: int) -> tuple[random.Random, str, list[dict[str, Any]]]:
    chance = random.Random(seed)
    count = chance.randint(60, 120)
    text = "\n".join([_STREAM, *(_statement(chance, number) for number in range(count))])
    return chance, text, _rows(chance, 40)


@pytest.mark.parametrize("late", [-1.0, 25.0, 1e9])
def test_many_say_what_the_reference_says(late: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the kernel evaluates the later steps of all batches, of some, or of none."""
    monkeypatch.setattr(batch_columns, "LATE_GUARD", late)
    for seed in range(8):
        chance, text, rows = _program(seed)
        both = EnginePair(text, {"s": rows})
        whole = comparable_rows(both.embedded())
        assert whole, text
        assert whole == comparable_rows(both.reference()), text
        cuts = [chance.randint(0, 40) for _ in range(chance.randint(1, 8))]
        assert Counter(comparable_rows(both.embedded_in_batches(both.cut_at(cuts)))) == Counter(whole), text


def test_statements_come_and_go_between_snapshots() -> None:
    for seed in range(100, 106):
        _, text, rows = _program(seed)
        statements = text.split("\n")
        first, second = Engine("\n".join(statements[:-20])), Engine("\n".join(statements[:-20]))
        for begin in range(0, 40, 5):
            for engine in (first, second):
                change = random.Random(seed * 100 + begin)
                gone = change.choice(list(engine.subscriptions.statements))
                engine.unsubscribe(gone)
                engine.subscribe(statements[-1 - begin // 5])
            part = rows[begin : begin + 5]
            assert comparable_rows(first.push("s", part)) == comparable_rows(second.push("s", part))
            second = Engine.restore(None, second.snapshot())
        assert comparable_rows(first.end()) == comparable_rows(second.end())


def test_random_programs_with_every_start_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_index, "FEWEST_STARTS", 0)
    monkeypatch.setattr(start_profiles, "FEWEST_PROFILES", 1)
    monkeypatch.setattr(strategy, "MOST_EARLY", 0)
    monkeypatch.setattr(strategy, "MOST_LOCKSTEP_STATES", 0)
    monkeypatch.setattr(batch_columns, "LATE_GUARD", -1.0)
    monkeypatch.setattr(start_index, "MOST_HITS", 8)
    for seed in range(30_000, 30_150):
        both = _both(case(Chance(random.Random(seed).randint)))
        if both is not None:
            assert comparable_rows(both.embedded()) == comparable_rows(both.reference()), both.text

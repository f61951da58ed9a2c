"""The reverse scan, against the reference and against runs that advance event by event."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import foretell as ft
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.machine.exec.reverse_scan import ReverseScan
from foretell.machine.input import time_slices
from tests.engine_pair import EnginePair, comparable_rows

SCHEMA = "STREAM s (k INT, v FLOAT, n INT, word STRING, time INT) TIME time;\n"
RETURNED = (
    "count({0}) AS c_{0}",
    "sum({0}.v) AS s_{0}",
    "avg({0}.v) AS a_{0}",
    "avg({0}.n) AS i_{0}",
    "sum({0}.n) AS t_{0}",
    "min({0}.v) AS l_{0}",
    "max({0}.word) AS w_{0}",
    "count({0}.n) AS k_{0}",
    "first({0}).word AS f_{0}",
    "last({0}).v AS u_{0}",
)
CONDITIONS = ("v > prev.v", "v <= prev.v", "n > {0}", "n <= {0}", "v < {0}.5", "word = 'x'", "word < 'z'", "true")


def _program(chance: random.Random) -> str:
    """Steps that follow each other strictly, and all that can be asked of a match of them."""
    statements = []
    for number in range(chance.choice((1, 1, 2))):
        names = "abcde"[: chance.randint(1, 4)]
        steps = [name + chance.choice(("", "", "+", "?")) for name in names[:-1]] + [names[-1]]
        defined = [f"{name} AS {chance.choice(CONDITIONS).format(chance.randint(0, 3))}" for name in names]
        if chance.random() < 0.7:  # no event fits two steps that follow each other: no partial match divides
            either = chance.choice((("v > prev.v", "v <= prev.v"), ("n > 1", "n <= 1"), ("word = 'x'", "word > 'x'")))
            defined = [f"{name} AS {either[i % 2]}" for i, name in enumerate(names)]
        wanted = [chance.choice(RETURNED).format(chance.choice(names)) for _ in range(chance.randint(0, 5))]
        statements.append(
            f"SUBSCRIBE m{number} FROM s {chance.choice(('', 'PER k', 'PER k'))} MATCH {' , '.join(steps)} "
            f"DEFINE {', '.join(defined)} "
            + chance.choice(("", "", "AFTER MATCH SKIP PAST LAST "))
            + (f"RETURN {', '.join(dict.fromkeys(wanted))}" if wanted else "")
            + ";"
        )
    return SCHEMA + "\n".join(statements)


def _events(chance: random.Random, count: int) -> list[dict[str, Any]]:
    values = (0.0, -0.0, 1.5, 2.5, 1e308, 0.1, 0.7, None)
    return [
        {
            "time": i,
            "k": chance.randint(0, 2),
            "v": chance.choice(values),
            "n": chance.choice((0, 1, 2, 3, 2**62, None)),
            "word": chance.choice(("x", "y", "zz", None)),
        }
        for i in range(count)
    ]


def _used(monkeypatch: pytest.MonkeyPatch, gains: Callable[[], bool]) -> Counter[str]:
    """Batches are worked on so whenever `gains` says it, wherever that is possible; how many are is counted."""
    used: Counter[str] = Counter()
    run = ReverseScan.run

    def counted(self: ReverseScan, stage: NfaExecutor, *given: Any) -> None:
        used["batches"] += 1
        run(self, stage, *given)

    monkeypatch.setattr(ReverseScan, "pays_off", lambda *_: gains())
    monkeypatch.setattr(ReverseScan, "run", counted)
    return used


def test_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    used = _used(monkeypatch, lambda: True)
    found = 0
    for _ in range(100):
        both = EnginePair(_program(chance), {"s": _events(chance, 40)})
        expected = comparable_rows(both.reference())
        found += len(expected)
        assert comparable_rows(both.embedded()) == expected, both.text
        cuts = sorted(chance.sample(range(1, 40), chance.randint(1, 6)))
        assert Counter(comparable_rows(both.embedded_in_batches(both.cut_at(cuts)))) == Counter(expected), both.text
    assert used["batches"] > 200
    assert found > 800


def test_either_way_from_batch_to_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one way leaves behind the other takes up; and a state written down in between is the same."""
    chance, choice = random.Random(7), random.Random(8)
    part = 0.0
    used = _used(monkeypatch, lambda: choice.random() < part)
    for _ in range(60):
        both = EnginePair(_program(chance), {"s": _events(chance, 40)})
        part = 0.0
        expected = Counter(comparable_rows(both.embedded()))
        part = 0.5
        assert Counter(comparable_rows(both.embedded_in_batches(both.cut_at(list(range(3, 40, 3)))))) == expected
        engine, rows = ft.Engine(both.text), list[Any]()
        events = both.loaded["s"].table.to_pylist()
        for first in range(0, 40, 8):
            rows += engine.push("s", events[first : first + 8])
            engine = ft.Engine.restore(both.text, engine.snapshot())
        assert Counter(comparable_rows(rows)) == expected
    assert used["batches"] > 100


def test_long_runs_and_many_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """More matches than are made together, more nodes and output than there was room for, runs over several batches."""
    text = SCHEMA + (
        "SUBSCRIBE m FROM s PER k MATCH a , b+ , c DEFINE b AS n > 0, c AS n <= 0 "
        "RETURN count(b) AS c, sum(b.v) AS s, max(b.n) AS h;"
    )
    chance = random.Random(3)
    events = _events(chance, 6000)
    for event in events:
        event["n"] = 0 if chance.random() < 0.01 else chance.randint(1, 5)
    monkeypatch.setattr(time_slices, "FIRST_SLICE", len(events))  # all events of a batch at once
    both = EnginePair(text, {"s": events})
    plain = comparable_rows(both.embedded())
    used = _used(monkeypatch, lambda: True)
    assert len(plain) > 2000
    assert comparable_rows(both.embedded()) == plain
    assert comparable_rows(both.embedded_in_batches(both.cut_at([100, 2500, 2501, 4000]))) == plain
    assert used["batches"] == 6


def test_limits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where so many events could be too many partial matches, each is looked at by itself."""
    used = _used(monkeypatch, lambda: True)
    text = SCHEMA + "SUBSCRIBE m FROM s MATCH a , b+ , c DEFINE b AS n > 0, c AS n <= 0;"
    engine = ft.Engine(text, limits=ft.Limits(lane=20))
    engine.push("s", [{"time": i, "k": 0, "v": 0.0, "n": 1, "word": ""} for i in range(50)])
    assert engine.refused == (("m", {}),)
    assert not used

"""The index of runs that carry rows: an event that visits those whose profile it satisfies makes the matches of one
that visits all, with many rows, while rows come and go and the engine is stopped and restored."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from foretell.engine import Engine
from foretell.events.ingest.typed_table import arrow_schema
from foretell.events.types import Type
from foretell.filter.optimisations import Optimisations, with_optimisations
from foretell.machine.exec.limits import Limits
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.plan.lower.row_levels import RowLevels
from tests.engine_pair import comparable_rows

Rows = list[dict[str, Any]]

TYPES = arrow_schema({"id": Type.INT, "k": Type.STRING, "n": Type.INT, "x": Type.FLOAT})

#: Templates, and at how many states their runs are found by profiles.
TEMPLATES = {
    "MATCH a ;{k = :k} b ;{k = :k} c DEFINE a AS n = :n, b AS x > :x, c AS n <> 3 WITHIN 15": 2,
    "MATCH a ;{k = :k AND x > :x} b ;{k = :k AND x > :x} c DEFINE a AS k = :k AND x > :x WITHIN 12": 2,
    "PER p MATCH a ;{n = :n} b+ ;{n = :n} c DEFINE a AS k = :k, b AS x > prev.x, c AS x < :x WITHIN 40": 2,
    "MATCH a ;{k = :k} b* ;{k = :k} c DEFINE a AS n = :n AND x > :x, c AS n = 2 WITHIN 25 RETURN count(b) AS many": 2,
    "MATCH a ; b DEFINE a AS n = :n AND k = :k, b AS x < :x WITHIN 8": 1,
    "PER p MATCH a ; b DEFINE a AS n = :n, b AS x < :x AND k = :k AND n > a.n WITHIN 30": 1,
    "MATCH a ; b ; c DEFINE a AS n = :n AND k = :k AND x > :x, b AS n = :n, c AS x > :x WITHIN 9": 2,
    "MATCH a ; !b ; c DEFINE a AS n = :n AND x > :x, b AS k = :k, c AS n > a.n WITHIN 9": 0,
    "MATCH a ; !b ; c DEFINE a AS n = :n AND x > :x, b AS k = :k, c AS k = :k WITHIN 9": 1,
    "MATCH a ;{k = :k AND p = a.p} b ;{k = :k AND p = a.p} c DEFINE a AS n = :n WITHIN 60": 2,
    "MATCH a ; (b | c) DEFINE a AS n = :n AND x > :x, b, c AS k = :k WITHIN 6": 1,
    "MATCH a ;{k = :k} (b & c) DEFINE a AS n = :n, b AS x > :x, c AS x < :x WITHIN 12": 3,
    "MATCH a ;{n = :n} b DEFINE a AS k = :k AND x > :x AND n = 1, b AS p = a.p": 1,
}


def table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, TYPES)


class Script:
    """Changes and events at random."""

    def __init__(self, seed: int, template: str) -> None:
        self.chance = Random(seed)
        ties = " TIES SIMULTANEOUS" if self.chance.random() < 0.3 and "a.p" not in template else ""
        stream = f"STREAM s (k STRING, n INT, x FLOAT, p INT, t INT, nr INT) TIME t ID nr{ties};"
        self.text = f"{stream} SUBSCRIBE m FOR EACH people FROM s {template};"
        self.time, self.number, self.ids, self.present = 0, 0, 0, list[int]()
        self.first = self.new_rows(120)

    def new_rows(self, count: int) -> Rows:
        chance, first = self.chance, self.ids
        self.ids += count
        self.present += range(first, self.ids)
        return [
            {
                "id": row_id,
                "k": chance.choice(["a", "b", "c", "d", None]),
                "n": chance.choice([0, 1, 2, 3, None]),
                "x": chance.choice([0.1, 0.3, 0.5, 0.7, 0.9, None]),
            }
            for row_id in range(first, self.ids)
        ]

    def events(self, count: int) -> Rows:
        chance, rows = self.chance, Rows()
        for _ in range(count):
            self.time += chance.choice([0, 1, 1, 2])
            self.number += 1
            values = {"k": chance.choice("abcde"), "n": chance.randint(0, 4), "x": chance.random()}
            rows.append({**values, "p": chance.randint(0, 5), "t": self.time, "nr": self.number})
        return rows

    def steps(self) -> Iterator[tuple[str, Any]]:
        """What is done, one after the other."""
        for _ in range(14):
            chance = self.chance.random()
            if chance < 0.15:
                yield "add", self.new_rows(self.chance.choice([1, 5, 40]))
            elif chance < 0.3 and self.present:
                gone = self.chance.sample(self.present, min(len(self.present), self.chance.choice([1, 4, 60])))
                self.present = [row_id for row_id in self.present if row_id not in gone]
                yield "remove", gone
            elif chance < 0.4:
                yield "restore", None
            else:
                yield "push", self.events(self.chance.choice([1, 3, 30, 80]))


def found(seed: int, template: str, *, instances: bool, limits: Limits | None = None) -> tuple[list[Any], Engine]:
    """What an engine tells of a script, with the index or without."""
    script, told = Script(seed, template), list[Any]()
    with with_optimisations(Optimisations(instances=instances)):
        engine = Engine(script.text, tables={"people": table(script.first)}, limits=limits or Limits())
        for what, given in script.steps():
            if what == "add":
                engine.add_rows("people", table(given))
            elif what == "remove":
                engine.remove_rows("people", given)
            elif what == "restore":
                engine = Engine.restore(None, engine.snapshot(), limits=limits or Limits())
            else:
                told.append(comparable_rows(engine.push("s", given)))
    return told, engine


def levels(engine: Engine) -> RowLevels:
    executor = executor_of(engine)
    assert executor.rows is not None
    return executor.rows.levels


def executor_of(engine: Engine) -> NfaExecutor:
    pipeline = engine._deployment.pipeline
    assert pipeline is not None
    (executor,) = [group.executor for groups in pipeline.runtime.groups.values() for group in groups.nfa_groups]
    assert isinstance(executor, NfaExecutor)
    return executor


@pytest.mark.parametrize("template", TEMPLATES)
def test_an_event_that_visits_few_makes_the_matches_of_one_that_visits_all(template: str) -> None:
    assert agree(template, range(3)) > 0


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("template", TEMPLATES)
def test_they_make_the_same_matches_for_long(template: str) -> None:
    assert agree(template, range(1_000, 1_200)) > 1_000


def agree(template: str, seeds: range) -> int:
    count = 0
    for seed in seeds:
        few, engine = found(seed, template, instances=True)
        every, _ = found(seed, template, instances=False)
        assert few == every, (seed, template)
        assert len(levels(engine).index.value) == TEMPLATES[template]
        count += sum(map(len, few))
    return count


def test_partial_matches_that_no_event_visits_are_freed() -> None:
    """They neither fill the pool nor count for the limit of a lane."""
    text = """STREAM s (k STRING, n INT, t INT) TIME t;
    SUBSCRIBE m FOR EACH people FROM s MATCH a ;{k = :k} b DEFINE a AS n = :n WITHIN 5;"""
    rows = [{"id": number, "k": f"k{number}", "n": 0} for number in range(10)]
    engine = Engine(text, tables={"people": rows}, limits=Limits(lane=70))
    for first in range(0, 2_000, 100):
        engine.push("s", [{"k": "other", "n": 0, "t": time} for time in range(first, first + 100)])
        assert executor_of(engine).alive <= 130
    assert [(n.id, n.start) for n in engine.push("s", [{"k": "k3", "n": 1, "t": 2_000}])] == [
        (3, time) for time in range(1_995, 2_000)
    ]
    assert not engine.stopped_lanes

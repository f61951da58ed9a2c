"""Many statements that begin alike: together they notify of what each notifies of alone."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from foretell.engine import Engine
from foretell.machine.exec import run_pool
from foretell.plan import prefix_sharing
from tests.engine_pair import comparable_rows

STREAM = "STREAM s (time INT, k INT, v INT) TIME time;\n"
CONDITIONS = ("k = 0", "k = 1", "k = 2", "v > 3", "k = $x", "")
DYNAMIC = ("v > {0}.v", "k = {0}.k AND v >= {0}.v")
OPERATORS = (",", ";", ";{v > 2}", ";{k = 1}")


def statement(name: str, chance: random.Random) -> str:
    """A sequence of two to five steps, of which the first few are often those of others."""
    count = chance.randint(2, 5)
    steps = [f"{chance.choice('abc')}{n}" for n in range(count)]  # names do not matter
    pattern, define = steps[0], []
    alike = random.Random(chance.randint(0, 1))
    for n, step in enumerate(steps):
        source = alike if n < 2 else chance
        condition = source.choice(CONDITIONS)
        if n and chance.random() < 0.2:
            condition = chance.choice(DYNAMIC).format(steps[n - 1])
        operator = source.choice(OPERATORS)
        if n:
            pattern += f" {operator} {step}{'+' if chance.random() < 0.1 else ''}"
        if condition:
            define.append(f"{step} AS {condition}")
    clauses = f" DEFINE {', '.join(define)}" if define else ""
    return f"SUBSCRIBE {name} FROM s MATCH {pattern}{clauses} WITHIN {chance.choice((4, 9))};"


def events(chance: random.Random, count: int) -> list[dict[str, Any]]:
    times = sorted(chance.randint(0, count) for _ in range(count))
    return [{"time": time, "k": chance.randint(0, 2), "v": chance.randint(0, 5)} for time in times]


#: An engine that keeps it goes on to number events while it has no other statement.
KEEPER = "SUBSCRIBE keeper FROM s MATCH a , b DEFINE a AS k = 9;\n"


def pushed(engine: Engine, rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(comparable_rows(engine.push("s", rows)))


@pytest.fixture(params=[(64, 1_024, 64), (4, 1_024, 0), (4, 12, 0)], ids=str)
def _limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    most_states, most_alike, most_visited = request.param
    monkeypatch.setattr(prefix_sharing, "MOST_STATES", most_states)
    monkeypatch.setattr(prefix_sharing, "MOST_ALIKE", most_alike)
    monkeypatch.setattr(run_pool, "MOST_VISITED", most_visited)


@pytest.mark.usefixtures("_limits")
@pytest.mark.parametrize("seed", range(4))
def test_together_as_alone(seed: int) -> None:
    """Also where statements leave and join while it runs, and where the engine is stopped and restored."""
    chance = random.Random(seed)
    texts = {f"s{n}": statement(f"s{n}", chance) for n in range(16)}
    first = list(texts)[:12]
    together = Engine(STREAM + KEEPER + "\n".join(texts[name] for name in first))
    alone = {name: Engine(STREAM + KEEPER + texts[name]) for name in first}
    rows, found, expected = events(chance, 60), Counter[Any](), Counter[Any]()
    for begin in range(0, len(rows), 15):
        batch = rows[begin : begin + 15]
        found += pushed(together, batch)
        for engine in alone.values():
            expected += pushed(engine, batch)
        if begin == 15:
            for name in chance.sample(first, 4):
                together.unsubscribe(name)
                del alone[name]
            together = Engine.restore(None, together.snapshot())
            assert not together.fresh
            for name in [name for name in texts if name not in alone][:6]:
                together.subscribe(texts[name])
                alone[name] = Engine(STREAM + KEEPER)
                alone[name].push("s", rows[: begin + 15])
                alone[name].subscribe(texts[name])
    assert found == expected
    assert found

"""Patterns with many alternatives: the engine reserves room for the edges that an event takes, not for all."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.machine.exec.limits import Limits
from foretell.machine.exec.nfa_executor import NfaExecutor

WIDTH, WAITING, TAKEN = 60, 2_000, 3
STREAM = "STREAM s (k STRING, time INT) TIME time;"


def text(operator: str, first: str, after: str) -> str:
    """`x ; (a0 ; c0 | a1 ; c1 | …)`: a run that waits after x has an edge for each alternative."""
    sides = " | ".join(f"(a{i} {operator} c{i})" for i in range(WIDTH))
    steps = ", ".join(f"a{i} AS k = 'a{i}', c{i} AS k = 'c{i}'" for i in range(WIDTH))
    return f"{STREAM} SUBSCRIBE m FROM s MATCH {first} {operator} ({sides}) DEFINE x AS k = 'x', {steps} {after};"


@pytest.mark.parametrize(
    ("operator", "first", "after", "found"),
    [
        (";", "x", "", TAKEN * WAITING),
        (";", "x", "AFTER MATCH LONGEST", 1),
        (",", "x+<,>", "", 1),
    ],
)
def test_alternatives_that_no_event_takes_need_no_memory(operator: str, first: str, after: str, found: int) -> None:
    """Room for every alternative of every run would take 2,000 · 60 rows of a kilobyte."""
    engine = ft.Engine(text(operator, first, after), limits=Limits(memory="64 MiB"))
    names = ["x"] * WAITING + [f"{letter}{i}" for i in range(TAKEN) for letter in "ac"]
    if operator == ",":
        names = (["x"] * 8 + ["a7"]) * (WAITING // 9) + ["x", "a7", "c7"]
    pushed = engine.push("s", [{"time": time, "k": name} for time, name in enumerate(names)])
    assert (engine.refused, len(pushed) + len(engine.end())) == ((), found)


def test_the_pool_has_room_for_what_an_event_takes() -> None:
    engine = ft.Engine(text(";", "x", ""))
    engine.push("s", [{"time": time, "k": "x"} for time in range(20_000)])
    pipeline = engine._deployment.pipeline
    assert pipeline is not None
    (executor,) = [group.executor for groups in pipeline.runtime.groups.values() for group in groups.nfa_groups]
    assert isinstance(executor, NfaExecutor)
    assert executor.alive == 20_000
    assert len(executor.pool.cells) <= 100_000

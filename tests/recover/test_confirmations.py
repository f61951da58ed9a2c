"""Estimates that late events confirm or withdraw, and those of which somebody knows the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.events.notification import Notification
from tests.recover.estimate_programs import (
    ESTIMATE_MODEL,
    ESTIMATES,
    EstimateProgram,
    estimate_events,
    estimate_program,
    exponential,
    wide_program,
)
from tests.recover.late_programs import LateProgram, late_program

Rows = list[tuple[Any, ...]]


def rows(notifications: Iterable[Notification]) -> Rows:
    """In any order, and without the probabilities of estimates, which are those of tables."""
    return sorted(
        (n.subscription, n.kind, n.start, n.end, n.kind == "estimate" or n.probability, *map(str, (n.id, n.events, n.key, n.bindings)))
        for n in notifications
    )  # fmt: skip


def pushed(program: LateProgram, random: Random) -> list[Notification]:
    """As the events come, some of them after a snapshot was restored."""
    engine, found = program.engine(), list[Notification]()
    for push in program.pushes:
        found += engine.push("s", push.events) if push.now is None else engine.advance(push.now)
        if random.random() < 0.3:
            engine = ft.Engine.restore(None, engine.snapshot())
    return [*found, *engine.advance(program.program.until)]


def agrees(
    seeds: Iterable[int], most: int, made: Callable[[Random, int], EstimateProgram] = estimate_program
) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        program = late_program(random, made(random, most))
        expected = rows(program.expected)
        assert rows(pushed(program, random)) == expected, (seed, program)
        kinds.update(row[1] for row in expected)
    return kinds

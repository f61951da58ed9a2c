"""Checks of random programs against the reference evaluator: "never" is never wrong, and a match is a replayed one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import foretell as ft
from foretell.check.answer import Truth
from foretell.check.deadline import Deadline
from foretell.check.subscriptions.match_search import MatchSearch
from foretell.language.checked import CheckedSubscription
from tests.engine_pair import EnginePair
from tests.properties.patterns import Case, Chance, case


def _pair(trial: Case) -> EnginePair | None:
    try:
        return EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
    except ft.ForetellError:
        return None


def _checks(seeds: range, least: int) -> None:
    answers: Counter[Truth] = Counter()
    for seed in seeds:
        trial = case(Chance(random.Random(seed).randint))
        pair = _pair(trial)
        if pair is None:
            continue
        bound: dict[str, set[str]] = {}
        for notification in pair.reference():
            found = (step for step, events in notification.events.items() if events not in (None, []))
            bound.setdefault(notification.subscription, set()).update(found)
        for statement in pair.checked.statements:
            if not isinstance(statement, CheckedSubscription) or statement.uncertain or not statement.positive:
                continue
            search = MatchSearch(statement, pair.checked)
            for step in (None, statement.positive[-1]):
                answer = search.match(Deadline(5), step).answer
                answers[answer.truth] += 1
                matched = statement.name in bound if step is None else step in bound.get(statement.name, ())
                assert not (matched and answer.truth is Truth.NO), f"{trial}\n{statement.name} {step}"
    assert answers[Truth.YES] > least, answers
    assert answers[Truth.UNKNOWN] * 3 < answers[Truth.YES], answers


@pytest.mark.parametrize("first", [0, 100, 200])
def test_random_programs(first: int) -> None:
    _checks(range(first, first + 25), 10)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1_000, 5_000, 250))
def test_many_random_programs(first: int) -> None:
    _checks(range(first, first + 250), 100)

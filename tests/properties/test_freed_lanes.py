"""Lanes and texts that are freed after every batch: the rows are the same, also where they are read long after."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

import foretell as ft
from foretell.engine.planning import start_runtime
from foretell.events.notification import Notification
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.matches.notification_order import notifications_of
from foretell.machine.runtime import MatchRuntime
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties.patterns import Case, Chance, case, case_of_lanes
from tests.properties.test_dynamic_subscriptions import finished, restored, script


@pytest.fixture(autouse=True)
def frees_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaneIndex, "crowded", True)
    monkeypatch.setattr(StringDictionary, "crowded", True)
    monkeypatch.setattr("foretell.machine.runtime.LOOK_AGAIN", 0)


def _named(trial: Case) -> Case:
    """With an ID for each event: without one, its number in the lane would name it."""
    number = iter(range(1_000_000))
    streams = {n: [{**row, "id": next(number)} for row in rows] for n, rows in trial.streams.items()}
    return Case(_with_id(trial.text), streams, trial.tables, trial.until, trial.time)


def _with_id(text: str) -> str:
    def declared(stream: re.Match[str]) -> str:
        name, columns, time = stream.groups()
        return (
            stream[0]
            if " ID id" in stream.string[stream.start() :].split(";")[0]
            else (f"STREAM {name} ({columns}, id INT) TIME {time} ID id")
        )

    return re.sub(r"STREAM (\w+) \((.*)\) TIME (\w+)", declared, text)


def _in_batches(both: EnginePair, cuts: list[int]) -> tuple[list[Notification], MatchRuntime]:
    """All results are read at the end."""
    runtime, results = start_runtime(both.checked, both.given), []
    batches = both.cut_at(cuts)
    for number, batch in enumerate(batches, 1):
        ends = number == len(batches)
        results.append(runtime.process(batch, both.until if ends else None, ends=ends))
    return [notification for found in results for notification in notifications_of(found)], runtime


def _freed(runtime: MatchRuntime) -> tuple[int, int]:
    """The number of lanes and of texts that were freed."""
    lanes = sum(group.stream.lanes.begun - group.stream.lanes.used for group in runtime.groups.values())
    return lanes, len(runtime.strings) - runtime.strings.used


def _agrees(trial: Case, cuts: list[int]) -> tuple[int, int]:
    """The number of lanes and of texts that were freed."""
    trial = _named(trial)
    try:
        both = EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
        whole = both.embedded()
    except ft.ForetellError:
        return 0, 0
    pieces, runtime = _in_batches(both, cuts)
    assert Counter(comparable_rows(pieces)) == Counter(comparable_rows(whole)), trial
    return _freed(runtime)


def test_random_programs() -> None:
    freed = [_agrees(case(Chance(random.Random(seed).randint)), list(range(31))) for seed in range(60)]
    assert sum(lanes > 0 for lanes, _ in freed) > 5
    assert sum(texts > 0 for _, texts in freed) > 10


@pytest.mark.parametrize("part", range(2))
def test_many_lanes(part: int) -> None:
    freed = []
    for seed in range(30 * part, 30 * part + 30):
        trial = case_of_lanes(Chance(random.Random(seed).randint), 12, most_events=9)
        freed.append(_agrees(trial, random.Random(seed).sample(range(100), 30)))
    assert sum(lanes > 0 for lanes, _ in freed) > 5


def test_engines_that_are_stopped_after_every_batch() -> None:
    """They free what one does not that goes on without freeing."""
    found = 0
    for seed in range(25):
        chance = Chance(random.Random(seed).randint)
        trial = script(_named(case(chance)), chance)
        try:
            whole, freeing = trial.engine(), trial.engine()
            for stream, rows in trial.pushes:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(LaneIndex, "crowded", False)
                    patch.setattr(StringDictionary, "crowded", False)
                    separate = comparable_rows(whole.push(stream, rows))
                freeing = restored(freeing)
                assert comparable_rows(freeing.push(stream, rows)) == separate, (seed, trial)
                found += len(separate)
        except ft.ForetellError:
            continue
        assert finished(restored(freeing), trial) == finished(whole, trial), (seed, trial)
    assert found > 25


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(8))
def test_many_lanes_for_long(part: int) -> None:
    for seed in range(2000 * part, 2000 * part + 2000):
        trial = case_of_lanes(Chance(random.Random(seed).randint), 16, most_events=9)
        _agrees(trial, random.Random(seed).sample(range(140), 40))
        _agrees(case(Chance(random.Random(seed).randint)), list(range(31)))

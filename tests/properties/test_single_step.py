"""Single-step detection changes no result: every predicate of a later step is evaluated only where a match waits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

import foretell as ft
from foretell.machine.exec import active_set
from foretell.plan import strategy
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties.patterns import Chance, case, case_of_lanes
from tests.properties.test_dynamic_subscriptions import finished, restored, scripts
from tests.properties.test_random_programs import _both


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """However cheap the predicates are, and however many events they are needed for."""
    monkeypatch.setattr(strategy, "PARTIAL_EVALUATION", -1.0)
    monkeypatch.setattr(active_set, "LARGE_PART", 1.0)


def _pairs(seeds: range) -> Iterator[tuple[EnginePair, random.Random]]:
    for seed in seeds:
        chance = random.Random(seed)
        both = _both(case(Chance(chance.randint)))
        if both is not None:
            yield both, chance


@pytest.mark.parametrize("part", range(3))
def test_random_programs_say_what_the_reference_says(part: int) -> None:
    for both, chance in _pairs(range(10_000 + 120 * part, 10_000 + 120 * part + 120)):
        whole = comparable_rows(both.embedded())
        assert whole == comparable_rows(both.reference()), both.text
        cuts = [chance.randint(0, 30) for _ in range(chance.randint(1, 8))]
        assert Counter(comparable_rows(both.embedded_in_batches(both.cut_at(cuts)))) == Counter(whole), both.text


def test_lanes_open_and_close_apart() -> None:
    for seed in range(20_000, 20_120):
        trial = case_of_lanes(Chance(random.Random(seed).randint), 8)
        try:
            both = EnginePair(trial.text, trial.streams, until=trial.until)
        except ft.ForetellError:
            continue
        whole = comparable_rows(both.embedded())
        assert whole == comparable_rows(both.reference()), both.text
        alone = both.embedded_in_batches(both.cut_at(range(0, 60, 7)))
        assert Counter(comparable_rows(alone)) == Counter(whole), both.text


def test_a_snapshot_may_come_between() -> None:
    for seed, trial in scripts(range(60)):
        whole, parts = trial.engine(), trial.engine()
        expected: list[object] = []
        found: list[object] = []
        for number, (stream, rows) in enumerate(trial.pushes):
            expected += comparable_rows(whole.push(stream, rows))
            found += comparable_rows(parts.push(stream, rows))
            if (number + seed) % 3 == 0:
                parts = restored(parts)
        assert found + finished(parts, trial) == expected + finished(whole, trial), trial.text

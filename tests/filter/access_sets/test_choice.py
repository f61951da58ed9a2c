"""The planner's choices: what it goes by, and what `summary` says of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from foretell.arrays import Floats
from foretell.events.types import Type
from foretell.filter import planned_index
from foretell.filter.access_sets.access_set_index import AccessSetIndex
from foretell.filter.column import Column, no_nulls
from foretell.filter.planned_index import PlannedIndex
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import PlainProfileIndex, ProfileComparison
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Attribute, This

STRINGS = StringDictionary()


def compared(name: str, operator: str, parameter: str, kind: Type = Type.FLOAT) -> ProfileComparison:
    return ProfileComparison(Attribute(This(), name), kind, operator, parameter)


def floats(values: Floats) -> Column:
    return Column(Type.FLOAT, values, no_nulls(len(values)))


def batch_of(columns: Mapping[str, Column]) -> EventColumns:
    kinds = {name: column.kind for name, column in columns.items()}
    when = Column(Type.INT, np.arange(len(next(iter(columns.values())).values)), next(iter(columns.values())).nulls)
    return EventColumns(columns, kinds, when, when, when)


def test_groups_are_planned_again_for_the_events_that_come() -> None:
    """Nearly all events reach the threshold of y and nearly none that of x: all profiles are sorted by x then."""
    chance = np.random.default_rng(1)
    conjuncts = [compared("x", ">", "x"), compared("y", ">", "y")]
    parameters = {name: floats(chance.random(2_000)) for name in ("x", "y")}
    index, plain = PlannedIndex(conjuncts, parameters), PlainProfileIndex(conjuncts, parameters)
    first = batch_of({"x": floats(0.01 * chance.random(5_000)), "y": floats(1 - 0.01 * chance.random(5_000))})
    found = index.match(first, STRINGS)
    before = index.summary
    assert "no equality by y" in before
    again = index.match(first, STRINGS)
    assert "no equality by y" not in index.summary
    assert "no equality by x: 2,000" in index.summary
    assert candidates(index.summary) < 0.1 * candidates(before)
    assert again.profiles.tolist() == found.profiles.tolist() == plain.match(first, STRINGS).profiles.tolist()


def candidates(summary: str) -> float:
    """The counted candidates of an event."""
    return float(summary.split(" candidates")[0].rsplit(" ", 1)[1].replace(",", ""))


def boxes(chance: np.random.Generator, count: int) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for name in ("x", "y", "z"):
        begin = 0.9 * chance.random(count)
        columns |= {f"{name}_from": floats(begin), f"{name}_to": floats(begin + 0.1)}
    return columns


BOXES = [c for n in ("x", "y", "z") for c in (compared(n, ">=", f"{n}_from"), compared(n, "<=", f"{n}_to"))]


def test_a_tree_serves_profiles_of_ranges_until_they_change() -> None:
    chance = np.random.default_rng(1)
    parameters = boxes(chance, 100)
    index, plain = PlannedIndex(BOXES, parameters), PlainProfileIndex(BOXES, parameters)
    batch = batch_of({name: floats(chance.random(20_000)) for name in ("x", "y", "z")})
    expected = plain.match(batch, STRINGS).profiles.tolist()
    for _ in range(10):
        assert index.match(batch, STRINGS).profiles.tolist() == expected
    assert index.summary.startswith("profile tree over ")
    assert "access sets would take" in index.summary
    wanted = chance.random(20_000) < 0.5
    assert index.match(batch, STRINGS, wanted).offsets.tolist() == plain.match(batch, STRINGS, wanted).offsets.tolist()
    more = boxes(chance, 10)
    assert index.add(more).tolist() == plain.add(more).tolist()
    assert index.summary.startswith("access sets: ")
    assert index.match(batch, STRINGS).profiles.tolist() == plain.match(batch, STRINGS).profiles.tolist()


def test_a_tree_that_would_be_too_large_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_index, "_MOST_MEMBERS", 100)
    chance = np.random.default_rng(1)
    index = PlannedIndex(BOXES, boxes(chance, 100))
    batch = batch_of({name: floats(chance.random(20_000)) for name in ("x", "y", "z")})
    for _ in range(10):
        index.match(batch, STRINGS)
    assert index.summary.startswith("access sets: ")
    assert "a profile tree would have about" in index.summary


def test_few_groups_serve_few_profiles_and_more_serve_many() -> None:
    """Three equalities out of six: ten thousand profiles are worth a look-up for each pair, a hundred are not."""
    chance = np.random.default_rng(1)
    names = [f"a{k}" for k in range(6)]
    conjuncts = [ProfileComparison(Attribute(This(), name), Type.INT, "=", name, waived_by=name) for name in names]
    groups = []
    for count in (100, 100_000):
        chosen = np.argsort(chance.random((count, 6)), axis=1) < 3
        values = chance.integers(0, 100, (6, count))
        parameters = {name: Column(Type.INT, values[k], ~chosen[:, k]) for k, name in enumerate(names)}
        index = AccessSetIndex(conjuncts, parameters)
        index.match(batch_of({name: Column(Type.INT, values[0], no_nulls(count)) for name in names}), STRINGS)
        groups.append(sum(len(generation.plan.access) for generation in index.generations))
    assert groups[0] <= 6 < groups[1]

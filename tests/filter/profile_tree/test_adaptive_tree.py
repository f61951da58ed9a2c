"""Drift is noticed, the tree is rebuilt beside the running one, and matches stay those of naive evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.profile_tree.adaptive_tree import AdaptationSettings, AdaptiveProfileTree
from foretell.filter.profile_tree.conditions import equal
from foretell.filter.profile_tree.drift import drift
from foretell.filter.profile_tree.event_distribution import IndependentDistribution, JointDistribution
from foretell.filter.profile_tree.profiles import AttributeDomain, ProfileSet
from foretell.filter.profile_tree.tree import ProfileTree, build_tree
from foretell.filter.profile_tree.value_order import ValueOrder
from foretell.filter.string_dictionary import StringDictionary
from tests.filter.profile_tree.random_profiles import (
    columns_of,
    events_over,
    naive_matches,
    nothing_known,
    profile_set,
    profiles_over,
    some_domains,
)

DOMAINS = (AttributeDomain("x", Type.INT), AttributeDomain("y", Type.INT))
PROFILES = ProfileSet.of(DOMAINS, [{"x": equal(n), "y": equal(n)} for n in range(20)])
QUICK = AdaptationSettings(sample_events=2000, half_life=2000, check_events=1000)


def columns(x: np.ndarray, y: np.ndarray) -> list[Column]:
    return [Column(Type.INT, values, no_nulls(len(values))) for values in (x, y)]


def peaked(chance: np.random.Generator, at: int, count: int = 500) -> np.ndarray:
    """Nine of ten values are `at`."""
    return np.where(chance.random(count) < 0.9, at, chance.integers(0, 20, count))


def test_a_tree_follows_the_events() -> None:
    chance = np.random.default_rng(1)
    tree = AdaptiveProfileTree(PROFILES, settings=QUICK)
    binary = build_tree(PROFILES, nothing_known(2), measure=ValueOrder.BINARY)
    for at in (3, 17):
        for _ in range(40):
            tree.match(columns(peaked(chance, at), peaked(chance, at)), 500)
        events = columns(peaked(chance, at), peaked(chance, at))
        assert operations(tree.tree, events) < 0.85 * operations(binary, events)
    assert tree.checks == 40
    assert 2 <= tree.swaps <= 4


def operations(tree: ProfileTree, events: list[Column]) -> int:
    counts = tree.count_operations(*tree.keys(events, len(events[0].values)))
    return int((counts.successes + counts.misses).sum())


def test_a_tree_follows_values_that_depend_on_one_another() -> None:
    """Each attribute by itself stays uniform: only the cost shows that something has changed."""
    chance = np.random.default_rng(6)
    pairs = [{"x": equal(x), "y": equal(y)} for x in range(20) for y in range(20)]
    tree = AdaptiveProfileTree(
        ProfileSet.of(DOMAINS, pairs), settings=replace(QUICK, check_events=2000, most_drift=0.15)
    )
    swaps = []
    for mirrored in (False, True):
        for _ in range(40):
            x = chance.integers(0, 20, 500)
            tree.match(columns(x, 19 - x if mirrored else x), 500)
        swaps.append(tree.swaps)
        assert tree.drift() < 0.15
        assert tree.tree.expected_under(tree.sampled()).successes[1] < 2.0  # binary search takes 3.7
    assert swaps[1] > swaps[0] > 0


def test_events_that_stay_the_same_rebuild_nothing() -> None:
    chance = np.random.default_rng(2)
    tree = AdaptiveProfileTree(PROFILES, settings=QUICK)
    for _ in range(100):
        tree.match(columns(peaked(chance, 3), peaked(chance, 5)), 500)
    assert (tree.checks, tree.swaps) == (50, 1)


def test_events_that_cost_nothing_at_first() -> None:
    """A tree for NULLs alone expects no operations; any operation is more than expected."""
    nulls = JointDistribution.of(np.zeros((2, 10), np.int64), np.ones((2, 10), np.bool_))
    tree = AdaptiveProfileTree(PROFILES, nulls, settings=QUICK)
    assert (tree.tree.expected.total, tree.cost()) == (0, 1)
    tree.match(columns(np.array([3]), np.array([3])), 1)
    assert tree.cost() == math.inf


def test_batches_without_events() -> None:
    tree = AdaptiveProfileTree(PROFILES, settings=replace(QUICK, check_events=1))
    nothing = np.zeros(0, np.int64)
    for _ in range(3):
        assert tree.match(columns(nothing, nothing), 0).offsets.tolist() == [0]
    assert tree.match(columns(np.array([3]), np.array([3])), 1).profiles.tolist() == [3]
    assert tree.match(columns(nothing, nothing), 0).offsets.tolist() == [0]


class Deferred(Executor):
    """Runs what it was given when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, fn, args))
        return future

    def run(self) -> None:
        for future, function, arguments in self.waiting:
            future.set_result(function(*arguments))
        self.waiting.clear()


def test_the_running_tree_goes_on_while_another_is_built() -> None:
    chance, executor = np.random.default_rng(3), Deferred()
    tree = AdaptiveProfileTree(PROFILES, settings=QUICK, executor=executor)
    before = tree.tree
    for _ in range(10):
        tree.match(columns(peaked(chance, 3), peaked(chance, 3)), 500)
    assert len(executor.waiting) == 1  # and not one for each check
    assert tree.tree is before
    executor.run()
    assert tree.tree is before
    tree.match(columns(peaked(chance, 3), peaked(chance, 3)), 500)
    assert tree.tree is not before
    assert tree.swaps == 1


def test_a_rebuild_can_be_waited_for() -> None:
    chance = np.random.default_rng(4)
    with ThreadPoolExecutor(1) as executor:
        tree = AdaptiveProfileTree(PROFILES, settings=QUICK, executor=executor)
        for _ in range(2):
            tree.match(columns(peaked(chance, 3), peaked(chance, 3)), 500)
        tree.finish()
        tree.finish()  # there is none any more
    assert tree.swaps == 1


def batches(data: st.DataObject, domains: list[AttributeDomain]) -> Iterator[list[Any]]:
    for _ in range(data.draw(st.integers(1, 5))):
        yield data.draw(st.lists(events_over(domains), min_size=1, max_size=6))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_swaps_change_no_match(data: st.DataObject) -> None:
    domains = data.draw(some_domains())
    profiles = data.draw(st.lists(profiles_over(domains), max_size=6))
    strings = StringDictionary()
    quick = AdaptationSettings(sample_events=8, half_life=4, check_events=2, most_drift=0.0, least_gain=0.0)
    tree = AdaptiveProfileTree(profile_set(domains, profiles, strings), settings=quick)
    for events in batches(data, domains):
        found = tree.match(columns_of(domains, events, strings), len(events))
        parts = np.split(found.profiles, found.offsets[1:-1])
        assert [part.tolist() for part in parts] == [naive_matches(profiles, event) for event in events]


# ── drift ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def known(**weights: dict[float | None, float]) -> IndependentDistribution:
    return IndependentDistribution.of(DOMAINS, [weights["x"], weights["y"]])


def test_drift_is_the_largest_total_variation() -> None:
    before = known(x={1: 0.5, 2: 0.5}, y={1: 1})
    assert drift(PROFILES, before, before) == 0
    assert drift(PROFILES, before, known(x={1: 0.25, 2: 0.75}, y={1: 1})) == pytest.approx(0.25)
    assert drift(PROFILES, before, known(x={1: 0.25, 2: 0.75}, y={1: 0.6, None: 0.4})) == pytest.approx(0.4)


def test_values_that_no_profile_distinguishes_do_not_drift() -> None:
    assert drift(PROFILES, known(x={-5: 1}, y={1: 1}), known(x={-1: 1}, y={1: 1})) == 0


def test_a_tree_built_for_nothing_has_drifted() -> None:
    assert drift(PROFILES, nothing_known(2), known(x={1: 1}, y={1: 1})) == 1


def test_samples_of_one_distribution_hardly_drift() -> None:
    chance = np.random.default_rng(5)
    found = []
    for _ in range(50):
        samples = [chance.integers(0, 20, (2, 400)) for _ in range(2)]
        joint = [JointDistribution.of(keys, np.zeros(keys.shape, np.bool_)) for keys in samples]
        found.append(drift(PROFILES, *joint))
    assert max(found) < 0.08  # by chance alone they differ by 0.12

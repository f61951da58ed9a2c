"""The expected number of operations is the number that evaluation counts, exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.events.types import Type
from foretell.filter.profile_tree.conditions import equal
from foretell.filter.profile_tree.event_distribution import IndependentDistribution, JointDistribution
from foretell.filter.profile_tree.expected_operations import ExpectedOperations
from foretell.filter.profile_tree.profiles import AttributeDomain, ProfileSet
from foretell.filter.profile_tree.tree import OperationCounts, build_tree
from foretell.filter.profile_tree.value_order import ValueOrder
from foretell.filter.string_dictionary import StringDictionary
from tests.filter.profile_tree.random_profiles import (
    DOMAINS,
    TEXTS,
    VALUES,
    columns_of,
    events_over,
    nothing_known,
    profile_set,
    profiles_over,
    some_domains,
)


def assert_equal(expected: ExpectedOperations, counted: OperationCounts, weights: np.ndarray) -> None:
    assert expected.expectation == pytest.approx(float(counted.successes @ weights), abs=1e-12)
    assert float(expected.misses.sum()) == pytest.approx(float(counted.misses @ weights), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_of_a_sample(data: st.DataObject) -> None:
    domains = data.draw(some_domains())
    strings = StringDictionary()
    profiles = profile_set(domains, data.draw(st.lists(profiles_over(domains), max_size=8)), strings)
    events = data.draw(st.lists(events_over(domains), min_size=1, max_size=10))
    weights = np.array([data.draw(st.integers(1, 9)) for _ in events]) / 1.0
    empty = nothing_known(len(domains))
    keys, nulls = build_tree(profiles, empty).keys(columns_of(domains, events, strings), len(events))
    sample = JointDistribution.of(keys, nulls, weights)
    tree = build_tree(profiles, sample, measure=data.draw(st.sampled_from(ValueOrder)))
    assert_equal(tree.expected, tree.count_operations(keys, nulls), sample.weights)
    sizes = np.diff(tree.match_keys(keys, nulls).offsets)
    assert tree.expected.matches == pytest.approx(float(sizes @ sample.weights), abs=1e-12)
    assert tree.nanoseconds > 0
    other = build_tree(profiles, empty, measure=tree.measure)
    assert_equal(other.expected_under(sample), other.count_operations(keys, nulls), sample.weights)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_of_independent_attributes(data: st.DataObject) -> None:
    """All events of the domains, each with the product of its values' probabilities."""
    domains = data.draw(some_domains())[:3]
    strings = StringDictionary(TEXTS)
    profiles = profile_set(domains, data.draw(st.lists(profiles_over(domains), max_size=8)), strings)
    of_attribute = [
        {value: data.draw(st.integers(0, 9)) + 1 for value in (None, *dict.fromkeys(VALUES[domain.kind]))}
        for domain in domains
    ]
    coded = [
        {strings.constant(v) if isinstance(v, str) else v: float(w) for v, w in weights.items()}
        for weights in of_attribute
    ]
    independent = IndependentDistribution.of(domains, coded)
    tree = build_tree(profiles, independent, measure=data.draw(st.sampled_from(ValueOrder)))
    combinations = list(itertools.product(*(weights.items() for weights in of_attribute)))
    names = [domain.name for domain in domains]
    events = [dict(zip(names, (value for value, _ in combination))) for combination in combinations]
    product = np.array([np.prod([weight for _, weight in combination]) for combination in combinations])
    keys, nulls = tree.keys(columns_of(domains, events, strings), len(events))
    assert_equal(tree.expected, tree.count_operations(keys, nulls), product / product.sum())
    sizes = np.diff(tree.match_keys(keys, nulls).offsets)
    assert tree.expected.matches == pytest.approx(float(sizes @ product) / product.sum())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_cheapest_is_not_dearer_than_any_other_order(data: st.DataObject) -> None:
    domains = [domain for domain in data.draw(some_domains()) if domain.kind is not Type.STRING] or [DOMAINS[0]]
    profiles = profile_set(domains, data.draw(st.lists(profiles_over(domains), max_size=8)), StringDictionary())
    weights = [{v: data.draw(st.integers(1, 9)) / 1.0 for v in (None, *VALUES[d.kind])} for d in domains]
    events = IndependentDistribution.of(domains, weights)
    totals = {measure: build_tree(profiles, events, measure=measure).expected.total for measure in ValueOrder}
    assert totals[ValueOrder.CHEAPEST] == pytest.approx(min(totals.values()))


def test_a_sample_orders_values_by_what_the_other_attributes_are() -> None:
    """Where `x` is 1, `y` mostly is 1 too; taken as independent each of its values is as likely as the other."""
    domains = [AttributeDomain(name, Type.INT) for name in "xy"]
    profiles = ProfileSet.of(domains, [{"x": equal(x), "y": equal(y)} for x in (1, 2) for y in (1, 2)])
    keys = np.array([[1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 2, 2, 2, 2, 1]])
    sample = JointDistribution.of(keys, np.zeros(keys.shape, np.bool_))
    dependent = build_tree(profiles, sample, measure=ValueOrder.V1)
    independent = build_tree(profiles, IndependentDistribution(sample.attributes), measure=ValueOrder.V1)
    assert dependent.expected.successes.tolist() == [1.5, 1.25]
    assert independent.expected.successes.tolist() == [1.5, 1.5]
    assert independent.expected_under(sample).successes.tolist() == [1.5, 1.5]


def test_a_node_that_few_sampled_events_reach_has_binary_search() -> None:
    """Of a thousand branches one event of the sample took the first; that says little of the next event."""
    profiles = ProfileSet.of(DOMAINS[:1], [{"a0": equal(n)} for n in range(1000)])
    seen = JointDistribution.of(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.bool_))
    assert build_tree(profiles, seen).branches.is_binary.tolist() == [True]
    often = JointDistribution.of(np.zeros((1, 1_000_000), np.int64), np.zeros((1, 1_000_000), np.bool_))
    assert build_tree(profiles, often).branches.is_binary.tolist() == [False]

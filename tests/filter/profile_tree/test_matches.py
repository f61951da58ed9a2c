"""Matches of the profile tree are those of evaluating every profile naively."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.events.types import Type
from foretell.filter.column import Column, constant, no_nulls
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.profile_tree.conditions import above, at_least, between, equal, unequal
from foretell.filter.profile_tree.event_distribution import JointDistribution
from foretell.filter.profile_tree.profiles import AttributeDomain, AttributeRanges, ProfileSet, profiles_of_boxes
from foretell.filter.profile_tree.tree import build_tree
from foretell.filter.profile_tree.tree_structure import build_structure
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

NUMBER = AttributeDomain("x", Type.INT)


def lists_of(matches: ProfileMatches) -> list[list[int]]:
    parts = np.split(matches.profiles, matches.offsets[1:-1])
    return [part.tolist() for part in parts] if len(matches.offsets) > 1 else []


def matched(profiles: ProfileSet, values: Sequence[int]) -> list[list[int]]:
    tree = build_tree(profiles, nothing_known(1))
    column = Column(Type.INT, np.array(values, np.int64), no_nulls(len(values)))
    return lists_of(tree.match([column], len(values)))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_matches_are_those_of_naive_evaluation(data: st.DataObject) -> None:
    domains = data.draw(some_domains())
    profiles = data.draw(st.lists(profiles_over(domains), max_size=8))
    history = data.draw(st.lists(events_over(domains), max_size=8))
    events = data.draw(st.lists(events_over(domains), max_size=12))
    strings = StringDictionary()
    together = profile_set(domains, profiles, strings)
    order = data.draw(st.permutations(range(len(domains))))
    measure = data.draw(st.sampled_from(ValueOrder))
    tree = build_tree(together, nothing_known(len(domains)), measure=measure, order=order)
    if history:
        sample = JointDistribution.of(*tree.keys(columns_of(domains, history, strings), len(history)))
        tree = build_tree(together, sample, measure=measure, order=order)
    found = tree.match(columns_of(domains, events, strings), len(events))
    assert lists_of(found) == [naive_matches(profiles, event) for event in events]


@pytest.mark.parametrize("seed", range(8))
def test_many_profiles_over_many_events(seed: int) -> None:
    """Profiles of ranges with don't-care attributes, some empty, and events with NULLs, evaluated by NumPy."""
    chance = np.random.default_rng(seed)
    attributes, count, events = int(chance.integers(1, 5)), int(chance.integers(1, 60)), 3000
    lows = chance.integers(-20, 20, (attributes, count))
    highs = lows + chance.integers(-1, 15, (attributes, count))
    cares = chance.random((attributes, count)) < 0.7
    keys = np.rint(chance.normal(0, 12, (attributes, events))).astype(np.int64)
    nulls = chance.random((attributes, events)) < 0.1
    inside = (lows[:, None] <= keys[:, :, None]) & (keys[:, :, None] <= highs[:, None]) & ~nulls[:, :, None]
    expected = (inside | ~cares[:, None]).all(axis=0)
    domains = tuple(AttributeDomain(f"a{number}", Type.INT) for number in range(attributes))
    ranges = tuple(AttributeRanges.of_columns(*each) for each in zip(lows, highs, cares))
    sample = JointDistribution.of(keys[:, ::10].copy(), nulls[:, ::10].copy())
    for measure in ValueOrder:
        order = chance.permutation(attributes).tolist()
        found = build_tree(ProfileSet(domains, count, ranges), sample, measure=measure, order=order)
        matches = found.match_keys(keys, nulls)
        event = np.repeat(np.arange(events), np.diff(matches.offsets))
        assert np.array_equal(np.stack([event, matches.profiles], axis=1), np.argwhere(expected))


def test_no_profiles_match_nothing() -> None:
    assert matched(ProfileSet.of([NUMBER], []), [1, 2]) == [[], []]


def test_a_profile_without_conditions_matches_everything() -> None:
    assert matched(ProfileSet.of([NUMBER], [{}, {"x": equal(2)}, {"x": []}]), [1, 2]) == [[0, 2], [0, 1, 2]]


def test_a_contradiction_matches_nothing() -> None:
    profiles = ProfileSet.of([NUMBER], [{"x": [above(3), equal(2)]}, {"x": between(5, 4)}])
    assert matched(profiles, [2, 3, 4, 5]) == [[]] * 4


def test_a_constant_column_stands_for_all_events() -> None:
    tree = build_tree(ProfileSet.of([NUMBER], [{"x": at_least(3)}]), nothing_known(1))
    assert lists_of(tree.match([constant(Type.INT, 3)], 2)) == [[0], [0]]


def test_an_int_column_meets_conditions_on_float() -> None:
    domain = AttributeDomain("x", Type.FLOAT)
    tree = build_tree(ProfileSet.of([domain], [{"x": above(2.5)}]), nothing_known(1))
    assert lists_of(tree.match([Column(Type.INT, np.array([2, 3]), no_nulls(2))], 2)) == [[], [0]]


def test_a_column_of_another_type_is_refused() -> None:
    tree = build_tree(ProfileSet.of([NUMBER], [{"x": above(2)}]), nothing_known(1))
    with pytest.raises(TypeError, match="a column of FLOAT meets conditions on INT"):
        tree.match([constant(Type.FLOAT, 2.5)], 1)


def test_ranges_as_columns() -> None:
    profiles = [{"x": between(1, 3)}, {}, {"x": between(4, 3)}, {"x": equal(3)}]
    ranges = AttributeRanges.of_columns(
        np.array([1, 0, 4, 3]), np.array([3, 0, 3, 3]), np.array([True, False, True, True])
    )
    columns = ProfileSet((NUMBER,), 4, (ranges,))
    assert (
        matched(columns, [1, 3, 9]) == matched(ProfileSet.of([NUMBER], profiles), [1, 3, 9]) == [[0, 1], [0, 1, 3], [1]]
    )


def test_profiles_as_boxes() -> None:
    domains = [NUMBER, AttributeDomain("y", Type.INT)]
    boxes = profiles_of_boxes(
        domains, np.array([0, 1, 1, 3]), np.array([1, 1, 0], np.uint8), np.array([[1, 3], [2, 2], [0, 9]])
    )
    profiles = ProfileSet.of(domains, [{"y": between(1, 3)}, {}, {"x": between(0, 9), "y": equal(2)}])
    both = [build_tree(each, nothing_known(2)) for each in (boxes, profiles)]
    events = [Column(Type.INT, np.array(values), no_nulls(3)) for values in ([0, 1, 10], [1, 2, 2])]
    assert [lists_of(tree.match(events, 3)) for tree in both] == [[[0, 1], [0, 1, 2], [0, 1]]] * 2


@pytest.mark.parametrize(
    ("kind", "profile", "message"),
    [
        (Type.INT, {"y": equal(1)}, r"profile 0 has a condition on 'y', no attribute of \['x'\]"),
        (Type.INT, {"x": above(2.5)}, "'x' is INT; make its domain FLOAT to compare it with 2.5"),
        (Type.INT, {"x": equal("a")}, "'x' is INT and cannot be compared with the text 'a'"),
        (Type.STRING, {"x": equal(1)}, "'x' is STRING and cannot be compared with the number 1"),
        (Type.STRING, {"x": at_least("a")}, "'x' is STRING: a profile tree has only =, <> and IN for texts"),
        (Type.STRING, {"x": above("a")}, "'x' is STRING: a profile tree has only =, <> and IN for texts"),
        (Type.STRING, {"x": between("a", "b")}, "'x' is STRING: a profile tree has only =, <> and IN for texts"),
    ],
)
def test_conditions_that_a_tree_does_not_have(kind: Type, profile: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProfileSet.of([AttributeDomain("x", kind)], [profile], StringDictionary().constant)  # type: ignore[list-item]


def test_equal_sub_trees_are_shared() -> None:
    """Don't-care edges are merged: with ten profiles on each of two attributes, the second level has a node for the
    profiles that do not care about the first, and one for each of the ten branches."""
    domains = [NUMBER, AttributeDomain("y", Type.INT)]
    profiles = [{"x": equal(n)} for n in range(10)] + [{"y": equal(n)} for n in range(10)]
    structure = build_structure(ProfileSet.of(domains, profiles), (0, 1))
    assert structure.level.tolist() == [0] + [1] * 11
    only_first = ProfileSet.of(domains, [{"x": equal(n), "y": unequal(1)} for n in (1, 2, 2)] * 2)
    assert len(build_structure(only_first, (0, 1)).level) == 3


def test_as_many_sub_ranges_as_ranges_that_overlap() -> None:
    profiles = [{"x": between(1, 5)}, {"x": between(3, 8)}, {"x": between(1, 2)}]
    expected = [[], [0, 2], [0, 1], [1], []]
    assert matched(ProfileSet.of([NUMBER], profiles), [0, 2, 4, 6, 9]) == expected


def test_touching_ranges_of_a_profile_are_one_branch() -> None:
    condition = between(1, 2)
    two = ProfileSet.of([NUMBER], [{"x": type(condition)(condition.ranges + between(3, 4).ranges)}])
    assert build_structure(two, (0,)).low.tolist() == [1]


def test_sub_ranges_are_at_most_twice_the_profiles() -> None:
    """Figure 7.9: p overlapping ranges cut the domain in 2p - 1 sub-ranges."""
    profiles = ProfileSet.of([NUMBER], [{"x": between(n, 100 + n)} for n in range(10)])
    assert len(build_structure(profiles, (0,)).low) == 19

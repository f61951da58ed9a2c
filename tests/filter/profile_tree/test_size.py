"""Trees that are too large are refused with an estimate, quickly; measure A3 passes them over."""

from __future__ import annotations

import time

import numpy as np
import pytest

from foretell.events.types import Type
from foretell.filter.profile_tree.attribute_order import AttributeOrder, attribute_order, best_tree
from foretell.filter.profile_tree.conditions import at_least, equal
from foretell.filter.profile_tree.event_distribution import IndependentDistribution
from foretell.filter.profile_tree.profiles import AttributeDomain, AttributeRanges, ProfileSet
from foretell.filter.profile_tree.tree import build_tree
from foretell.filter.profile_tree.tree_size import ProfileTreeTooLargeError, estimated_members
from foretell.filter.profile_tree.tree_structure import build_structure
from tests.filter.profile_tree.random_profiles import nothing_known


def sparse_profiles(count: int, attributes: int) -> ProfileSet:
    """Equalities on about half of the attributes: each don't-care edge doubles the tree."""
    chance = np.random.default_rng(1)
    domains = tuple(AttributeDomain(f"a{number}", Type.INT) for number in range(attributes))
    values = [chance.integers(0, 1000, count) for _ in domains]
    columns = tuple(AttributeRanges.of_columns(v, v, chance.random(count) < 0.5) for v in values)
    return ProfileSet(domains, count, columns)


def test_a_tree_that_explodes_is_refused() -> None:
    profiles = sparse_profiles(2000, 8)
    started = time.process_time()
    with pytest.raises(ProfileTreeTooLargeError, match="over the bound of 100,000; use access sets") as refused:
        build_structure(profiles, range(8), 100_000)
    assert time.process_time() - started < 5
    assert refused.value.most_members == 100_000
    assert refused.value.needed > 1e9


def test_the_bound_is_that_of_the_tree() -> None:
    profiles = sparse_profiles(20, 3)
    needed = build_structure(profiles, range(3)).members
    assert build_structure(profiles, range(3), needed).members == needed
    with pytest.raises(ProfileTreeTooLargeError):
        build_structure(profiles, range(3), needed - 1)


def test_the_estimate_is_exact_where_all_paths_are_alike() -> None:
    """Ten branches at each of three levels, nothing shared."""
    domain = [AttributeDomain(f"a{number}", Type.INT) for number in range(3)]
    values = [(x, y, z) for x in range(10) for y in range(10) for z in range(10)]
    profiles = ProfileSet.of(domain, [{d.name: equal(v) for d, v in zip(domain, value)} for value in values])
    structure = build_structure(profiles, range(3))
    assert estimated_members(profiles.attributes, profiles.count) == structure.members == 3000


def test_more_attributes_than_bits() -> None:
    domains = [AttributeDomain(f"a{number}", Type.INT) for number in range(65)]
    with pytest.raises(ValueError, match="at most 64 attributes, not 65; use access sets"):
        build_structure(ProfileSet.of(domains, []), range(65))
    whole = ProfileSet.of(domains[:64], [{"a63": equal(1)}, {"a0": equal(1)}])
    assert len(build_structure(whole, range(64)).level) == 3


def test_an_order_names_each_attribute_once() -> None:
    with pytest.raises(ValueError, match=r"\[0, 0\] is no order of 2 attributes"):
        build_structure(sparse_profiles(1, 2), (0, 0))


# ── measure A3 ─────────────────────────────────────────────────────────────────────────────────────────────────────

DOMAINS = [AttributeDomain(name, Type.INT, 0, 9) for name in "abc"]
#: A1 and A2 see the largest gap in `a`. But `c` alone rejects almost every event: eight of ten events have 9 there.
PROFILES = ProfileSet.of(
    DOMAINS, [{"a": equal(0), "b": at_least(n), "c": equal(c)} for n in range(5) for c in range(4)]
)
EVENTS = IndependentDistribution.of(
    DOMAINS, [{0: 0.9, 5: 0.1}, dict.fromkeys(range(10), 0.1), {1: 0.1, 2: 0.1, 9: 0.8}]
)


def test_a3_tries_all_orders_of_few_attributes() -> None:
    found = best_tree(PROFILES, EVENTS).expected.total
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    assert found == min(build_tree(PROFILES, EVENTS, order=order).expected.total for order in orders)
    by_gaps = attribute_order(AttributeOrder.A1, PROFILES, EVENTS)
    assert by_gaps == (0, 2, 1)
    assert found < build_tree(PROFILES, EVENTS, order=by_gaps).expected.total


@pytest.mark.parametrize("most_trees", [1, 2, 5])
def test_a3_tries_no_more_trees_than_its_bound(most_trees: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from foretell.filter.profile_tree import attribute_order as module

    tried = []

    def counted(*arguments: object, order: tuple[int, ...], **others: object) -> object:
        tried.append(order)
        return build_tree(*arguments, order=order, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "build_tree", counted)
    best_tree(PROFILES, EVENTS, most_trees=most_trees)
    assert len(tried) == len(set(tried)) == most_trees
    assert tried[0] == attribute_order(AttributeOrder.A2, PROFILES, EVENTS)


def test_a3_passes_trees_over_that_are_too_large() -> None:
    sizes = {order: build_structure(PROFILES, order).members for order in [(0, 2, 1), (2, 0, 1), (1, 0, 2)]}
    smallest = min(sizes.values())
    assert smallest < max(sizes.values())
    assert best_tree(PROFILES, EVENTS, most_members=smallest).structure.members <= smallest
    with pytest.raises(ProfileTreeTooLargeError):
        best_tree(PROFILES, EVENTS, most_members=10)


def test_a3_needs_trees() -> None:
    with pytest.raises(ValueError, match="call best_tree"):
        attribute_order(AttributeOrder.A3, PROFILES, nothing_known(3))

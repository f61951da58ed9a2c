"""Examples 7.4 to 7.7 of A-MEDIAS (section 7.2). docs/filter.md has the derivations."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.profile_tree.attribute_order import (
    AttributeOrder,
    attribute_order,
    attribute_selectivities,
    best_tree,
)
from foretell.filter.profile_tree.conditions import at_least, at_most, between
from foretell.filter.profile_tree.event_distribution import IndependentDistribution
from foretell.filter.profile_tree.expected_operations import ExpectedOperations
from foretell.filter.profile_tree.profiles import AttributeDomain, ProfileSet
from foretell.filter.profile_tree.tree import ProfileTree, build_tree
from foretell.filter.profile_tree.value_order import ValueOrder

DOMAINS = (
    AttributeDomain("a1", Type.FLOAT, -30, 50),
    AttributeDomain("a2", Type.FLOAT, 0, 100),
    AttributeDomain("a3", Type.FLOAT, 1, 100),
)
PROFILES = ProfileSet.of(
    DOMAINS,
    [
        {"a1": at_least(35), "a2": at_least(90)},
        {"a1": at_least(30), "a2": at_least(90)},
        {"a1": at_least(30), "a2": at_least(90), "a3": between(35, 50)},
        {"a1": between(-30, -20), "a2": at_most(5), "a3": between(40, 100)},
        {"a1": at_least(30), "a2": at_least(80)},
    ],
)
#: Each probability at one value of its sub-range. The paper gives [0, 30] of a_2 as one piece, of which P4 has [0, 5].
EVENTS = IndependentDistribution.of(
    DOMAINS,
    [
        {-25: 0.02, 32: 0.01, 40: 0.80, 0: 0.17},
        {3: 0.05, 50: 0.60, 85: 0.25, 95: 0.10},
        {20: 0.90, 37: 0.05, 45: 0.02, 80: 0.03},
    ],
)
NATURAL, REORDERED = (0, 1, 2), (1, 0, 2)


def tree(measure: ValueOrder, order: tuple[int, ...] = NATURAL) -> ProfileTree:
    return build_tree(PROFILES, EVENTS, measure=measure, order=order)


def level(attribute: int, measure: ValueOrder) -> ExpectedOperations:
    """An attribute by itself, with all sub-ranges that the profiles cut out of its domain, as if every event came."""
    alone = ProfileSet((DOMAINS[attribute],), PROFILES.count, (PROFILES.attributes[attribute],))
    return build_tree(alone, IndependentDistribution((EVENTS.attributes[attribute],)), measure=measure).expected


def test_example_7_4_e1_matches_p2_and_p5() -> None:
    event = [Column(Type.FLOAT, np.array([value]), no_nulls(1)) for value in (30.0, 90.0, 2.0)]
    for measure in ValueOrder:
        for order in (NATURAL, REORDERED, (2, 1, 0)):
            assert tree(measure, order).match(event, 1).profiles.tolist() == [1, 4]


def test_example_7_4_the_tree_of_figure_7_10() -> None:
    structure = tree(ValueOrder.NATURAL).structure
    assert structure.level.tolist() == [0, 1, 1, 1, 2, 2, 2]
    assert np.diff(structure.start).tolist() == [3, 1, 2, 2, 1, 1, 1]


def test_example_7_5_the_first_level() -> None:
    by_events, binary = level(0, ValueOrder.V1), level(0, ValueOrder.BINARY)
    assert (by_events.expectation, by_events.total) == pytest.approx((0.87, 1.21))
    assert (binary.expectation, binary.total) == pytest.approx((1.65, 1.99))
    assert tree(ValueOrder.V1).expected.successes[0] == pytest.approx(0.87)


def test_example_7_6_selectivities() -> None:
    """The paper prints 0.05 and 0.6 for A2; its formula gives 0.625 · 0.17 and 0.75 · 0.60. The order is the same."""
    first, second, third = attribute_selectivities(PROFILES, EVENTS)
    assert (first.size, first.zero_size, first.a1) == pytest.approx((80, 50, 0.625))
    assert (second.size, second.zero_size, second.a1) == pytest.approx((100, 75, 0.75))
    assert (third.zero_size, third.a1, third.a2) == (0, 0, 0)
    assert (first.a2, second.a2) == pytest.approx((0.10625, 0.45))


@pytest.mark.parametrize("measure", [AttributeOrder.A1, AttributeOrder.A2])
def test_example_7_6_order_of_attributes(measure: AttributeOrder) -> None:
    assert attribute_order(measure, PROFILES, EVENTS) == REORDERED
    assert best_tree(PROFILES, EVENTS).structure.order == REORDERED


#: The third level of every tree: events that reach it with a_2 in [90, 100] and a_1 in [30, 50], 0.81 · 0.10, need one
#: comparison; those on the way to P4 are 0.02 · 0.05 · 0.05.
THIRD = 0.081 + 0.00005


def test_example_7_6_as_printed() -> None:
    """The paper weighs the second level by nothing in the original order, and by P_e(a_2 in W) in the new one."""
    first, second = (level(attribute, ValueOrder.NATURAL).expectation for attribute in (0, 1))
    assert (first, second) == pytest.approx((2.44, 0.85))
    assert first + second + THIRD == pytest.approx(3.371, abs=5e-4)
    assert second + 0.40 * first + THIRD == pytest.approx(1.91, abs=5e-3)


def test_example_7_7_as_printed_is_out_of_reach() -> None:
    """The arithmetic of Example 7.6 gives 1.029 for V1 and 1.291 for binary search where 1.08 and 1.616 are printed."""
    of_v1 = [level(attribute, ValueOrder.V1).expectation for attribute in (0, 1)]
    of_binary = [level(attribute, ValueOrder.BINARY).expectation for attribute in (0, 1)]
    assert of_v1 == pytest.approx([0.87, 0.60])
    assert of_binary == pytest.approx([1.65, 0.55])
    assert of_v1[1] + 0.40 * of_v1[0] + THIRD == pytest.approx(1.029, abs=5e-4)
    assert of_binary[1] + 0.40 * of_binary[0] + THIRD == pytest.approx(1.291, abs=5e-4)
    # 1.08 comes out if [0, 5], with 5%, is compared before [90, 100], with 10%.
    assert 0.25 + 2 * 0.05 + 3 * 0.10 + 0.40 * of_v1[0] + THIRD == pytest.approx(1.08, abs=5e-3)


def test_the_summary_has_the_figures() -> None:
    assert tree(ValueOrder.V1, REORDERED).summary == (
        "profile tree over a2, a1, a3 (V1, events): 7 nodes, 10 branches, 1 kB; "
        "expected 2.90 operations and 22 ns an event"
    )


@pytest.mark.parametrize(
    ("measure", "order", "levels"),
    [
        (ValueOrder.NATURAL, NATURAL, [2.44, 0.3655, THIRD]),
        (ValueOrder.NATURAL, REORDERED, [0.85, 0.3645, THIRD]),
        (ValueOrder.V1, NATURAL, [0.87, 0.3655, THIRD]),
        (ValueOrder.V1, REORDERED, [0.60, 0.2855, THIRD]),
        (ValueOrder.BINARY, NATURAL, [1.65, 0.3655, THIRD]),
        (ValueOrder.BINARY, REORDERED, [0.55, 0.3645, THIRD]),
    ],
)
def test_the_right_numbers(measure: ValueOrder, order: tuple[int, ...], levels: list[float]) -> None:
    """Equation 7.4 with the conditional probabilities that it asks for: 2.887, 1.296, 1.317, 0.967, 2.097, 0.996."""
    assert tree(measure, order).expected.successes.tolist() == pytest.approx(levels)

"""Orders of the tree's levels: attribute selectivity by measures A1, A2 and A3 (section 7.2.2).

A1 and A2 look at each attribute by itself: at its zero-subdomain D_0, the values that no profile refers to. A3 looks
at the trees: the paper wants the order whose conditional zero-subdomains are largest in sum, so that events without a
matching profile are rejected early. We take the order with the fewest expected operations, which that sum stands for
(docs/filter.md), and try a bounded number of trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import permutations

import numpy as np

from foretell.events.types import Type
from foretell.filter.profile_tree.event_distribution import EventDistribution, ValueDistribution
from foretell.filter.profile_tree.node_partition import partition
from foretell.filter.profile_tree.profiles import AttributeDomain, AttributeRanges, ProfileSet
from foretell.filter.profile_tree.tree import ProfileTree, build_tree
from foretell.filter.profile_tree.tree_size import ProfileTreeTooLargeError
from foretell.filter.profile_tree.tree_structure import MOST_MEMBERS
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY, key_of, value_of
from foretell.filter.profile_tree.value_order import ValueOrder
from foretell.records import record

#: The trees that A3 tries: all orders of up to four attributes.
MOST_TREES = 24


class AttributeOrder(Enum):
    NATURAL = "as given"
    A1 = "A1, zero-subdomains"
    A2 = "A2, zero-subdomains and events"
    A3 = "A3, trial"


@record
class AttributeSelectivity:
    """The size d of an attribute's domain, the size d_0 of its zero-subdomain, and the probability that an event has a
    value in it."""

    size: float
    zero_size: float
    zero_probability: float

    @property
    def a1(self) -> float:
        return self.zero_size / self.size if self.size else 0.0

    @property
    def a2(self) -> float:
        return self.a1 * self.zero_probability


def attribute_selectivities(profiles: ProfileSet, distribution: EventDistribution) -> list[AttributeSelectivity]:
    """The selectivity of each attribute. An attribute that a profile does not care about has no zero-subdomain."""
    parts = zip(profiles.domains, profiles.attributes, distribution.attributes, strict=True)
    return [_selectivity(domain, ranges, values) for domain, ranges, values in parts]


def attribute_order(measure: AttributeOrder, profiles: ProfileSet, distribution: EventDistribution) -> tuple[int, ...]:
    """Attributes by descending selectivity; those of equal selectivity stay in their order. A3 needs trees:
    `best_tree`."""
    selectivities = attribute_selectivities(profiles, distribution)
    match measure:
        case AttributeOrder.A1:
            return _descending([selectivity.a1 for selectivity in selectivities])
        case AttributeOrder.A2:
            return _descending([selectivity.a2 for selectivity in selectivities])
        case AttributeOrder.NATURAL:
            return tuple(range(len(selectivities)))
    raise ValueError("measure A3 orders attributes by building trees; call best_tree")


def best_tree(
    profiles: ProfileSet,
    distribution: EventDistribution,
    *,
    measure: ValueOrder = ValueOrder.CHEAPEST,
    most_trees: int = MOST_TREES,
    most_members: int = MOST_MEMBERS,
) -> ProfileTree:
    """The tree with the fewest expected operations of those that A3 tries (`most_trees` of all n!), A2's first.

    Trees that are too large are passed over. If all are, the error of the smallest is raised."""
    tried: dict[tuple[int, ...], ProfileTree | ProfileTreeTooLargeError] = {}
    best: ProfileTree | None = None
    found = True
    while found:
        found = False
        first = attribute_order(AttributeOrder.A2, profiles, distribution) if best is None else best.structure.order
        for order in _neighbours(first, most_trees):
            if order in tried or len(tried) == most_trees:
                continue
            tree = tried[order] = _tried(profiles, distribution, measure, order, most_members)
            if isinstance(tree, ProfileTree) and (best is None or tree.expected.total < best.expected.total):
                best, found = tree, True
    if best is None:
        raise min((e for e in tried.values() if not isinstance(e, ProfileTree)), key=lambda error: error.needed)
    return best


def _tried(
    profiles: ProfileSet,
    distribution: EventDistribution,
    measure: ValueOrder,
    order: Sequence[int],
    most_members: int,
) -> ProfileTree | ProfileTreeTooLargeError:
    try:
        return build_tree(profiles, distribution, measure=measure, order=order, most_members=most_members)
    except ProfileTreeTooLargeError as error:
        return error


def _neighbours(order: tuple[int, ...], most_trees: int) -> Iterator[tuple[int, ...]]:
    """All orders if they are few enough; otherwise those in which one attribute is at another level."""
    if math.factorial(len(order)) <= most_trees:
        yield from permutations(order)
        return
    yield order
    for level, attribute in enumerate(order):
        rest = order[:level] + order[level + 1 :]
        for place in range(len(order)):
            yield (*rest[:place], attribute, *rest[place:])


def _descending(selectivities: list[float]) -> tuple[int, ...]:
    return tuple(sorted(range(len(selectivities)), key=lambda attribute: -selectivities[attribute]))


def _selectivity(domain: AttributeDomain, ranges: AttributeRanges, values: ValueDistribution) -> AttributeSelectivity:
    everything = np.arange(len(ranges.cares))
    branches = partition(everything, ranges, ranges.profile_of_range())
    referred = float(values.probability(branches.low, branches.high).sum()) + values.null
    low, high = _extent(domain, ranges, values)
    if domain.kind is Type.STRING:
        size = float(len(np.union1d(branches.low, values.keys)) if domain.distinct is None else domain.distinct)
        covered = float(len(branches.low))
    else:
        size = _width(low, high, domain.kind)
        inside = zip(np.maximum(branches.low, low).tolist(), np.minimum(branches.high, high).tolist())
        covered = sum(_width(a, b, domain.kind) for a, b in inside if a <= b)
    if len(branches.others):
        return AttributeSelectivity(size, 0.0, 0.0)
    return AttributeSelectivity(size, max(size - covered, 0.0), max(1.0 - referred, 0.0))


def _extent(domain: AttributeDomain, ranges: AttributeRanges, values: ValueDistribution) -> tuple[int, int]:
    """The declared bounds as keys; otherwise the least and the last value of profiles and events."""
    seen = np.concatenate([ranges.low[ranges.low > LEAST_KEY], ranges.high[ranges.high < LAST_KEY], values.keys])
    low = int(seen.min()) if len(seen) else 0
    high = int(seen.max()) if len(seen) else 0
    return (
        low if domain.low is None else key_of(domain.low, domain.kind),
        high if domain.high is None else key_of(domain.high, domain.kind),
    )


def _width(low: int, high: int, kind: Type) -> float:
    """The size of a closed range: its length for FLOAT, the number of its values otherwise."""
    return float(value_of(high, kind) - value_of(low, kind)) + (kind is not Type.FLOAT)

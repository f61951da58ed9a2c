"""How often the events of a distribution take each branch of a tree: the conditional probabilities of equation 7.4."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.filter.profile_tree.event_distribution import (
    EventDistribution,
    IndependentDistribution,
    JointDistribution,
)
from foretell.filter.profile_tree.search_kernels import SearchTree, VisitSums, weigh_visits
from foretell.filter.profile_tree.tree_structure import TreeStructure
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY
from foretell.records import record


@record
class VisitWeights:
    """The probability that an event reaches each node, takes each branch, and falls into the gap that the branch knows.
    Branches are ascending, as in the structure. `unit` is the weight of one event of the sample, 0 where the
    probabilities are known."""

    node: Floats
    branch: Floats
    gap: Floats
    unit: float

    def other(self, structure: TreeStructure) -> Floats:
        """The probability that an event takes the edge (*) of each node: a gap, or NULL."""
        return np.maximum(self.node - _sums(self.branch, structure.start), 0.0)


def visit_weights(structure: TreeStructure, distribution: EventDistribution) -> VisitWeights:
    if isinstance(distribution, JointDistribution):
        return _of_sample(structure, distribution)
    return _of_independent(structure, distribution)


def known_ranges(structure: TreeStructure) -> tuple[Ints, Ints]:
    """The first and the last value of each branch with the gap that it knows: up to the next branch of its node."""
    first, last = structure.low.copy(), np.full(len(structure.low), LAST_KEY)
    is_first = np.zeros(len(first) + 1, np.bool_)
    is_first[structure.start[:-1]] = True  # a node without branches marks the next one's first, which it is
    first[is_first[:-1]] = LEAST_KEY
    is_followed = np.flatnonzero(~is_first[1:-1]) if len(first) else np.zeros(0, np.int64)
    last[is_followed] = structure.low[is_followed + 1] - 1
    return first, last


def binary_search(structure: TreeStructure) -> SearchTree:
    """The tree with binary search at every node, which needs no distribution."""
    first, last = known_ranges(structure)
    return SearchTree(
        root=structure.root,
        attribute=np.array(structure.order, np.int64)[structure.level],
        is_binary=np.ones(len(structure.level), np.uint8),
        start=structure.start,
        other=structure.other,
        first=first,
        low=structure.low,
        high=structure.high,
        last=last,
        target=structure.target,
    )


def _of_sample(structure: TreeStructure, sample: JointDistribution) -> VisitWeights:
    sums = VisitSums(*(np.zeros(count) for count in (len(structure.level), *[len(structure.low)] * 2)))
    weigh_visits(binary_search(structure), sample.keys, sample.nulls, sample.weights, sums)
    unit = 1.0 / sample.effective_events if len(sample.weights) else 0.0
    return VisitWeights(sums.node, sums.branch, sums.gap, unit)


def _of_independent(structure: TreeStructure, distribution: IndependentDistribution) -> VisitWeights:
    node, branch, gap = np.zeros(len(structure.level)), np.zeros(len(structure.low)), np.zeros(len(structure.low))
    if structure.root >= 0:
        node[structure.root] = 1.0
    first, last = known_ranges(structure)
    for level, attribute in enumerate(structure.order):
        begin, end = np.searchsorted(structure.level, [level, level + 1])
        if begin == end:
            continue
        values = distribution.attributes[attribute]
        part = slice(structure.start[begin], structure.start[end])
        arrival = np.repeat(node[begin:end], np.diff(structure.start[begin : end + 1]))
        taken = values.probability(structure.low[part], structure.high[part])
        branch[part] = arrival * taken
        gap[part] = arrival * np.maximum(values.probability(first[part], last[part]) - taken, 0.0)
        _arrive(node, structure.target[part], branch[part])
        left = np.maximum(node[begin:end] - _sums(branch, structure.start[begin : end + 1]), 0.0)
        _arrive(node, structure.other[begin:end], left)
    return VisitWeights(node, branch, gap, unit=0.0)


def _arrive(node: Floats, targets: Ints, weights: Floats) -> None:
    is_node = targets >= 0
    node += np.bincount(targets[is_node], weights[is_node], len(node))


def _sums(values: Floats, starts: Ints) -> Floats:
    """The sums of consecutive parts, some of which may be empty."""
    total = np.concatenate([[0.0], np.cumsum(values[starts[0] : starts[-1]])])
    return np.asarray(np.diff(total[starts - starts[0]]))

"""Orders in which a node's branches are compared with a value: measures V1, V2 and V3, and binary search (7.2.2)."""

from __future__ import annotations

from enum import Enum

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.filter.profile_tree.search_kernels import SearchTree, binary_depths
from foretell.filter.profile_tree.tree_structure import TreeStructure
from foretell.filter.profile_tree.visit_weights import VisitWeights, binary_search
from foretell.records import record


class ValueOrder(Enum):
    """CHEAPEST is ours: at each node what is expected to take fewer operations, binary search or the order by the
    probability of a branch with the gap that it knows, which is the best of all sequential orders. Of a sample half an
    event more is counted for each branch, so that a node which few events reach has binary search."""

    NATURAL = "natural order"
    V1 = "V1, events"
    V2 = "V2, profiles"
    V3 = "V3, events and profiles"
    BINARY = "binary search"
    CHEAPEST = "fewest operations"


@record
class BranchOrder:
    """`visit` has the branches in the order of their node's search, `operations` of each branch (ascending, as in the
    structure) the operations until a search ends at it, and `is_binary` the nodes that are searched so."""

    visit: Ints
    operations: Ints
    is_binary: Flags


def branch_order(structure: TreeStructure, weights: VisitWeights, measure: ValueOrder) -> BranchOrder:
    """Branches of equal selectivity stay in their natural order."""
    if measure is ValueOrder.CHEAPEST:
        return _cheapest(structure, weights)
    nodes = len(structure.level)
    if measure is ValueOrder.BINARY:
        return BranchOrder(np.arange(len(structure.low)), _binary_operations(structure), np.ones(nodes, np.bool_))
    visit, operations = _sequential(structure, _selectivity(structure, weights, measure))
    return BranchOrder(visit, operations, np.zeros(nodes, np.bool_))


def search_tree(structure: TreeStructure, order: BranchOrder) -> SearchTree:
    """The tree with its branches in this order."""
    ascending = binary_search(structure)
    return ascending._replace(
        is_binary=order.is_binary.astype(np.uint8),
        first=ascending.first[order.visit],
        low=ascending.low[order.visit],
        high=ascending.high[order.visit],
        last=ascending.last[order.visit],
        target=ascending.target[order.visit],
    )


def _selectivity(structure: TreeStructure, weights: VisitWeights, measure: ValueOrder) -> Floats:
    match measure:
        case ValueOrder.V1:
            return weights.branch
        case ValueOrder.V2:
            return structure.interest.astype(np.float64)
        case ValueOrder.V3:
            return weights.branch * structure.interest
    return np.zeros(len(structure.low))


def _sequential(structure: TreeStructure, selectivity: Floats) -> tuple[Ints, Ints]:
    node = structure.node_of_branch()
    visit = np.lexsort((-selectivity, node))
    operations = np.empty(len(visit), np.int64)
    operations[visit] = np.arange(len(visit)) - structure.start[node] + 1
    return visit, operations


def _binary_operations(structure: TreeStructure) -> Ints:
    depths = np.zeros(len(structure.low), np.int64)
    binary_depths(structure.start, depths)
    return depths


def _cheapest(structure: TreeStructure, weights: VisitWeights) -> BranchOrder:
    known = weights.branch + weights.gap + weights.unit / 2  # the estimate of Krichevsky and Trofimov
    visit, sequential = _sequential(structure, known)
    binary = _binary_operations(structure)
    node, nodes = structure.node_of_branch(), len(structure.level)
    is_binary = np.bincount(node, known * binary, nodes) <= np.bincount(node, known * sequential, nodes)
    takes_binary = is_binary[node]
    return BranchOrder(
        visit=np.where(takes_binary, np.arange(len(visit)), visit),
        operations=np.where(takes_binary, binary, sequential),
        is_binary=is_binary,
    )

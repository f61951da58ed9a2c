"""The expected number of filter operations of a tree, equations 7.3 to 7.5."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.filter.profile_tree.tree_structure import LEAVES, NO_MATCH, TreeStructure
from foretell.filter.profile_tree.value_order import BranchOrder
from foretell.filter.profile_tree.visit_weights import VisitWeights
from foretell.records import record


@record
class ExpectedOperations:
    """By level: `successes` are E(X_j | X_{j-1}, …, X_1), the operations of events that go on below; `misses` are F_0,
    those of events which no profile can match after this level. `nodes` and `matches` are the nodes that an event
    reaches and the profiles that it matches."""

    successes: Floats
    misses: Floats
    nodes: float
    matches: float

    @property
    def expectation(self) -> float:
        """E of equation 7.4, which the paper's examples give."""
        return float(self.successes.sum())

    @property
    def total(self) -> float:
        """F of equation 7.4."""
        return float(self.successes.sum() + self.misses.sum())


def expected_operations(structure: TreeStructure, weights: VisitWeights, order: BranchOrder) -> ExpectedOperations:
    node = structure.node_of_branch()
    level, goes_on = structure.level[node], structure.other[node] != NO_MATCH
    of_branch, of_gap = order.operations * weights.branch, order.operations * weights.gap
    levels = len(structure.order)
    return ExpectedOperations(
        successes=_sums(level, of_branch + np.where(goes_on, of_gap, 0.0), levels),
        misses=_sums(level, np.where(goes_on, 0.0, of_gap), levels),
        nodes=float(weights.node.sum()),
        matches=_matches(structure, weights),
    )


def _matches(structure: TreeStructure, weights: VisitWeights) -> float:
    targets = np.concatenate([structure.target, structure.other, [structure.root]])
    arrivals = np.concatenate([weights.branch, weights.other(structure), [1.0]])
    is_leaf = targets <= LEAVES
    sizes = np.diff(structure.leaf_start)[LEAVES - targets[is_leaf]]
    return float((sizes * arrivals[is_leaf]).sum())


def _sums(level: Ints, operations: Floats, levels: int) -> Floats:
    return np.asarray(np.bincount(level, operations, levels), np.float64)

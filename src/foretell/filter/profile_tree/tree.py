"""The profile tree: built from profiles and a distribution, it finds the profiles that match each event of a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.column import Column
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.profile_tree.event_distribution import EventDistribution
from foretell.filter.profile_tree.expected_operations import ExpectedOperations, expected_operations
from foretell.filter.profile_tree.profiles import AttributeDomain, ProfileSet
from foretell.filter.profile_tree.search_kernels import (
    SearchTree,
    count_operations,
    find_leaves,
    gather_profiles,
)
from foretell.filter.profile_tree.tree_structure import LEAVES, MOST_MEMBERS, TreeStructure, build_structure
from foretell.filter.profile_tree.value_keys import event_keys
from foretell.filter.profile_tree.value_order import BranchOrder, ValueOrder, branch_order, search_tree
from foretell.filter.profile_tree.visit_weights import visit_weights
from foretell.records import record

#: Nanoseconds for an event, for a node that it reaches and for a profile that it matches; and for an operation in trees
#: of at most so many bytes, by the levels of the processor's cache. Measured with values that are hard to predict;
#: peaked ones take half (docs/results.md).
_PER_EVENT, _PER_NODE, _PER_MATCH = 5.0, 3.0, 1.0
_PER_OPERATION = ((1_000_000, 4.0), (32_000_000, 8.0), (math.inf, 25.0))


@record
class OperationCounts:
    """The operations of each event: of its successful levels, and of the level that found that no profile matches."""

    successes: Ints
    misses: Ints


@record
class ProfileTree:
    """A tree and what it is expected to take. `structure` has its branches ascending, `search` as they are compared."""

    domains: tuple[AttributeDomain, ...]
    structure: TreeStructure
    measure: ValueOrder
    branches: BranchOrder
    search: SearchTree
    expected: ExpectedOperations

    @property
    def nbytes(self) -> int:
        ranges = (self.search.first, self.search.low, self.search.high, self.search.last, self.search.target)
        return self.structure.nbytes + sum(int(array.nbytes) for array in ranges)

    @property
    def summary(self) -> str:
        """The figures by which a planner chose, for `explain`."""
        levels = ", ".join(self.domains[attribute].name for attribute in self.structure.order)
        size = f"{len(self.structure.level):,} nodes, {len(self.structure.low):,} branches, {self.nbytes / 1e3:,.0f} kB"
        operations = f"{self.expected.total:.2f} operations and {self.nanoseconds:.0f} ns an event"
        return f"profile tree over {levels} ({self.measure.value}): {size}; expected {operations}"

    @property
    def nanoseconds(self) -> float:
        """About the processor time that an event takes, for a planner that compares the tree with other indexes."""
        expected = self.expected
        of_operation = next(nanoseconds for most, nanoseconds in _PER_OPERATION if self.nbytes <= most)
        of_path = _PER_NODE * expected.nodes + of_operation * expected.total
        return _PER_EVENT + of_path + _PER_MATCH * expected.matches

    def match(self, columns: Sequence[Column], count: int) -> ProfileMatches:
        """The profiles that each of `count` events matches; a column for each attribute, in the order of the domains.

        A NULL meets only profiles that do not care about the attribute."""
        return self.match_keys(*self.keys(columns, count))

    def keys(self, columns: Sequence[Column], count: int) -> tuple[Ints, Flags]:
        """The events as the tree reads them; a sample of them is a distribution."""
        return event_keys(list(columns), [domain.kind for domain in self.domains], count)

    def match_keys(self, keys: Ints, nulls: Flags) -> ProfileMatches:
        leaves = np.empty(keys.shape[1], np.int64)
        find_leaves(self.search, keys, nulls, leaves)
        leaf = LEAVES - leaves
        matched = leaf >= 0
        sizes = np.zeros(len(leaves), np.int64)
        sizes[matched] = np.diff(self.structure.leaf_start)[leaf[matched]]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        profiles = np.empty(int(offsets[-1]), np.int64)
        gather_profiles(leaves, self.structure.leaf_start, self.structure.leaf_profiles, offsets, profiles)
        return ProfileMatches(offsets, profiles)

    def count_operations(self, keys: Ints, nulls: Flags) -> OperationCounts:
        """The operations that the search really takes for each event."""
        counts = OperationCounts(np.zeros(keys.shape[1], np.int64), np.zeros(keys.shape[1], np.int64))
        count_operations(self.search, keys, nulls, counts.successes, counts.misses)
        return counts

    def expected_under(self, distribution: EventDistribution) -> ExpectedOperations:
        """The operations that this tree, as it is, is expected to take for events of another distribution."""
        return expected_operations(self.structure, visit_weights(self.structure, distribution), self.branches)


def ordered_tree(
    domains: tuple[AttributeDomain, ...],
    structure: TreeStructure,
    distribution: EventDistribution,
    measure: ValueOrder,
) -> ProfileTree:
    """The tree of a structure with its branches ordered by a measure under a distribution."""
    weights = visit_weights(structure, distribution)
    branches = branch_order(structure, weights, measure)
    return ProfileTree(
        domains=domains,
        structure=structure,
        measure=measure,
        branches=branches,
        search=search_tree(structure, branches),
        expected=expected_operations(structure, weights, branches),
    )


def build_tree(
    profiles: ProfileSet,
    distribution: EventDistribution,
    *,
    measure: ValueOrder = ValueOrder.CHEAPEST,
    order: Sequence[int] | None = None,
    most_members: int = MOST_MEMBERS,
) -> ProfileTree:
    """The tree with its levels in the given order of attributes, by default that of `profiles`."""
    levels = range(len(profiles.domains)) if order is None else order
    return ordered_tree(profiles.domains, build_structure(profiles, levels, most_members), distribution, measure)

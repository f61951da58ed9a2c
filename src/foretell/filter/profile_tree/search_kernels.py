"""Kernels that evaluate events in a profile tree: one path from the root to a leaf for each event (Algorithm 7.2).

One operation compares a value with one branch. A branch knows its sub-range, `low` to `high`, and the gap up to the
next branch (the first one also the gap before it): `first` to `last`. These wider ranges cover the domain, so every
search, whether it finds a branch or a gap, ends at the branch whose wider range has the value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.arrays import Ints
from foretell.jit import inlined, kernel


class SearchTree(NamedTuple):
    """A tree as the kernels read it. Branches are in the order of their node's search: that of the measure where
    `is_binary` of the node is 0, ascending otherwise."""

    root: int
    attribute: Any
    is_binary: Any
    start: Any
    other: Any
    first: Any
    low: Any
    high: Any
    last: Any
    target: Any


@inlined
def _find(tree: SearchTree, node: int, value: int) -> tuple[int, int]:
    """The branch whose range has the value, and the operations until it is found."""
    begin, end = tree.start[node], tree.start[node + 1]
    operations = 0
    if tree.is_binary[node]:
        while True:
            operations += 1
            middle = (begin + end - 1) // 2
            if value < tree.first[middle]:
                end = middle
            elif value > tree.last[middle]:
                begin = middle + 1
            else:
                return middle, operations
    branch = begin
    while value < tree.first[branch] or value > tree.last[branch]:
        branch += 1
    return branch, branch - begin + 1


@inlined
def _next_target(tree: SearchTree, node: int, branch: int, value: int) -> int:
    if value < tree.low[branch] or value > tree.high[branch]:
        return int(tree.other[node])
    return int(tree.target[branch])


@kernel
def find_leaves(tree: SearchTree, keys: Any, nulls: Any, leaves: Any) -> None:
    """The leaf that each event reaches, or NO_MATCH, as targets."""
    for event in range(leaves.size):
        target = tree.root
        while target >= 0:
            attribute = tree.attribute[target]
            if nulls[attribute, event] or tree.start[target] == tree.start[target + 1]:
                target = tree.other[target]
            else:
                value = keys[attribute, event]
                branch, _ = _find(tree, target, value)
                target = _next_target(tree, target, branch, value)
        leaves[event] = target


@kernel
def count_operations(tree: SearchTree, keys: Any, nulls: Any, successes: Any, misses: Any) -> None:
    """The operations of each event: those of its successful levels, and those by which a last level found that no
    profile matches."""
    for event in range(successes.size):
        target = tree.root
        successes[event] = misses[event] = 0
        while target >= 0:
            attribute, operations = tree.attribute[target], 0
            if nulls[attribute, event] or tree.start[target] == tree.start[target + 1]:
                target = tree.other[target]
            else:
                value = keys[attribute, event]
                branch, operations = _find(tree, target, value)
                target = _next_target(tree, target, branch, value)
            if target == -1:
                misses[event] += operations
            else:
                successes[event] += operations


@kernel
def weigh_visits(tree: SearchTree, keys: Any, nulls: Any, weights: Any, visits: VisitSums) -> None:
    """Add the weight of each event to the nodes that it reaches and to the branches or gaps that it takes."""
    for event in range(weights.size):
        target = tree.root
        while target >= 0:
            node, attribute, weight = target, tree.attribute[target], weights[event]
            visits.node[node] += weight
            if nulls[attribute, event] or tree.start[node] == tree.start[node + 1]:
                target = tree.other[node]
            else:
                value = keys[attribute, event]
                branch, _ = _find(tree, node, value)
                if value < tree.low[branch] or value > tree.high[branch]:
                    visits.gap[branch] += weight
                    target = tree.other[node]
                else:
                    visits.branch[branch] += weight
                    target = tree.target[branch]


class VisitSums(NamedTuple):
    """Weights by node, by branch, and by the gap that a branch knows."""

    node: Any
    branch: Any
    gap: Any


@kernel
def gather_profiles(leaves: Ints, leaf_start: Ints, leaf_profiles: Ints, offsets: Ints, profiles: Ints) -> None:
    """Write the profiles of each event's leaf, from its offset on."""
    for event in range(leaves.size):
        leaf = -2 - leaves[event]
        if leaf >= 0:
            place = offsets[event]
            for entry in range(leaf_start[leaf], leaf_start[leaf + 1]):
                profiles[place] = leaf_profiles[entry]
                place += 1


@kernel
def binary_depths(start: Ints, depths: Ints) -> None:
    """The operations of a binary search until it ends at each branch."""
    for node in range(start.size - 1):
        for branch in range(start[node], start[node + 1]):
            begin, end, operations = start[node], start[node + 1], 1
            middle = (begin + end - 1) // 2
            while middle != branch:
                operations += 1
                if branch < middle:
                    end = middle
                else:
                    begin = middle + 1
                middle = (begin + end - 1) // 2
            depths[branch] = operations

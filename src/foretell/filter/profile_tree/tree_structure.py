"""The structure of a profile tree: nodes, branches and leaves as flat arrays, level by level, equal sub-trees shared.

A sub-tree is determined by its level and the profiles that an event can still match, so two branches with the same
profiles lead to the same node. This merges don't-care edges: one path leads to all matching profiles (section 7.2.1).
A level that none of a node's profiles care about has no node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.arrays import Ints
from foretell.filter.profile_tree.node_partition import partition
from foretell.filter.profile_tree.profiles import ProfileSet
from foretell.filter.profile_tree.tree_size import ProfileTreeTooLargeError, estimated_members
from foretell.records import record

#: The target where no profile can match any more. Other targets: a node by its number, a leaf as LEAVES - its number.
NO_MATCH, LEAVES = -1, -2

#: The profiles of all branches together: four million take some seconds and 200 MB to build.
MOST_MEMBERS = 4_000_000


#: The attributes that a profile cares about are bits of a word.
MOST_ATTRIBUTES = 64


@record
class TreeStructure:
    """`order` are the attributes by level. The branches of node n are `start[n]` to `start[n + 1]`, ascending, with
    their sub-ranges, targets and the number of profiles that refer to them; `other` is the target of all other values
    and of NULL, the edge (*) of Figure 7.10. The profiles of leaf k are `leaf_start[k]` to `leaf_start[k + 1]`.
    Nodes are ordered by level."""

    order: tuple[int, ...]
    root: int
    level: Ints
    start: Ints
    low: Ints
    high: Ints
    target: Ints
    interest: Ints
    other: Ints
    leaf_start: Ints
    leaf_profiles: Ints
    members: int

    @property
    def nbytes(self) -> int:
        arrays = (self.level, self.start, self.low, self.high, self.target, self.other, self.leaf_start)
        return sum(array.nbytes for array in (*arrays, self.interest, self.leaf_profiles))

    def node_of_branch(self) -> Ints:
        return np.repeat(np.arange(len(self.level)), np.diff(self.start))


def build_structure(profiles: ProfileSet, order: Sequence[int], most_members: int = MOST_MEMBERS) -> TreeStructure:
    """The tree of the profiles with these attribute levels. A tree that would exceed the bound is refused with a
    `ProfileTreeTooLargeError`, which estimates its size."""
    if sorted(order) != list(range(len(profiles.domains))):
        raise ValueError(f"{list(order)} is no order of {len(profiles.domains)} attributes")
    if len(order) > MOST_ATTRIBUTES:
        raise ValueError(f"a profile tree has at most {MOST_ATTRIBUTES} attributes, not {len(order)}; use access sets")
    return _Builder(profiles, tuple(order), most_members).build()


@record
class _Node:
    """A node under construction; `other` and `targets` count nodes in the order in which they were found."""

    level: int
    low: Ints
    high: Ints
    interest: Ints
    targets: list[int]
    other: int


class _Builder:
    """Builds level by level: all nodes of a level are known when their parents' levels are done."""

    def __init__(self, profiles: ProfileSet, order: tuple[int, ...], most_members: int) -> None:
        self._profiles, self._order, self._most_members = profiles, order, most_members
        self._levels = [profiles.attributes[attribute] for attribute in order]
        self._profile_of_range = [level.profile_of_range() for level in self._levels]
        self._cared = sum(
            (level.cares.astype(np.uint64) << np.uint64(number) for number, level in enumerate(self._levels)),
            np.zeros(profiles.count, np.uint64),
        )
        self._waiting: list[dict[bytes, int]] = [{} for _ in order]
        self._leaves: dict[bytes, int] = {}
        self._nodes: dict[int, _Node] = {}
        self._found = self._members = 0

    def build(self) -> TreeStructure:
        everything = np.arange(self._profiles.count)
        root = self._target(everything, 0) if len(everything) else NO_MATCH
        for level, waiting in enumerate(self._waiting):
            for content, number in waiting.items():
                self._nodes[number] = self._node(np.frombuffer(content, np.int64), level)
            waiting.clear()
        return self._flat(root)

    def _target(self, profiles: Ints, level: int) -> int:
        """The node or leaf where an event goes on that these profiles may still match, from a level on."""
        cared = int(np.bitwise_or.reduce(self._cared[profiles])) >> level
        content = profiles.tobytes()
        if not cared:
            return LEAVES - self._leaves.setdefault(content, len(self._leaves))
        next_level = level + (cared & -cared).bit_length() - 1
        number = self._waiting[next_level].setdefault(content, self._found)
        self._found += number == self._found
        return number

    def _node(self, profiles: Ints, level: int) -> _Node:
        branches = partition(profiles, self._levels[level], self._profile_of_range[level])
        self._members += branches.members
        if self._members > self._most_members:
            needed = max(self._members, estimated_members(self._levels, self._profiles.count))
            raise ProfileTreeTooLargeError(self._most_members, needed)
        targets = [self._target(members, level + 1) for members in branches.members_of_all()]
        other = self._target(branches.others, level + 1) if len(branches.others) else NO_MATCH
        return _Node(level, branches.low, branches.high, branches.interest, targets, other)

    def _flat(self, root: int) -> TreeStructure:
        found = np.array(sorted(self._nodes, key=lambda number: (self._nodes[number].level, number)), np.int64)
        nodes = [self._nodes[number] for number in found.tolist()]
        place = np.zeros(len(nodes), np.int64)
        place[found] = np.arange(len(nodes))
        leaves = [np.frombuffer(content, np.int64) for content in self._leaves]
        return TreeStructure(
            order=self._order,
            root=int(place[root]) if root >= 0 else root,
            level=np.array([node.level for node in nodes], np.int64),
            start=_starts([len(node.targets) for node in nodes]),
            low=_together([node.low for node in nodes]),
            high=_together([node.high for node in nodes]),
            target=_renumbered(np.array([t for node in nodes for t in node.targets], np.int64), place),
            interest=_together([node.interest for node in nodes]),
            other=_renumbered(np.array([node.other for node in nodes], np.int64), place),
            leaf_start=_starts([len(leaf) for leaf in leaves]),
            leaf_profiles=_together(leaves),
            members=self._members,
        )


def _starts(counts: list[int]) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))])


def _together(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _renumbered(targets: Ints, place: Ints) -> Ints:
    renumbered = targets.copy()
    is_node = targets >= 0
    renumbered[is_node] = place[targets[is_node]]
    return renumbered

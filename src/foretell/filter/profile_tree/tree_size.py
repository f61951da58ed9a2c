"""The size of a profile tree that is too large to build, by random probing (Knuth 1975).

A probe goes down a random path. The product of the numbers of branches from which it chose, times the size of the node
that it reaches, is on average the sum over all nodes. Probes ignore shared sub-trees, so the estimate is on average an
upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.filter.profile_tree.node_partition import partition
from foretell.filter.profile_tree.profiles import AttributeRanges

#: Probes of one estimate: it shall tell a tree of millions from a tree of billions.
PROBES = 32


class ProfileTreeTooLargeError(Exception):
    """The tree would exceed its bound; `needed` is about what it would take without shared sub-trees."""

    def __init__(self, most_members: int, needed: float) -> None:
        super().__init__(
            f"the profile tree is too large: about {needed:.3g} profiles in all branches together, over the bound of "
            f"{most_members:,}; use access sets, or raise the bound"
        )
        self.most_members = most_members
        self.needed = needed


def estimated_members(levels: Sequence[AttributeRanges], profiles: int) -> float:
    """The profiles of all branches together, for attributes in the order of the tree's levels."""
    owners = [level.profile_of_range() for level in levels]
    chance = np.random.default_rng(1)
    total = 0.0
    for _ in range(PROBES):
        members, weight = np.arange(profiles), 1.0
        for level, owner in zip(levels, owners):
            branches = partition(members, level, owner)
            total += weight * branches.members
            choices = len(branches.low) + bool(len(branches.others))
            branch = int(chance.integers(choices)) if choices else 0
            members = branches.members_of(branch) if branch < len(branches.low) else branches.others
            weight *= choices
            if not len(members):
                break
    return total / PROBES

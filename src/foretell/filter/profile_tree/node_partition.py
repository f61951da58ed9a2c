"""The disjoint sub-ranges that a node's profiles cut out of a domain (Figure 7.9): at most 2p - 1 for p ranges."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.profile_tree.profiles import AttributeRanges
from foretell.filter.profile_tree.value_keys import LAST_KEY
from foretell.records import record


@record
class NodePartition:
    """The branches of a node: the sub-ranges `low` to `high`, ascending, that at least one caring profile refers to,
    and how many do (`interest`). `others` are the profiles that do not care; they follow every branch."""

    low: Ints
    high: Ints
    interest: Ints
    others: Ints
    ranges: CaringRanges

    @property
    def members(self) -> int:
        """The profiles of all branches together: the memory and the time that it takes to go on below."""
        return int(self.interest.sum()) + (len(self.low) + 1) * len(self.others)

    def members_of(self, branch: int) -> Ints:
        """The profiles of one branch, ascending."""
        ranges = self.ranges
        inside = (ranges.low <= self.low[branch]) & (self.high[branch] <= ranges.high)
        return np.sort(np.concatenate([ranges.profile[inside], self.others]))

    def members_of_all(self) -> list[Ints]:
        """The profiles of each branch."""
        if int(self.interest.sum()) == len(self.low):  # no two ranges overlap: each is a branch
            return [self._with_others(number) for number in np.argsort(self.ranges.low).tolist()]
        first, count = self._branches_of_ranges()
        begins = np.cumsum(count) - count
        branch = np.arange(count.sum()) + np.repeat(first - begins, count)
        profile = np.repeat(self.ranges.profile, count)
        caring = profile[np.lexsort((profile, branch))]
        parts = np.split(caring, np.cumsum(self.interest)[:-1]) if len(self.low) else []
        if not len(self.others):
            return parts
        return [np.sort(np.concatenate([part, self.others])) for part in parts]

    def _with_others(self, number: int) -> Ints:
        """The profile of one range, and those that do not care."""
        profile = self.ranges.profile[number : number + 1]
        return np.sort(np.concatenate([profile, self.others])) if len(self.others) else profile

    def _branches_of_ranges(self) -> tuple[Ints, Ints]:
        """Of each range its first branch and the number of its branches, which follow one another."""
        first = np.searchsorted(self.low, self.ranges.low)
        return first, np.searchsorted(self.high, self.ranges.high, side="right") - first


@record
class CaringRanges:
    """The ranges of the profiles that care."""

    profile: Ints
    low: Ints
    high: Ints


def partition(profiles: Ints, attribute: AttributeRanges, profile_of_range: Ints) -> NodePartition:
    """The branches for a set of profiles. `profile_of_range` is that of the attribute."""
    if len(profiles) == 1 and attribute.cares[profiles[0]]:
        return _of_single(int(profiles[0]), attribute)
    cares: Flags = attribute.cares[profiles]
    numbers = attribute.of(profiles[cares])
    ranges = CaringRanges(profile_of_range[numbers], attribute.low[numbers], attribute.high[numbers])
    closes = ranges.high[ranges.high < LAST_KEY] + 1
    points = np.unique(np.concatenate([ranges.low, closes]))
    change = np.zeros(len(points) + 1, np.int64)
    np.add.at(change, np.searchsorted(points, ranges.low), 1)
    np.add.at(change, np.searchsorted(points, closes), -1)
    interest = np.cumsum(change[:-1])
    high = np.append(points[1:] - 1, LAST_KEY)[: len(points)]
    taken = interest > 0
    return NodePartition(
        low=points[taken], high=high[taken], interest=interest[taken], others=profiles[~cares], ranges=ranges
    )


def _of_single(profile: int, attribute: AttributeRanges) -> NodePartition:
    """The branches for one profile, its ranges: deep in a tree most nodes have no more."""
    part = slice(int(attribute.start[profile]), int(attribute.start[profile + 1]))
    low, high = attribute.low[part], attribute.high[part]
    interest = np.ones(len(low), np.int64)
    ranges = CaringRanges(np.full(len(low), profile), low, high)
    return NodePartition(low=low, high=high, interest=interest, others=np.zeros(0, np.int64), ranges=ranges)

"""Drift: how far the present distribution is from the one that a tree was built for.

The distance is the total variation of an attribute's distribution over buckets of the sub-ranges that the profiles cut
out of its domain. Two samples of one distribution differ too; what they differ by on average is subtracted.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.filter.profile_tree.event_distribution import EventDistribution, JointDistribution, ValueDistribution
from foretell.filter.profile_tree.node_partition import partition
from foretell.filter.profile_tree.profiles import AttributeRanges, ProfileSet
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY

#: Buckets of an attribute. With more of them samples differ more by chance, and hide small drifts.
MOST_BUCKETS = 32


def drift(profiles: ProfileSet, built_for: EventDistribution, present: EventDistribution) -> float:
    """The largest total variation of an attribute beyond chance, 0 to 1; 1 where the tree was built for no events."""
    pairs = list(zip(profiles.attributes, built_for.attributes, present.attributes, strict=True))
    if any(not _is_known(before) for _, before, _ in pairs):
        return 1.0
    spread = 1.0 / _events(built_for) + 1.0 / _events(present)
    return max((_attribute_drift(ranges, before, now, spread) for ranges, before, now in pairs), default=0.0)


def _is_known(values: ValueDistribution) -> bool:
    return len(values.keys) > 0 or values.null > 0


def _events(distribution: EventDistribution) -> float:
    """How many events of equal weight the distribution rests on."""
    if isinstance(distribution, JointDistribution):
        return max(distribution.effective_events, 1.0)
    return math.inf


def _attribute_drift(
    ranges: AttributeRanges, before: ValueDistribution, now: ValueDistribution, spread: float
) -> float:
    low, high = _buckets(ranges, before)
    then, present = (np.append(d.probability(low, high), d.null) for d in (before, now))
    distance = float(np.abs(present - then).sum()) / 2
    return max(distance - _by_chance((then + present) / 2, spread), 0.0)


def _by_chance(probabilities: Floats, spread: float) -> float:
    """The mean total variation of two samples of these probabilities, by the normal approximation."""
    variances = probabilities * (1 - probabilities) * spread
    return float(np.sqrt(2 * variances / math.pi).sum()) / 2


def _buckets(ranges: AttributeRanges, values: ValueDistribution) -> tuple[Ints, Ints]:
    """Ranges of keys that cover the domain, with about the same probability, cut where the profiles cut it."""
    branches = partition(np.arange(len(ranges.cares)), ranges, ranges.profile_of_range())
    cuts = np.unique(np.concatenate([branches.low, branches.high[branches.high < LAST_KEY] + 1]))
    cuts = cuts[cuts > LEAST_KEY]
    if len(cuts):
        below = values.probability(np.full(len(cuts), LEAST_KEY), cuts - 1)
        bucket = np.floor(below * MOST_BUCKETS)
        cuts = cuts[np.append(bucket[1:] != bucket[:-1], True)]
    return np.concatenate([[LEAST_KEY], cuts]), np.append(cuts - 1, LAST_KEY)

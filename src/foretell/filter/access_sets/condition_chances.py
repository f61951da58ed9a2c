"""The chances of conditions: how likely an event is to satisfy each, under a sample of events or without one.

Without a sample all values that profiles compare an attribute with for equality are equally likely, and values lie
among the bounds of ranges as these do themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Floats, Ints
from foretell.filter.access_sets.event_slots import ALL_BUT_ONE, LAST_FLOAT, LEAST_FLOAT, EventSlots, SlotKind
from foretell.filter.access_sets.profile_conditions import ProfileConditions
from foretell.filter.profile_tree.event_distribution import ValueDistribution
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY
from foretell.records import record

#: Of a sample so many quantiles are looked at: the search in them stays in the processor's first cache.
_QUANTILES = 512


@record
class AttributeSample:
    """The distribution of each attribute's keys in a sample of so many events."""

    attributes: tuple[ValueDistribution, ...]
    events: float


@record
class ConditionChances:
    """Of each condition its chance; of a range also that of one which ends later, at the end of its width class."""

    chance: NDArray[np.float32]
    window: NDArray[np.float32]
    width_class: NDArray[np.int8]


#: Width classes of ranges: without an upper or a lower bound, and others by the size of the range.
FROM_LOW, UP_TO_HIGH, FIRST_CLASS = 0, 1, 2
CLASSES = 64


def condition_chances(
    conditions: ProfileConditions, slots: EventSlots, sample: AttributeSample | None
) -> ConditionChances:
    # Small numbers: of a million profiles these are four million.
    chance = np.ones(len(conditions.slots), np.float32)
    window = np.ones(len(conditions.slots), np.float32)
    width_class = np.full(len(conditions.slots), -1, np.int8)
    for slot, (attribute, kind) in enumerate(slots.used):
        rows = np.flatnonzero(conditions.slots == slot)
        if not len(rows) or kind is SlotKind.PRESENCE:
            continue
        lows, spans = conditions.lows[rows], conditions.spans[rows]
        distribution = None if sample is None else sample.attributes[attribute]
        if kind is SlotKind.CODE:
            equal = spans != ALL_BUT_ONE
            values = slots.codes[attribute].values
            chance[rows[equal]] = _chances_of_values(values, distribution, sample)[lows[equal]]
            continue
        is_float = slots.attributes[attribute].is_float
        highs = lows + spans
        quantiles = _quantiles(lows, highs, is_float) if distribution is None else _of_sample(distribution)
        classes = _width_classes(lows, highs, is_float)
        chance[rows] = quantiles.between(lows, highs)
        window[rows] = quantiles.between(lows, _last_of_class(lows, highs, classes))
        width_class[rows] = classes
    return ConditionChances(chance, window, width_class)


def _chances_of_values(values: Ints, distribution: ValueDistribution | None, sample: AttributeSample | None) -> Floats:
    """The chance of each value; those that a sample does not have are a little likely, too."""
    if distribution is None or sample is None:
        return np.full(len(values), 1.0 / max(1, len(values)))
    seen = sample.events * distribution.probability(values, values)
    return (seen + 1.0) / (sample.events + len(values))


@record
class _Quantiles:
    """Keys, ascending, and the chance that a value is below each and at most each."""

    keys: Ints
    below: Floats
    up_to: Floats

    def between(self, lows: Ints, highs: Ints) -> Floats:
        if not len(self.keys):
            return np.ones(len(lows))
        first, last = np.searchsorted(self.keys, lows), np.searchsorted(self.keys, highs, side="right") - 1
        found = self.up_to[np.maximum(last, 0)] - self.below[np.minimum(first, len(self.keys) - 1)]
        return np.clip(np.where(last < first, 0.0, found), 0.5 / _QUANTILES, 1.0)


def _of_sample(distribution: ValueDistribution) -> _Quantiles:
    keys, cumulative = distribution.keys, distribution.cumulative
    at = np.unique(np.linspace(0, len(keys) - 1, _QUANTILES).astype(np.int64)) if len(keys) else np.zeros(0, np.int64)
    # Each quantile stands for the keys since the one before.
    below = np.concatenate([cumulative[:1], cumulative[at[:-1] + 1]]) if len(at) else np.zeros(0)
    return _Quantiles(keys[at], below, cumulative[at + 1])


def _quantiles(lows: Ints, highs: Ints, is_float: bool) -> _Quantiles:
    least, greatest = key_limits(is_float)
    bounds = np.concatenate([lows[lows > least], highs[highs < greatest]])
    bounds = np.sort(bounds[:: max(1, len(bounds) // (8 * _QUANTILES))])
    keys = np.unique(bounds[:: max(1, len(bounds) // _QUANTILES)])
    share = np.searchsorted(bounds, keys) / max(1, len(bounds))
    return _Quantiles(keys, share, np.searchsorted(bounds, keys, side="right") / max(1, len(bounds)))


def key_limits(is_float: bool) -> tuple[int, int]:
    """The least and the greatest key of values."""
    return (LEAST_FLOAT, LAST_FLOAT) if is_float else (LEAST_KEY + 1, LAST_KEY)


def _width_classes(lows: Ints, highs: Ints, is_float: bool) -> Ints:
    """The classes of ranges: those with both bounds by the number of bits of their width, two bits to a class."""
    least, greatest = key_limits(is_float)
    width = (highs.view(np.uint64) - lows.view(np.uint64)).astype(np.float64)
    classes = FIRST_CLASS + np.frexp(width)[1] // 2
    classes[highs == greatest] = FROM_LOW
    classes[(lows == least) & (highs < greatest)] = UP_TO_HIGH
    return classes.astype(np.int64)


def _last_of_class(lows: Ints, highs: Ints, classes: Ints) -> Ints:
    """The greatest key that a range of the class has which begins at `lows`."""
    bits = np.minimum(2 * (classes - FIRST_CLASS) + 1, 63)
    reach = np.where(classes < FIRST_CLASS, 0, (np.uint64(1) << np.maximum(bits, 0).astype(np.uint64)).view(np.int64))
    last = np.where(reach > LAST_KEY - np.maximum(lows, 0), LAST_KEY, lows + reach)
    return np.maximum(highs, last)

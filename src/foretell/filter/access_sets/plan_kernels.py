"""Kernels that look at the conditions of all profiles to plan their groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.filter.access_sets.condition_chances import CLASSES
from foretell.jit import compiled


@compiled
def equality_masks(starts: Ints, slots: Any, spans: Ints, bit_of_slot: Ints) -> Ints:
    """The attributes that each profile fixes by equality, as bits."""
    masks = np.zeros(starts.size - 1, np.int64)
    for profile in range(masks.size):
        for c in range(starts[profile], starts[profile + 1]):
            bit = bit_of_slot[slots[c]]
            if bit >= 0 and spans[c] == 0:
                masks[profile] |= 1 << bit
    return masks


@compiled
def equality_chances(
    sample: Ints, starts: Ints, slots: Any, chance: Any, spans: Ints, bit_of_slot: Ints, bits: int
) -> Any:
    """Of each profile of a sample the chance of each equality, 1 without it."""
    found = np.ones((sample.size, bits))
    for row in range(sample.size):
        for c in range(starts[sample[row]], starts[sample[row] + 1]):
            bit = bit_of_slot[slots[c]]
            if bit >= 0 and spans[c] == 0:
                found[row, bit] = chance[c]
    return found


@compiled
def assign_access(
    starts: Ints, slots: Any, chance: Any, masks: Ints, bit_of_slot: Ints, opened: Ints
) -> tuple[Ints, Floats]:
    """For each profile the access set whose values it shares with the fewest events, and the chance of these values."""
    access = np.zeros(masks.size, np.int64)
    key_chance = np.ones(masks.size)
    of_bit = np.ones(64)
    for profile in range(masks.size):
        for c in range(starts[profile], starts[profile + 1]):
            bit = bit_of_slot[slots[c]]
            if bit >= 0:
                of_bit[bit] = chance[c]
        best = 2.0
        for number in range(opened.size):
            mask = opened[number]
            if masks[profile] & mask != mask:
                continue
            product = 1.0
            bit = 0
            while mask:
                if mask & 1:
                    product *= of_bit[bit]
                mask >>= 1
                bit += 1
            if product < best:
                best = product
                access[profile] = number
        key_chance[profile] = best
    return access, key_chance


@compiled
def choose_sorts(starts: Ints, slots: Any, window: Any, width_class: Any) -> tuple[Ints, Floats]:
    """The most selective range of each profile as a number of its slot and width class, -1 without one, and its
    chance."""
    sort = np.full(starts.size - 1, -1, np.int64)
    chance = np.ones(starts.size - 1)
    for profile in range(sort.size):
        for c in range(starts[profile], starts[profile + 1]):
            if width_class[c] >= 0 and window[c] < chance[profile]:
                chance[profile] = window[c]
                sort[profile] = slots[c] * CLASSES + width_class[c]
    return sort, chance

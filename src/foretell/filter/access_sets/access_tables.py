"""Access tables: the arrays by which kernels find the profiles of one generation.

Each group has a table from keys to blocks. A key is made of the codes of the attributes that the group's profiles fix:
a number with a digit for each. The table is an array by key (`shift` is 64) or, if that would be sparse, a hash table.
A block is an interval of the group's records. Blocks of a sorted group are sorted by a bound, others by the numbers of
the profiles.

A record is a head and conditions: the number of the profile in the upper half of the head, then 16 bits for the slot of
each of the first two conditions; a word for each four further slots; the least word and the span of each condition.
Records of a group have equal length; conditions beyond those of a profile are always true. The head of a removed
profile is negative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.filter.access_sets.condition_chances import FROM_LOW, UP_TO_HIGH

#: Slots of conditions in a head and in each further word.
HEAD_SLOTS, WORD_SLOTS = 2, 4
SLOT_BITS, SLOT_MASK, NUMBER_SHIFT = 16, (1 << 16) - 1, 32

NOT_SORTED = -1
#: How a group is sorted: by the least key of a range that has no greatest one, by the greatest one of a range without a
#: least one, or by the least one of ranges no wider than `reach`.
BY_LOW, BY_HIGH, BY_RANGE = FROM_LOW, UP_TO_HIGH, 2


class AccessTables(NamedTuple):
    """The digits of group g's key are `digit_begin[g]` to `digit_begin[g + 1]`: the slot of each code, how many codes
    there were when the table was made, and the digit's place value.

    Array: block b of key k is `cells[cell_begin[g] + k]` to the cell after it. Hash table: places from
    `2 * cell_begin[g]` of `places`, each with a key and a block, `first << 32 | stop`, 0 where it is free. Most events
    have keys without a block: `bits`, from byte `bit_begin[g]` on, has one for each key that has a block, at the
    hash of the key shifted by `bit_shift[g]`. They are so few that they stay in the processor's cache.
    """

    digit_begin: Any
    digit_slot: Any
    digit_size: Any
    digit_value: Any
    shift: Any
    cell_begin: Any
    cells: Any
    places: Any
    bit_begin: Any
    bit_shift: Any
    bits: Any
    record_begin: Any
    width: Any
    stride: Any
    sort_kind: Any
    sort_slot: Any
    reach: Any
    bound_begin: Any
    bounds: Any
    records: Any


def slot_words(width: int) -> int:
    """The words of a record before its conditions."""
    return 1 + max(0, -(-(width - HEAD_SLOTS) // WORD_SLOTS))

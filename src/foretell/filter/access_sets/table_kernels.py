"""Kernels that fill access tables, remove profiles from them and read their conditions again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from foretell.arrays import Ints
from foretell.filter.access_sets.access_tables import (
    BY_HIGH,
    BY_RANGE,
    HEAD_SLOTS,
    NOT_SORTED,
    NUMBER_SHIFT,
    SLOT_BITS,
    SLOT_MASK,
    WORD_SLOTS,
    AccessTables,
)
from foretell.filter.access_sets.event_slots import EVERYTHING
from foretell.filter.profile_tree.value_keys import LEAST_KEY
from foretell.jit import inlined, kernel

_HASH = np.uint64(0x9E3779B97F4A7C15)


class Conditions(NamedTuple):
    """The conditions of profiles, as in ProfileConditions, with counts instead of starts."""

    numbers: Any
    counts: Any
    slots: Any
    lows: Any
    spans: Any


@kernel
def write_keys_and_bounds(
    tables: AccessTables, group: Ints, starts: Ints, slots: Any, lows: Ints, spans: Ints, keys: Ints, bounds: Ints
) -> None:
    """The key of each profile in its group, and the bound by which the group is sorted, or 0."""
    for profile in range(group.size):
        g = group[profile]
        key = bound = 0
        for c in range(starts[profile], starts[profile + 1]):
            for d in range(tables.digit_begin[g], tables.digit_begin[g + 1]):
                if tables.digit_slot[d] == slots[c] and spans[c] == 0:
                    key += lows[c] * tables.digit_value[d]
            if tables.sort_slot[g] == slots[c]:
                bound = lows[c] + spans[c] if tables.sort_kind[g] == BY_HIGH else lows[c]
        keys[profile], bounds[profile] = key, bound


@inlined
def place_of_key(tables: AccessTables, group: int, key: int) -> int:
    """The place of a key in the hash table of a group, or the free place where it belongs."""
    begin = tables.cell_begin[group]
    last = (1 << (64 - int(np.int64(tables.shift[group])))) - 1
    place = int(np.int64((np.uint64(key) * _HASH) >> tables.shift[group]))
    while tables.places[2 * (begin + place) + 1] != 0 and tables.places[2 * (begin + place)] != key:
        place = (place + 1) & last
    return int(begin + place)


@inlined
def bit_of_key(tables: AccessTables, group: int, key: int) -> int:
    """The number of the bit of a key among those of all groups."""
    bit = int(np.int64((np.uint64(key) * _HASH) >> tables.bit_shift[group]))
    return int(8 * tables.bit_begin[group] + bit)


@kernel
def write_blocks(tables: AccessTables, sizes: Ints, groups: Ints, keys: Ints, firsts: Ints, stops: Ints) -> None:
    """Write the block of each key to the tables; keys ascend within their group. `sizes` are those of the arrays."""
    previous, cell = -1, 0
    for block in range(groups.size):
        g = groups[block]
        if tables.shift[g] == np.uint64(64):
            if g != previous:
                cell = 0
            begin = tables.cell_begin[g]
            while cell <= keys[block]:
                tables.cells[begin + cell] = firsts[block]
                cell += 1
            if block + 1 == groups.size or groups[block + 1] != g:
                while cell < sizes[g]:
                    tables.cells[begin + cell] = stops[block]
                    cell += 1
        else:
            bit = bit_of_key(tables, g, keys[block])
            tables.bits[bit >> 3] |= 1 << (bit & 7)
            place = place_of_key(tables, g, keys[block])
            tables.places[2 * place] = keys[block]
            tables.places[2 * place + 1] = firsts[block] << NUMBER_SHIFT | stops[block]
        previous = g


@inlined
def _is_digit(tables: AccessTables, group: int, slot: int) -> bool:
    is_digit = False
    for d in range(tables.digit_begin[group], tables.digit_begin[group + 1]):
        is_digit |= tables.digit_slot[d] == slot
    return is_digit


@kernel
def write_records(
    tables: AccessTables,
    order: Ints,
    order_begin: Ints,
    numbers: Ints,
    starts: Ints,
    slots: Any,
    lows: Ints,
    spans: Ints,
    chance: Any,
    places: Ints,
    scratch: Ints,
) -> None:
    """Write the records of profiles in their order, group by group, and the place of each. The least likely condition
    comes first. `scratch` has room for the conditions of one profile."""
    for g in range(tables.width.size):
        words = tables.records
        width, stride = tables.width[g], tables.stride[g]
        before = stride - 2 * width
        at = tables.record_begin[g]
        for i in range(order_begin[g], order_begin[g + 1]):
            profile = order[i]
            count = 0
            for c in range(starts[profile], starts[profile + 1]):
                if spans[c] == 0 and _is_digit(tables, g, slots[c]):
                    continue
                if slots[c] == tables.sort_slot[g] and tables.sort_kind[g] != BY_RANGE:
                    continue
                place = count
                while place > 0 and chance[scratch[place - 1]] > chance[c]:
                    scratch[place] = scratch[place - 1]
                    place -= 1
                scratch[place] = c
                count += 1
            for word in range(before):
                words[at + word] = 0
            words[at] = numbers[profile] << NUMBER_SHIFT
            for number in range(width):
                low, span, slot = 0, EVERYTHING, 0
                if number < count:
                    c = scratch[number]
                    low, span, slot = lows[c], spans[c], int(slots[c])
                if number < HEAD_SLOTS:
                    words[at] |= slot << (SLOT_BITS * number)
                else:
                    rest = number - HEAD_SLOTS
                    words[at + 1 + rest // WORD_SLOTS] |= slot << (SLOT_BITS * (rest % WORD_SLOTS))
                words[at + before + 2 * number] = low
                words[at + before + 2 * number + 1] = span
            places[profile] = at
            at += stride


@inlined
def slot_of_condition(records: Any, at: int, number: int) -> int:
    """The slot of a condition of the record at a place."""
    if number < HEAD_SLOTS:
        return int((records[at] >> (SLOT_BITS * number)) & SLOT_MASK)
    rest = number - HEAD_SLOTS
    return int((records[at + 1 + rest // WORD_SLOTS] >> (SLOT_BITS * (rest % WORD_SLOTS))) & SLOT_MASK)


@inlined
def _read_block(
    tables: AccessTables,
    group: int,
    key: int,
    first: int,
    stop: int,
    limits: Ints,
    out: Conditions,
    left: int,
    end: int,
) -> tuple[int, int]:
    """Write the conditions of a block's profiles that are left; how many profiles and conditions there are now."""
    width, stride, kind = tables.width[group], tables.stride[group], tables.sort_kind[group]
    before = stride - 2 * width
    for record in range(first, stop):
        at = tables.record_begin[group] + record * stride
        if tables.records[at] < 0:
            continue
        begin = end
        for d in range(tables.digit_begin[group], tables.digit_begin[group + 1]):
            code = key // tables.digit_value[d] % tables.digit_size[d]
            out.slots[end], out.lows[end], out.spans[end] = tables.digit_slot[d], code, 0
            end += 1
        if kind != NOT_SORTED and kind != BY_RANGE:
            slot, bound = tables.sort_slot[group], tables.bounds[tables.bound_begin[group] + record]
            low = limits[slot, 0] if kind == BY_HIGH else bound
            high = bound if kind == BY_HIGH else limits[slot, 1]
            out.slots[end], out.lows[end], out.spans[end] = slot, low, high - low
            end += 1
        for number in range(width):
            span = tables.records[at + before + 2 * number + 1]
            if span != EVERYTHING:
                out.slots[end] = slot_of_condition(tables.records, at, number)
                out.lows[end], out.spans[end] = tables.records[at + before + 2 * number], span
                end += 1
        out.numbers[left] = tables.records[at] >> NUMBER_SHIFT
        out.counts[left] = end - begin
        left += 1
    return left, end


@kernel
def read_tables(tables: AccessTables, sizes: Ints, limits: Ints, out: Conditions) -> int:
    """Write the conditions of the profiles that are left, by group and block; `limits` are the least and the greatest
    key of each slot. Returns the number of conditions."""
    left = end = 0
    for g in range(tables.width.size):
        begin = tables.cell_begin[g]
        if tables.shift[g] == np.uint64(64):
            for key in range(sizes[g] - 1):
                first, stop = int(tables.cells[begin + key]), int(tables.cells[begin + key + 1])
                left, end = _read_block(tables, g, key, first, stop, limits, out, left, end)
        else:
            for place in range(begin, begin + (1 << (64 - np.int64(tables.shift[g])))):
                block = tables.places[2 * place + 1]
                first, stop = block >> NUMBER_SHIFT, block & ((1 << NUMBER_SHIFT) - 1)
                left, end = _read_block(tables, g, tables.places[2 * place], first, stop, limits, out, left, end)
    return end


@kernel
def remove_records(records: Ints, places: Ints) -> None:
    """Mark the records at these places as removed."""
    for i in range(places.size):
        records[places[i]] |= LEAST_KEY

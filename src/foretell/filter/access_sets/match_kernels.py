"""The kernels that find the profiles of events in access tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.access_sets.access_tables import (
    BY_HIGH,
    NOT_SORTED,
    NUMBER_SHIFT,
    SLOT_BITS,
    SLOT_MASK,
    AccessTables,
)
from foretell.filter.access_sets.table_kernels import bit_of_key, place_of_key, slot_of_condition
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY
from foretell.jit import compiled, inlined, kernel

#: Of each block that an event finds: the group, the first record and the one after the last.
BLOCK_WORDS = 3
#: What the kernels count: blocks with candidates, bisections, candidates, matches.
BLOCKS, BISECTIONS, CANDIDATES, MATCHES = 0, 1, 2, 3
WORK_KINDS = 4
#: Runs of numbers up to this length are sorted by insertion.
_FEW = 24
_BYTE, _VALUES = 8, 256


@inlined
def _first_at_least(bounds: Any, first: int, stop: int, value: int) -> int:
    """The first place of ascending bounds that is not below the value; the ends are looked at first."""
    if first == stop or bounds[first] >= value:
        return first
    if bounds[stop - 1] < value:
        return stop
    low, high = first, stop - 1  # the bound at low is below, that at high is not
    while high - low > 1:
        middle = (low + high) >> 1
        if bounds[middle] < value:
            low = middle
        else:
            high = middle
    return high


@inlined
def _find_blocks(tables: AccessTables, rows: Any, event: int, blocks: Any, work: Any) -> tuple[int, int]:
    """Write the blocks in which an event has candidates; how many there are, and how many candidates."""
    found = candidates = 0
    for g in range(tables.width.size):
        key = 0
        for d in range(tables.digit_begin[g], tables.digit_begin[g + 1]):
            code = rows[event, tables.digit_slot[d]]
            if code < 0 or code >= tables.digit_size[d]:
                key = -1
                break
            key += code * tables.digit_value[d]
        if key < 0:
            continue
        if tables.shift[g] == np.uint64(64):
            cell = tables.cell_begin[g] + key
            first, stop = int(tables.cells[cell]), int(tables.cells[cell + 1])
        else:
            bit = bit_of_key(tables, g, key)
            if not (tables.bits[bit >> 3] >> (bit & 7)) & 1:
                continue
            block = tables.places[2 * place_of_key(tables, g, key) + 1]
            first, stop = block >> NUMBER_SHIFT, block & ((1 << NUMBER_SHIFT) - 1)
        kind = tables.sort_kind[g]
        if first < stop and kind != NOT_SORTED:
            value, begin = rows[event, tables.sort_slot[g]], tables.bound_begin[g]
            if value == LEAST_KEY:
                continue
            work[BISECTIONS] += 1
            low, high = begin + first, begin + stop
            if kind == BY_HIGH:
                low = _first_at_least(tables.bounds, low, high, value)
            else:
                if tables.reach[g] >= 0 and value > LEAST_KEY + tables.reach[g]:
                    low = _first_at_least(tables.bounds, low, high, value - tables.reach[g])
                if value < LAST_KEY:
                    high = _first_at_least(tables.bounds, low, high, value + 1)
            first, stop = low - begin, high - begin
        if first < stop:
            blocks[BLOCK_WORDS * found] = g
            blocks[BLOCK_WORDS * found + 1] = first
            blocks[BLOCK_WORDS * found + 2] = stop
            found += 1
            candidates += stop - first
    work[BLOCKS] += found
    work[CANDIDATES] += candidates
    return found, candidates


@inlined
def _holds(rows: Any, event: int, slot: int, low: int, span: int) -> bool:
    return bool(np.uint64(rows[event, slot] - low) <= np.uint64(span))


@inlined
def _scan(tables: AccessTables, rows: Any, event: int, group: int, first: int, stop: int, out: Any, end: int) -> int:
    """Write the numbers of the candidates whose conditions hold."""
    words, width, stride = tables.records, tables.width[group], tables.stride[group]
    at = tables.record_begin[group] + first * stride
    # Every number is written, and counts only if it belongs there: a jump that depends on data would cost more.
    if width == 0:
        for _ in range(first, stop):
            head = words[at]
            out[end] = head >> NUMBER_SHIFT
            end += head >= 0
            at += stride
    elif width == 1:
        for _ in range(first, stop):
            head = words[at]
            out[end] = head >> NUMBER_SHIFT
            end += (head >= 0) & _holds(rows, event, head & SLOT_MASK, words[at + 1], words[at + 2])
            at += stride
    elif width == 2:
        for _ in range(first, stop):
            head = words[at]
            out[end] = head >> NUMBER_SHIFT
            end += (
                (head >= 0)
                & _holds(rows, event, head & SLOT_MASK, words[at + 1], words[at + 2])
                & _holds(rows, event, (head >> SLOT_BITS) & SLOT_MASK, words[at + 3], words[at + 4])
            )
            at += stride
    else:
        before = stride - 2 * width
        for _ in range(first, stop):
            if words[at] >= 0:
                number = 0
                while number < width:
                    place = at + before + 2 * number
                    slot = slot_of_condition(words, at, number)
                    if not _holds(rows, event, slot, words[place], words[place + 1]):
                        break
                    number += 1
                if number == width:
                    out[end] = words[at] >> NUMBER_SHIFT
                    end += 1
            at += stride
    return end


@inlined
def _insertion_sort(numbers: Any, begin: int, end: int) -> None:
    for i in range(begin + 1, end):
        number = numbers[i]
        place = i
        while place > begin and numbers[place - 1] > number:
            numbers[place] = numbers[place - 1]
            place -= 1
        numbers[place] = number


@inlined
def _radix_sort(numbers: Any, begin: int, end: int, spare: Any, counts: Any) -> None:
    """Sort byte by byte, from the lowest to the highest in which numbers differ."""
    least = greatest = numbers[begin]
    for i in range(begin + 1, end):
        least, greatest = min(least, numbers[i]), max(greatest, numbers[i])
    shift = 0
    while (greatest - least) >> shift:
        for value in range(_VALUES):
            counts[value] = 0
        for i in range(begin, end):
            counts[((numbers[i] - least) >> shift) & (_VALUES - 1)] += 1
        place = 0
        for value in range(_VALUES):
            count = counts[value]
            counts[value] = place
            place += count
        for i in range(begin, end):
            value = ((numbers[i] - least) >> shift) & (_VALUES - 1)
            spare[counts[value]] = numbers[i]
            counts[value] += 1
        for i in range(end - begin):
            numbers[begin + i] = spare[i]
        shift += _BYTE


@inlined
def _merge(numbers: Any, begin: int, middle: int, end: int, spare: Any) -> None:
    """Merge two ascending runs that follow one another."""
    if numbers[middle - 1] < numbers[middle]:
        return
    count = middle - begin
    for i in range(count):
        spare[i] = numbers[begin + i]
    left, right, place = 0, middle, begin
    while left < count and right < end:
        first, second = spare[left], numbers[right]
        takes_left = first < second
        numbers[place] = first if takes_left else second
        left += takes_left
        right += not takes_left
        place += 1
    while left < count:
        numbers[place] = spare[left]
        left += 1
        place += 1


@inlined
def _sort_runs(numbers: Any, ends: Any, runs: int, begin: int, spare: Any) -> None:
    """Sort what consists of ascending runs; the ends of these are overwritten."""
    while runs > 1:
        start, kept = begin, 0
        for run in range(0, runs - 1, 2):
            _merge(numbers, start, ends[run], ends[run + 1], spare)
            start = ends[run + 1]
            ends[kept] = start
            kept += 1
        if runs & 1:
            ends[kept] = ends[runs - 1]
            kept += 1
        runs = kept


@kernel
def match_events(
    tables: AccessTables,
    rows: Any,
    wanted: Flags,
    begin: int,
    stop: int,
    offsets: Ints,
    out: Ints,
    blocks: Ints,
    spare: Ints,
    counts: Ints,
    work: Ints,
) -> tuple[int, int]:
    """The profiles of the events from `begin` on, ascending. Ends before the event whose candidates have no room: the
    event at which it ended, and how much room it needs. `work` counts what was done."""
    end = 0
    for event in range(begin, stop):
        if wanted[event]:
            found, candidates = _find_blocks(tables, rows, event, blocks, work)
            if end + candidates > out.size:
                work[MATCHES] += end
                return event, candidates
            first = end
            runs = 0
            for block in range(found):
                group = blocks[BLOCK_WORDS * block]
                before = end
                end = _scan(
                    tables,
                    rows,
                    event,
                    group,
                    blocks[BLOCK_WORDS * block + 1],
                    blocks[BLOCK_WORDS * block + 2],
                    out,
                    end,
                )
                if end > before:
                    if tables.sort_kind[group] != NOT_SORTED:
                        if end - before <= _FEW:
                            _insertion_sort(out, before, end)
                        else:
                            _radix_sort(out, before, end, spare, counts)
                    blocks[runs] = end  # of a block that was scanned before
                    runs += 1
            if runs > 1:
                _sort_runs(out, blocks, runs, first, spare)
        offsets[event - begin + 1] = end
    work[MATCHES] += end
    return stop, 0


@kernel
def match_recent(
    numbers: Ints,
    starts: Ints,
    slots: Any,
    lows: Ints,
    spans: Ints,
    rows: Any,
    wanted: Flags,
    begin: int,
    stop: int,
    offsets: Ints,
    out: Ints,
) -> None:
    """The same by comparing every profile, for a few."""
    end = 0
    for event in range(begin, stop):
        if wanted[event]:
            for profile in range(numbers.size):
                holds = True
                for c in range(starts[profile], starts[profile + 1]):
                    if not _holds(rows, event, slots[c], lows[c], spans[c]):
                        holds = False
                        break
                out[end] = numbers[profile]
                end += holds
        offsets[event - begin + 1] = end


@compiled
def append_matches(offsets: Ints, profiles: Ints, more_offsets: Ints, more: Ints) -> tuple[Ints, Ints]:
    """Of each event the profiles of both, the second after the first."""
    together = offsets + more_offsets
    found = np.empty(profiles.size + more.size, np.int64)
    place = 0
    for event in range(offsets.size - 1):
        for i in range(offsets[event], offsets[event + 1]):
            found[place] = profiles[i]
            place += 1
        for i in range(more_offsets[event], more_offsets[event + 1]):
            found[place] = more[i]
            place += 1
    return together, found

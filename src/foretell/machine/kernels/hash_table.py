"""Open-addressed hash tables with linear probing, as arrays.

A table is an array of a power of two of slots, at most half full, in which a negative number marks a free slot. Its
owner stores keys as it likes and compares them itself; it finds the slot of a key with

    slot = first_slot(hash_of_key, table)
    while table[slot] >= 0 and not the same key:
        slot = next_slot(slot, table)
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import Array


@inlined
def mixed(so_far: Any, word: Any) -> Any:
    """A hash with one word more (Fibonacci hashing; the shift makes high bits count)."""
    more = (so_far ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15)
    return more ^ (more >> np.uint64(32))


#: Two random words of this process, the second odd: a sender that chooses the keys of events cannot choose slots. No
#: snapshot has them, nor any table that was made with them. Kernels take them as an argument: the cache would keep a
#: constant.
SECRET = np.array([secrets.randbits(64), secrets.randbits(64) | 1], np.uint64)
SECRET.setflags(write=False)


@inlined
def keyed(so_far: Any, word: Any, secret: Array) -> Any:
    """A hash with one word more, for words that somebody else chooses. `mixed` alone can be turned around; and whatever
    it begins with, words that differ only in high bits have slots in common."""
    more = mixed(so_far ^ secret[0], word) * secret[1]
    return more ^ (more >> np.uint64(32))


@inlined
def first_slot(hashed: Any, table: Array) -> Any:
    """The slot at which the search for a key begins."""
    return np.int64(hashed & np.uint64(table.size - 1))


@inlined
def next_slot(slot: Any, table: Array) -> Any:
    """The slot to try after another."""
    return (slot + 1) & (table.size - 1)


@inlined
def slot_of(number: Any, table: Array) -> Any:
    """The slot of a number in a set of numbers from 0 on, or the free slot where it belongs."""
    slot = first_slot(mixed(np.uint64(0), number), table)
    while table[slot] >= 0 and table[slot] != number:
        slot = next_slot(slot, table)
    return slot


@inlined
def slot_of_word(word: Any, words: Array, table: Array) -> Any:
    """The slot of a word in a map whose keys lie in `words`, slot by slot, or the free slot where it belongs."""
    slot = first_slot(mixed(np.uint64(0), word), table)
    while table[slot] >= 0 and words[slot] != word:
        slot = next_slot(slot, table)
    return slot


@kernel
def slot_of_sequence(
    first: int, last: int, values: Any, starts: Any, known: Any, width: int, slots: Any, secret: Any
) -> Any:
    """The slot of a key that is the sequence `values[first:last]`, or the free slot where it belongs. Key i of the
    table is `known[starts[i]:starts[i + 1]]`; without starts all keys have a `width`."""
    hashed = np.uint64(last - first)
    for at in range(first, last):
        hashed = keyed(hashed, values[at], secret)
    slot = first_slot(hashed, slots)
    while slots[slot] >= 0:
        other = np.int64(slots[slot])
        begin = starts[other] if starts.size else width * other
        end = starts[other + 1] if starts.size else width * other + width
        same = end - begin == last - first
        at = 0
        while same and at < last - first:
            same = known[begin + at] == values[first + at]
            at += 1
        if same:
            break
        slot = next_slot(slot, slots)
    return slot

"""Hashes of events by their time and the attributes that a statement reads: the same in every run and every process.

A hash covers the last events of the lane, too. Single events of different histories may be equal, if their clocks start
at 0 and their values are few; sequences of them are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from foretell.arrays import Ints, Words
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary

#: The events that one hash covers.
SEQUENCE = 8

_FACTORS = tuple(map(np.uint64, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
_SHIFTS = tuple(map(np.uint64, (30, 27, 31)))
_NULL = np.uint64(0x9E3779B97F4A7C15)


def event_hashes(events: EventColumns, attributes: Sequence[str], strings: StringDictionary) -> Words:
    """The hash of each event. Statements and rows of a template that read the same attributes share it."""
    key: Any = ("hash", *attributes)
    cache = events.cache
    if key not in cache:
        joined = np.zeros(len(events), np.uint64)
        named = (events.attributes[name] for name in attributes if name in events.attributes)
        for column in (events.time, events.stream, *named):
            joined = _mixed(joined ^ _column_hashes(column, strings, len(events)))
        cache[key] = joined
    hashes: Words = cache[key]
    return hashes


def sequence_hashes(hashes: Words, process: Ints, ordinal: Ints) -> Words:
    """The hash of each event together with those before it in its process."""
    order = np.lexsort((ordinal, process))
    sorted_process, single = process[order], hashes[order]
    joined = single.copy()
    for distance in range(1, SEQUENCE):
        before = np.zeros_like(single)
        before[distance:] = np.where(sorted_process[distance:] == sorted_process[:-distance], single[:-distance], 0)
        joined = _mixed(joined ^ before)
    return joined


def _column_hashes(column: Column, strings: StringDictionary, count: int) -> Words:
    if column.kind is Type.STRING:
        codes, place = np.unique(np.where(column.nulls, 0, column.values).astype(np.int64), return_inverse=True)
        values = np.array([_text_hash(strings.text(code)) for code in codes.tolist()], np.uint64)[place]
    else:  # as FLOAT: data may show a column as INT here and as FLOAT there
        values = _mixed((column.values.astype(np.float64) + 0.0).view(np.uint64))
    return np.broadcast_to(np.where(column.nulls, _NULL, values), count)


def _text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _mixed(values: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014)."""
    values = values + _NULL
    values = (values ^ (values >> _SHIFTS[0])) * _FACTORS[0]
    values = (values ^ (values >> _SHIFTS[1])) * _FACTORS[1]
    return values ^ (values >> _SHIFTS[2])

"""Codes of the values that profiles compare an attribute with for equality: small numbers that keys are made of.

Values are keys (filter.profile_tree.value_keys). Codes are given in the order in which values come. Values that are
close together, as codes of texts are, have a table by value, others a hash table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from foretell.arrays import Ints
from foretell.jit import inlined, kernel

#: Codes of events: no value, and a value that no profile has.
NULL_CODE, UNKNOWN_CODE = -2, -1

#: A table by value has at most so many places for each value.
_PLACES = 8
_LEAST_PLACES = 1024

_HASH = np.uint64(0x9E3779B97F4A7C15)


class CodeTable(NamedTuple):
    """The codes as kernels find them: at `codes[value - base]` if `values` is empty, otherwise at the place of the
    value in `values`, which is searched from its hash on. A code below 0 is a free place."""

    base: int
    shift: Any
    values: Any
    codes: Any


class ValueCodes:
    """The codes of values.

    >>> codes = ValueCodes()
    >>> codes.of(np.array([70, 30, 70])).tolist(), codes.values.tolist(), len(codes)
    ([0, 1, 0], [70, 30], 2)
    """

    def __init__(self) -> None:
        self._values = np.zeros(16, np.int64)
        self._count = 0
        self._least, self._greatest = 0, -1
        self.table = _table(np.zeros(0, np.int64), 0, _LEAST_PLACES)

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> Ints:
        """The value of each code."""
        return self._values[: self._count]

    @property
    def nbytes(self) -> int:
        return int(self._values.nbytes + self.table.values.nbytes + self.table.codes.nbytes)

    def of(self, values: Ints) -> Ints:
        """The codes of values; new ones get codes."""
        codes = np.empty(len(values), np.int64)
        done = 0
        if len(values):
            self._reach(int(values.min()), int(values.max()), len(values))
        while done < len(values):
            room = min(len(self._values), max(_places(self.table) // 2, self._count))
            self._count, done = give_codes(self.table, values, self._values, self._count, room, codes, done)
            if done < len(values):
                self._grow()
        return codes

    def _reach(self, least: int, greatest: int, more: int) -> None:
        """Make a table that has places for values between these, or for so many more if it is a hash table."""
        if self._count:
            least, greatest = min(least, self._least), max(greatest, self._greatest)
        self._least, self._greatest = least, greatest
        reach = greatest - least + 1
        by_value = not len(self.table.values)
        if by_value and self.table.base <= least and greatest < self.table.base + len(self.table.codes):
            return
        if reach <= max(_LEAST_PLACES, _PLACES * (self._count + more)):
            if not by_value:
                return
            self.table = _table(self.values, least, max(_LEAST_PLACES, reach + reach // 2))
        elif by_value:
            self.table = _hash_table(self.values, max(64, 4 * self._count))

    def _grow(self) -> None:
        if self._count == len(self._values):
            self._values = np.concatenate([self._values, np.zeros(len(self._values), np.int64)])
        if len(self.table.values) and self._count >= len(self.table.codes) // 2:
            self.table = _hash_table(self.values, 4 * self._count)


def _places(table: CodeTable) -> int:
    return len(table.codes) if len(table.values) else 2 * len(table.codes)


def _table(values: Ints, base: int, places: int) -> CodeTable:
    codes = np.full(places, -1, np.int32)
    codes[values - base] = np.arange(len(values))
    return CodeTable(base, np.uint64(0), np.zeros(0, np.int64), codes)


def _hash_table(values: Ints, places: int) -> CodeTable:
    bits = max(6, (places - 1).bit_length())
    table = CodeTable(0, np.uint64(64 - bits), np.zeros(1 << bits, np.int64), np.full(1 << bits, -1, np.int32))
    put_codes(table, values)
    return table


@inlined
def place_of(table: CodeTable, value: int) -> int:
    """The place of a value in a hash table, or the free place where it belongs."""
    place = int(np.int64((np.uint64(value) * _HASH) >> table.shift))
    while table.codes[place] >= 0 and table.values[place] != value:
        place = (place + 1) & (table.codes.size - 1)
    return place


@inlined
def code_of(table: CodeTable, value: int) -> int:
    """The code of a value, UNKNOWN_CODE without one."""
    if table.values.size:
        return int(table.codes[place_of(table, value)])
    place = value - table.base
    return int(table.codes[place]) if 0 <= place < table.codes.size else UNKNOWN_CODE


@kernel
def put_codes(table: CodeTable, values: Ints) -> None:
    """Fill a hash table with values, whose codes are their numbers."""
    for code in range(values.size):
        place = place_of(table, values[code])
        table.values[place] = values[code]
        table.codes[place] = code


@kernel
def give_codes(
    table: CodeTable, values: Ints, known: Ints, count: int, most: int, codes: Ints, begin: int
) -> tuple[int, int]:
    """Codes of values from `begin` on, until `most` values have one; the number of codes and of values done."""
    by_hash = table.values.size > 0
    for i in range(begin, values.size):
        value = values[i]
        place = place_of(table, value) if by_hash else value - table.base
        code = table.codes[place]
        if code < 0:
            if count >= most:
                return count, i
            code = count
            known[code] = value
            if by_hash:
                table.values[place] = value
            table.codes[place] = code
            count += 1
        codes[i] = code
    return count, values.size

"""Event slots: the words of an event that profiles look at, a row for each event.

An attribute is an expression, compared as INT or as FLOAT. It has up to three slots, each only if a profile uses it:
its value as a key (filter.profile_tree.value_keys), the code of its value among those that profiles compare with for
equality, and whether it is there. A condition is a closed range of one slot:

- `x >= 5` is a range of the key. The key of NULL and of NaN is LEAST_KEY, which is in no range: the key of the least
  INT is one more. Conditions that tell the two least INTs apart look at the code, too.
- `x = 5` is a range of one code, `x <> 5` the range of all other codes, from the next one round to the one before, and
  the range [1, 1] of the third slot: a NULL is not unequal to anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.access_sets.value_codes import NULL_CODE, UNKNOWN_CODE, CodeTable, ValueCodes, code_of
from foretell.filter.column import Column, as_float
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY, key_of
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import inlined, kernel, read_only
from foretell.language.tree import Expression
from foretell.records import record

#: The slots of an index: a record has 16 bits for each.
MOST_SLOTS = 1 << 16

#: The least and the greatest FLOAT.
LEAST_FLOAT, LAST_FLOAT = key_of(-np.inf, Type.FLOAT), key_of(np.inf, Type.FLOAT)


class SlotKind(IntEnum):
    """The property of an attribute that a slot holds."""

    KEY = 0
    CODE = 1
    PRESENCE = 2


@record
class IndexedAttribute:
    """An expression that profiles compare, as FLOAT or as a whole number."""

    expression: Expression
    is_float: bool

    def words(self, events: EventColumns, strings: StringDictionary) -> tuple[Ints, Flags]:
        """Its values as 64-bit words and its NULLs."""
        column = events.evaluate(self.expression, strings)
        if column.kind is Type.NULL:
            return np.zeros(len(events), np.int64), np.ones(len(events), np.bool_)
        if not self.is_float and column.kind is Type.FLOAT:
            raise TypeError(f"the values of {self.expression} are FLOAT and were planned as {Type.INT.value}")
        values = words_of(column, self.is_float)
        return read_only(values), read_only(np.ascontiguousarray(column.nulls))


def words_of(column: Column, is_float: bool) -> Ints:
    values = as_float(column).values if is_float else column.values
    return np.ascontiguousarray(values).view(np.int64)


class EventSlots:
    """The attributes of an index and their slots, which are numbered as profiles come to use them."""

    def __init__(self, attributes: Sequence[IndexedAttribute]) -> None:
        self.attributes = tuple(attributes)
        self.codes = [ValueCodes() for _ in attributes]
        #: The number of each slot, by attribute and kind; -1 where none of the profiles uses it.
        self.numbers = np.full((len(self.attributes), len(SlotKind)), -1, np.int32)
        self.used: list[tuple[int, SlotKind]] = []

    def use(self, needed: Flags) -> None:
        """Number the slots that are needed, given by attribute and kind."""
        new = needed & (self.numbers < 0)
        if not new.any():
            return
        for attribute, kind in np.argwhere(new).tolist():
            self.numbers[attribute, kind] = len(self.used)
            self.used.append((attribute, SlotKind(kind)))
        if len(self.used) > MOST_SLOTS:
            raise OverflowError(f"an index compares at most {MOST_SLOTS:,} attributes and their codes")

    def of_events(
        self, events: EventColumns, strings: StringDictionary, part: slice, tables: Sequence[CodeTable]
    ) -> Ints:
        """A row for each event of a part of the batch, with the codes of these tables."""
        rows = np.empty((part.stop - part.start, max(1, len(self.used))), np.int64)
        for slot, (attribute, kind) in enumerate(self.used):
            words, nulls = self.attributes[attribute].words(events, strings)
            words, nulls = words[part], nulls[part]
            if kind is SlotKind.KEY:
                write_keys(words, nulls, self.attributes[attribute].is_float, rows, slot)
            elif kind is SlotKind.CODE:
                write_codes(words, nulls, self.attributes[attribute].is_float, tables[attribute], rows, slot)
            else:
                rows[:, slot] = ~nulls
        return rows

    @property
    def code_tables(self) -> tuple[CodeTable, ...]:
        return tuple(codes.table for codes in self.codes)

    @property
    def nbytes(self) -> int:
        return sum(codes.nbytes for codes in self.codes)


@inlined
def key_of_word(word: int, is_float: bool) -> int:
    """The key of a value; LEAST_KEY for NaN."""
    if not is_float:
        return word
    key = LEAST_KEY - word if word < 0 else word
    return LEAST_KEY if key > LAST_FLOAT or key < LEAST_FLOAT else key


@kernel
def write_keys(words: Ints, nulls: Flags, is_float: bool, rows: Any, slot: int) -> None:
    """Write the slot of keys."""
    for i in range(words.size):
        key = key_of_word(words[i], is_float)
        if nulls[i]:
            key = LEAST_KEY
        elif not is_float and key == LEAST_KEY:
            key += 1
        rows[i, slot] = key


@kernel
def write_codes(words: Ints, nulls: Flags, is_float: bool, table: CodeTable, rows: Any, slot: int) -> None:
    """Write the slot of codes."""
    for i in range(words.size):
        key = key_of_word(words[i], is_float)
        if nulls[i]:
            rows[i, slot] = NULL_CODE
        elif is_float and key == LEAST_KEY:
            rows[i, slot] = UNKNOWN_CODE
        else:
            rows[i, slot] = code_of(table, key)


#: Of a condition that is always true; the ranges of the key and of a code are smaller.
EVERYTHING = -1
#: Of the range of all codes but one.
ALL_BUT_ONE = -2
assert LAST_KEY - (LEAST_KEY + 1) == 2**64 - 2

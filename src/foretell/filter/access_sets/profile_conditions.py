"""The conditions of profiles as closed ranges of event slots: one form for all comparisons and types.

What several comparisons of a profile say about one attribute is one range. A profile that no event can satisfy has a
number and no conditions: it is never stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.access_sets.event_slots import (
    ALL_BUT_ONE,
    LAST_FLOAT,
    LEAST_FLOAT,
    EventSlots,
    IndexedAttribute,
    SlotKind,
    key_of_word,
    words_of,
)
from foretell.filter.access_sets.value_codes import ValueCodes
from foretell.filter.column import Column
from foretell.filter.profile_index import ProfileComparison, constant_column
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import kernel
from foretell.records import record

#: Profiles that are read at once: the arrays have room for all conditions that so many may have.
_CHUNK = 1 << 15

_OPERATORS = {"=": 0, "<>": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_EQUAL, _UNEQUAL, _LESS, _AT_MOST, _GREATER = 0, 1, 2, 3, 4
_KEY, _CODE, _PRESENCE = int(SlotKind.KEY), int(SlotKind.CODE), int(SlotKind.PRESENCE)


@record
class ProfileConditions:
    """Profiles with the conditions `starts[i]` to `starts[i + 1]`, ascending by their `numbers`.

    An event satisfies a condition if the word in the `slots` of the condition, less its `lows`, is at most its `spans`,
    as unsigned words.
    """

    numbers: Ints
    starts: Ints
    slots: NDArray[np.int32]
    lows: Ints
    spans: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def none(cls) -> ProfileConditions:
        no_ints = np.zeros(0, np.int64)
        return cls(no_ints, np.zeros(1, np.int64), np.zeros(0, np.int32), no_ints, no_ints)

    @classmethod
    def together(cls, parts: Sequence[ProfileConditions]) -> ProfileConditions:
        """One after another, without a copy if only one has profiles."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.none()
        counts = np.concatenate([np.zeros(1, np.int64), *[np.diff(part.starts) for part in parts]])
        return cls(
            np.concatenate([part.numbers for part in parts]),
            np.cumsum(counts),
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.lows for part in parts]),
            np.concatenate([part.spans for part in parts]),
        )

    def where(self, kept: Flags) -> ProfileConditions:
        """The profiles that are kept."""
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def take(self, places: Ints) -> ProfileConditions:
        """Some of the profiles, in another order."""
        counts = self.starts[places + 1] - self.starts[places]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows = np.repeat(self.starts[places] - starts[:-1], counts) + np.arange(starts[-1])
        return ProfileConditions(self.numbers[places], starts, self.slots[rows], self.lows[rows], self.spans[rows])


class Comparisons(NamedTuple):
    """Comparisons as kernels read them, by attribute: those of attribute a are `begin[a]` to `begin[a + 1]`. Of each
    its operator, the row of its operand, that of the operand's NULLs, and the row whose NULL waives it (-1: none)."""

    begin: Any
    operator: Any
    operand: Any
    null: Any
    waived_by: Any
    is_float: Any
    by_code: Any


#: An operand: the parameter, or the comparison with a constant; and whether it is compared as FLOAT.
_Operand = tuple[str | ProfileComparison, bool]


@record
class ConditionReader:
    """Reads rows of parameters as conditions. Comparisons that are the same for all profiles, and those of the order of
    texts, which codes do not have, are not among its comparisons."""

    slots: EventSlots
    comparisons: Comparisons
    operands: tuple[_Operand, ...]
    nullables: tuple[str | ProfileComparison, ...]

    @classmethod
    def of(cls, comparisons: Sequence[ProfileComparison], kinds: Mapping[str, Type]) -> ConditionReader:
        """The reader of profiles with these comparisons, whose parameters have the types `kinds`."""
        of_each = [IndexedAttribute(c.expression, _is_float(c, kinds)) for c in comparisons]
        attributes = list(dict.fromkeys(of_each))
        ordered = sorted(zip(of_each, comparisons), key=lambda pair: attributes.index(pair[0]))
        operands = [(c.parameter or c, attribute.is_float) for attribute, c in ordered]
        waivers = [c.waived_by for _, c in ordered]
        rows = {operand: row for row, operand in enumerate(dict.fromkeys(operands))}
        sources = [source for source, _ in operands]
        nulls = {n: row for row, n in enumerate(dict.fromkeys([*sources, *filter(None, waivers)]))}
        counts = [of_each.count(attribute) for attribute in attributes]
        equalities = {a for a, c in ordered if c.operator == "="}
        found = Comparisons(
            begin=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            operator=np.array([_OPERATORS[c.operator] for _, c in ordered], np.int64),
            operand=np.array([rows[operand] for operand in operands], np.int64),
            null=np.array([nulls[source] for source in sources], np.int64),
            waived_by=np.array([-1 if name is None else nulls[name] for name in waivers], np.int64),
            is_float=np.array([attribute.is_float for attribute in attributes], np.bool_),
            by_code=np.array([attribute in equalities for attribute in attributes], np.bool_),
        )
        return cls(EventSlots(attributes), found, tuple(rows), tuple(nulls))

    @property
    def has_texts(self) -> bool:
        """Whether a constant is a text, whose code only a dictionary knows."""
        return any(isinstance(s, ProfileComparison) and isinstance(s.constant, str) for s in self.nullables)

    def read(self, numbers: Ints, columns: Mapping[str, Column], strings: StringDictionary | None) -> ProfileConditions:
        """The conditions of profiles, a row of the parameters for each. Without a dictionary no constant is a text."""
        parts = [
            self._read_chunk(numbers[begin : begin + _CHUNK], _rows_of(columns, begin, len(numbers)), strings)
            for begin in range(0, len(numbers), _CHUNK)
        ]
        return ProfileConditions.together(parts)

    def _read_chunk(
        self, numbers: Ints, columns: Mapping[str, Column], strings: StringDictionary | None
    ) -> ProfileConditions:
        words, nulls = self._operand_rows(columns, strings, len(numbers))
        attributes = len(self.slots.attributes)
        most = len(numbers) * (len(self.comparisons.operator) + 3 * attributes)
        counts, slots = np.empty(len(numbers), np.int64), np.empty(most, np.int32)
        lows, spans = np.empty(most, np.int64), np.empty(most, np.int64)
        needed = np.zeros((attributes, len(SlotKind)), np.bool_)
        end = read_conditions(self.comparisons, words, nulls, counts, slots, lows, spans, needed)
        slots, lows, spans = slots[:end].copy(), lows[:end].copy(), spans[:end].copy()
        self.slots.use(needed)
        for attribute in np.flatnonzero(needed[:, _CODE]).tolist():
            rows = np.flatnonzero(slots == len(SlotKind) * attribute + _CODE)
            lows[rows] = self.slots.codes[attribute].of(lows[rows]) + (spans[rows] == ALL_BUT_ONE)
        live = counts >= 0
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[live])])
        return ProfileConditions(numbers[live], starts, self.slots.numbers.reshape(-1)[slots], lows, spans)

    def _operand_rows(
        self, columns: Mapping[str, Column], strings: StringDictionary | None, count: int
    ) -> tuple[Ints, Flags]:
        words = np.zeros((len(self.operands), count), np.int64)
        nulls = np.zeros((len(self.nullables), count), np.bool_)
        for row, (source, is_float) in enumerate(self.operands):
            column = _column(source, columns, strings)
            if column.kind is Type.FLOAT and not is_float:
                raise TypeError(f"the values of the parameter '{source}' are FLOAT and were planned as INT")
            words[row] = words_of(column, is_float)
        for row, name in enumerate(self.nullables):
            nulls[row] = _column(name, columns, strings).nulls
        return words, nulls


#: So many values without a profile are kept for each condition that compares with one.
_OLD_CODES, _FEW_CODES = 4, 4096


def without_old_codes(conditions: ProfileConditions, slots: EventSlots) -> ProfileConditions:
    """All profiles of an index, with codes of their own values alone if most values are those of removed profiles."""
    lows = conditions.lows
    for attribute, codes in enumerate(slots.codes):
        if len(codes) <= _FEW_CODES:
            continue
        rows = np.flatnonzero(conditions.slots == slots.numbers[attribute, SlotKind.CODE])
        if len(codes) <= _OLD_CODES * len(rows):
            continue
        offset = (conditions.spans[rows] == ALL_BUT_ONE).astype(np.int64)
        slots.codes[attribute] = ValueCodes()
        lows = lows.copy()
        lows[rows] = slots.codes[attribute].of(codes.values[lows[rows] - offset]) + offset
    return replace(conditions, lows=lows)


def _rows_of(columns: Mapping[str, Column], begin: int, count: int) -> Mapping[str, Column]:
    if count <= _CHUNK:
        return columns
    part = slice(begin, begin + _CHUNK)
    return {name: Column(column.kind, column.values[part], column.nulls[part]) for name, column in columns.items()}


def _column(source: str | ProfileComparison, columns: Mapping[str, Column], strings: StringDictionary | None) -> Column:
    if isinstance(source, str):
        return columns[source]
    return constant_column(source.constant, source.kind, strings or StringDictionary())


def kind_of_operand(comparison: ProfileComparison, kinds: Mapping[str, Type]) -> Type:
    if comparison.parameter is not None:
        return kinds[comparison.parameter]
    return constant_column(comparison.constant, comparison.kind, StringDictionary()).kind


def _is_float(comparison: ProfileComparison, kinds: Mapping[str, Type]) -> bool:
    return Type.FLOAT in (comparison.kind, kind_of_operand(comparison, kinds))


@kernel
def read_conditions(
    comparisons: Comparisons,
    words: Any,
    nulls: Any,
    counts: Ints,
    slots: Any,
    lows: Ints,
    spans: Ints,
    needed: Any,
) -> int:
    """Write the conditions of each profile and how many there are, -1 if nothing satisfies it. Slots are numbered by
    attribute and kind; instead of a code there is the key. Returns the number of all conditions."""
    end = 0
    for profile in range(counts.size):
        first = end
        possible = True
        for attribute in range(comparisons.is_float.size):
            is_float = comparisons.is_float[attribute]
            least = LEAST_FLOAT if is_float else LEAST_KEY
            greatest = LAST_FLOAT if is_float else LAST_KEY
            low, high = least, greatest
            bounded = present = False
            for c in range(comparisons.begin[attribute], comparisons.begin[attribute + 1]):
                waiver = comparisons.waived_by[c]
                if waiver >= 0 and nulls[waiver, profile]:
                    continue
                if nulls[comparisons.null[c], profile]:
                    possible = False
                    break
                operator = comparisons.operator[c]
                key = key_of_word(words[comparisons.operand[c], profile], is_float)
                if is_float and key == LEAST_KEY:  # NaN, which is unequal to everything
                    present = True
                    if operator != _UNEQUAL:
                        possible = False
                        break
                    continue
                if operator == _UNEQUAL:
                    present = True
                    slots[end], lows[end], spans[end] = 3 * attribute + _CODE, key, ALL_BUT_ONE
                    end += 1
                    needed[attribute, _CODE] = True
                    continue
                bounded = True
                if operator <= _AT_MOST:  # =, <, <=
                    if operator == _LESS:
                        if key == LEAST_KEY:
                            possible = False
                            break
                        key -= 1
                    high = min(high, key)
                    if operator == _EQUAL:
                        low = max(low, key)
                else:
                    if operator == _GREATER:
                        if key == LAST_KEY:
                            possible = False
                            break
                        key += 1
                    low = max(low, key)
            if low > high:
                possible = False
            if not possible:
                break
            if bounded and low == high and (comparisons.by_code[attribute] or low == LEAST_KEY):
                slots[end], lows[end], spans[end] = 3 * attribute + _CODE, low, 0
                end += 1
                needed[attribute, _CODE] = True
            elif bounded:
                if low == LEAST_KEY + 1:  # the key of the least INT is this, too
                    present = True
                    slots[end], lows[end], spans[end] = 3 * attribute + _CODE, LEAST_KEY, ALL_BUT_ONE
                    end += 1
                    needed[attribute, _CODE] = True
                low = max(low, LEAST_KEY + 1)
                slots[end], lows[end], spans[end] = 3 * attribute + _KEY, low, high - low
                end += 1
                needed[attribute, _KEY] = True
            if present:
                slots[end], lows[end], spans[end] = 3 * attribute + _PRESENCE, 1, 0
                end += 1
                needed[attribute, _PRESENCE] = True
        if possible:
            counts[profile] = end - first
        else:
            counts[profile] = -1
            end = first
    return end

"""The template index: the rows of a template whose first step an event satisfies, in one look-up for all rows.

Rows are sorted by the values of their equality comparisons and then by their one bound, so that the rows an event
satisfies are an interval. A million subscribers, each with a threshold, cost one binary search for each event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import compiled, read_only
from foretell.plan.template_selection import Comparison

#: An interval of rows is one number: the first row shifted left, plus the count of rows. The empty interval is 0.
SHIFT = 32


class TemplateIndex:
    """The rows of a template, sorted by the comparisons of its first step.

    It has the rows `among` those of the columns; `sorted_rows` maps an interval to their numbers. `as_float` says of
    each comparison whether it compares as FLOAT, as an INT with a FLOAT does.
    """

    def __init__(
        self, comparisons: Sequence[Comparison], columns: Mapping[str, Column], as_float: Sequence[bool], among: Ints
    ) -> None:
        self.equalities = [c for c in comparisons if c.operator == "="]
        self.as_float = [f for f, c in zip(as_float, comparisons, strict=True) if c.operator == "="]
        self.bound = next((c for c in comparisons if c.operator != "="), None)
        rows = among
        for comparison in comparisons:  # with NULL none is true
            rows = rows[~columns[comparison.parameter].nulls[rows]]
        keys = [_words(columns[c.parameter], f)[rows] for c, f in zip(self.equalities, self.as_float, strict=True)]
        limit = np.zeros(len(rows)) if self.bound is None else columns[self.bound.parameter].values[rows]
        if self.bound is not None and self.bound.operator in ("<", "<="):
            limit = -limit  # so that the rows an event satisfies come first in their group with either operator
        by = np.lexsort((limit, *keys[::-1]))
        self.sorted_rows: Ints = rows[by]
        self.limits = limit[by]
        stacked = np.stack([k[by] for k in keys], axis=1) if keys else np.zeros((len(rows), 0), np.int64)
        begins_group = np.ones(len(rows), np.bool_)
        begins_group[1:] = (stacked[1:] != stacked[:-1]).any(axis=1)
        self.starts = np.append(np.flatnonzero(begins_group), len(rows))
        self.keys: Ints = stacked[self.starts[:-1]]
        self._group_of = _table_of(self.keys[:, 0]) if len(self.equalities) == 1 else None

    def __len__(self) -> int:
        return len(self.sorted_rows)

    @property
    def nbytes(self) -> int:
        """The memory of the index."""
        table = 0 if self._group_of is None else self._group_of.nbytes
        return self.sorted_rows.nbytes + self.limits.nbytes + self.starts.nbytes + self.keys.nbytes + table

    @property
    def summary(self) -> str:
        """How events find rows, for `explain`."""
        keys = [f":{c.parameter}" for c in self.equalities]
        groups = f"{len(self.starts) - 1:,} groups" + (f" by {', '.join(keys)}" if keys else "")
        order = "" if self.bound is None else f", each in the order of :{self.bound.parameter}"
        return f"{len(self):,} in {groups}{order}, {self.nbytes / 1e3:,.0f} kB; an event finds one group"

    def rows(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """The interval of rows that each event satisfies."""
        if not len(self.sorted_rows):
            return np.zeros(len(events), np.int64)
        group = self._groups([events.evaluate(c.expression, strings) for c in self.equalities], len(events))
        if self.bound is None:
            whole = (self.starts[:-1] << SHIFT) + np.diff(self.starts)
            return np.where(group < 0, 0, whole[group])
        column = events.evaluate(self.bound.expression, strings)
        values = read_only(-column.values if self.bound.operator in ("<", "<=") else column.values)
        return _intervals(group, self.starts, self.limits, values, column.nulls, self.bound.operator in ("<", ">"))

    def _groups(self, columns: list[Column], count: int) -> Ints:
        """The group of rows whose equalities each event satisfies; -1 where there is none."""
        if not columns:
            return np.zeros(count, np.int64)
        words = [_words(column, f) for column, f in zip(columns, self.as_float, strict=True)]
        null = np.logical_or.reduce([column.nulls for column in columns])
        if len(words) == 1 and self._group_of is not None:
            group = _look_up(read_only(words[0]), self._group_of)
            return np.where(null, -1, group) if null.any() else group
        if len(words) == 1:
            at = np.minimum(np.searchsorted(self.keys[:, 0], words[0]), len(self.keys) - 1)
            return np.where(null | (self.keys[at, 0] != words[0]), -1, at)
        return np.where(null, -1, _bisect(np.stack(words, axis=1), read_only(self.keys)))


def _table_of(keys: Ints) -> Ints | None:
    """The place of each key, by the key; None where keys are no small numbers, as the codes of texts are."""
    if not len(keys) or keys.min() < 0 or keys.max() > 8 * len(keys) + 1024:
        return None
    table = np.full(int(keys.max()) + 1, -1, np.int64)
    table[keys] = np.arange(len(keys))
    return table


@compiled
def _look_up(words: Ints, table: Ints) -> Ints:
    """The entry of each word; -1 for words beyond the table."""
    found = np.empty(words.size, np.int64)
    for i in range(words.size):
        found[i] = table[words[i]] if 0 <= words[i] < table.size else -1
    return found


@compiled
def _bisect(words: Ints, keys: Ints) -> Ints:
    """The place of each row of words among keys in lexicographic order; -1 where it is none of them."""
    found = np.full(len(words), -1, np.int64)
    for i in range(len(words)):
        low, high = 0, len(keys)
        while low < high:
            middle = (low + high) // 2
            k = 0
            while k < keys.shape[1] and keys[middle, k] == words[i, k]:
                k += 1
            if k == keys.shape[1]:
                found[i] = middle
                break
            if keys[middle, k] < words[i, k]:
                low = middle + 1
            else:
                high = middle
    return found


@compiled
def _intervals(group: Ints, starts: Ints, limits: Any, values: Any, nulls: Any, strict: bool) -> Ints:
    """The rows of each event's group whose limits its value exceeds, or reaches unless `strict`, by bisection."""
    intervals = np.zeros(group.size, np.int64)
    for i in range(group.size):
        if group[i] < 0 or nulls[i]:
            continue
        first, stop, value = starts[group[i]], starts[group[i] + 1], values[i]
        low, high = first, stop
        while low < high:
            # Most events satisfy no row, which the first look shows: the middle is the first row then.
            middle = first if low == first and high == stop else (low + high) // 2
            if limits[middle] < value or (not strict and limits[middle] == value):
                low = middle + 1
            else:
                high = middle
        if low > first:
            intervals[i] = (first << SHIFT) + low - first
    return intervals


def _words(column: Column, as_float: bool) -> Ints:
    """Values as 64-bit words that are equal if and only if the values are (-0.0 is 0.0)."""
    values = column.values + 0.0 if as_float else column.values
    return np.ascontiguousarray(values).view(np.int64)

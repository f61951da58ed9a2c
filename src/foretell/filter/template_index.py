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

    `sorted_rows` maps an interval to row numbers. `as_float` says of each comparison whether it compares as FLOAT, as
    an INT with a FLOAT does.
    """

    def __init__(
        self, comparisons: Sequence[Comparison], columns: Mapping[str, Column], as_float: Sequence[bool]
    ) -> None:
        self.equalities = [c for c in comparisons if c.operator == "="]
        self.as_float = [f for f, c in zip(as_float, comparisons, strict=True) if c.operator == "="]
        self.bound = next((c for c in comparisons if c.operator != "="), None)
        count = len(next(iter(columns.values())).values)
        satisfiable = np.ones(count, np.bool_)  # no comparison with NULL is true
        for comparison in comparisons:
            satisfiable &= ~columns[comparison.parameter].nulls
        rows = np.flatnonzero(satisfiable)
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

    def rows(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """The interval of rows that each event satisfies."""
        if not len(self.sorted_rows):
            return np.zeros(len(events), np.int64)
        group = self._groups([events.evaluate(c.expression, strings) for c in self.equalities], len(events))
        low, high = self.starts[np.maximum(group, 0)], self.starts[np.maximum(group, 0) + 1]
        low, high = np.where(group < 0, 0, low), np.where(group < 0, 0, high)
        if self.bound is not None:
            column = events.evaluate(self.bound.expression, strings)
            values = read_only(-column.values if self.bound.operator in ("<", "<=") else column.values)
            ends = _interval_ends(low, high, self.limits, values, self.bound.operator in ("<", ">"))
            high = np.where(column.nulls, low, ends)
        return np.where(high > low, (low << SHIFT) + high - low, 0)

    def _groups(self, columns: list[Column], count: int) -> Ints:
        """The group of rows whose equalities each event satisfies; -1 where there is none."""
        if not columns:
            return np.zeros(count, np.int64)
        words = [_words(column, f) for column, f in zip(columns, self.as_float, strict=True)]
        null = np.logical_or.reduce([column.nulls for column in columns])
        if len(words) == 1:
            at = np.minimum(np.searchsorted(self.keys[:, 0], words[0]), len(self.keys) - 1)
            return np.where(null | (self.keys[at, 0] != words[0]), -1, at)
        groups = {tuple(key): group for group, key in enumerate(self.keys.tolist())}
        distinct, inverse = np.unique(np.stack(words, axis=1), axis=0, return_inverse=True)
        group = np.array([groups.get(tuple(key), -1) for key in distinct.tolist()], np.int64)
        return np.where(null, -1, group[inverse.reshape(-1)])


@compiled
def _interval_ends(low: Ints, high: Ints, limits: Any, values: Any, strict: bool) -> Ints:
    """Of the rows from `low` to `high`, the end of those whose bound each event satisfies, by bisection."""
    ends = np.empty(low.size, np.int64)
    for i in range(low.size):
        first, last = low[i], high[i]
        while first < last:
            middle = (first + last) // 2
            if limits[middle] < values[i] or (not strict and limits[middle] == values[i]):
                first = middle + 1
            else:
                last = middle
        ends[i] = first
    return ends


def _words(column: Column, as_float: bool) -> Ints:
    """Values as 64-bit words that are equal if and only if the values are (-0.0 is 0.0)."""
    values = column.values + 0.0 if as_float else column.values
    return np.ascontiguousarray(values).view(np.int64)

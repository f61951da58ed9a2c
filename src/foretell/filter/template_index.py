"""Which rows of a template begin with an event: one look-up for all rows together.

Rows are sorted by what they want to be equal and then by the one bound they have, so that the rows an event satisfies
are an interval. A million subscribers with thresholds of their own cost a binary search for each event.
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

#: An interval of rows is one number: the first row shifted, plus how many. None are 0.
SHIFT = 32


class TemplateIndex:
    """The rows of a template by the comparisons of its first step. `rows_in_order` maps an interval to row numbers.

    `floats` says of each equality whether it compares as FLOAT: an INT beside a FLOAT is taken as one.
    """

    def __init__(
        self, comparisons: Sequence[Comparison], columns: Mapping[str, Column], floats: Sequence[bool]
    ) -> None:
        self.equal = [c for c in comparisons if c.operator == "="]
        self.floats = [f for f, c in zip(floats, comparisons, strict=True) if c.operator == "="]
        self.bound = next((c for c in comparisons if c.operator != "="), None)
        count = len(next(iter(columns.values())).values)
        possible = np.ones(count, np.bool_)
        for comparison in comparisons:
            possible &= ~columns[comparison.parameter].nulls
        rows = np.flatnonzero(possible)
        keys = [_words(columns[c.parameter], f)[rows] for c, f in zip(self.equal, self.floats, strict=True)]
        limit = np.zeros(len(rows)) if self.bound is None else columns[self.bound.parameter].values[rows]
        if self.bound is not None and self.bound.operator in ("<", "<="):
            limit = -limit  # the rows an event satisfies are the first of their group, whichever way it asks
        by = np.lexsort((limit, *keys[::-1]))
        self.rows_in_order: Ints = rows[by]
        self.limits = limit[by]
        stacked = np.stack([k[by] for k in keys], axis=1) if keys else np.zeros((len(rows), 0), np.int64)
        new = np.ones(len(rows), np.bool_)
        new[1:] = (stacked[1:] != stacked[:-1]).any(axis=1)
        self.starts = np.append(np.flatnonzero(new), len(rows))
        self.keys: Ints = stacked[self.starts[:-1]]

    def rows(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """The interval of rows that each event satisfies."""
        if not len(self.rows_in_order):
            return np.zeros(len(events), np.int64)
        group = self._group([events.evaluate(c.expression, strings) for c in self.equal], len(events))
        low, high = self.starts[np.maximum(group, 0)], self.starts[np.maximum(group, 0) + 1]
        low, high = np.where(group < 0, 0, low), np.where(group < 0, 0, high)
        if self.bound is not None:
            value = events.evaluate(self.bound.expression, strings)
            wanted = -value.values if self.bound.operator in ("<", "<=") else value.values
            high = np.where(
                value.nulls, low, _up_to(low, high, self.limits, read_only(wanted), self.bound.operator in ("<", ">"))
            )
        return np.where(high > low, (low << SHIFT) + high - low, 0)

    def _group(self, values: list[Column], count: int) -> Ints:
        """The group of rows that want to be equal to an event; -1 where there is none."""
        if not values:
            return np.zeros(count, np.int64)
        words = [_words(v, f) for v, f in zip(values, self.floats, strict=True)]
        unknown = np.logical_or.reduce([v.nulls for v in values])
        if len(words) == 1:
            at = np.minimum(np.searchsorted(self.keys[:, 0], words[0]), len(self.keys) - 1)
            return np.where(unknown | (self.keys[at, 0] != words[0]), -1, at)
        numbers = {tuple(k): g for g, k in enumerate(self.keys.tolist())}
        distinct, inverse = np.unique(np.stack(words, axis=1), axis=0, return_inverse=True)
        found = np.array([numbers.get(tuple(k), -1) for k in distinct.tolist()], np.int64)
        return np.where(unknown, -1, found[inverse.reshape(-1)])


@compiled
def _up_to(low: Ints, high: Ints, limits: Any, wanted: Any, strict: bool) -> Ints:
    """Where the rows end whose bound an event keeps, of those from `low` to `high`."""
    ends = np.empty(low.size, np.int64)
    for i in range(low.size):
        first, last = low[i], high[i]
        while first < last:
            middle = (first + last) // 2
            if limits[middle] < wanted[i] or (not strict and limits[middle] == wanted[i]):
                first = middle + 1
            else:
                last = middle
        ends[i] = first
    return ends


def _words(column: Column, as_float: bool) -> Ints:
    """Values as words that are equal where the values are."""
    values = column.values + 0.0 if as_float else column.values
    return np.ascontiguousarray(values).view(np.int64)

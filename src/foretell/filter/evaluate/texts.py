"""Functions of STRING columns. Each is called once for a distinct string, however many rows have it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from foretell.arrays import Ints
from foretell.events.regular_expressions import matching
from foretell.events.types import Type
from foretell.filter.column import Column, ColumnValues
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.text_functions import substr


def length(column: Column, strings: StringDictionary) -> Column:
    return Column(Type.INT, strings.lengths[column.values], column.nulls)


def lower(column: Column, strings: StringDictionary) -> Column:
    return _map_strings(str.lower, column, strings)


def upper(column: Column, strings: StringDictionary) -> Column:
    return _map_strings(str.upper, column, strings)


def contains(text: Column, part: Column, strings: StringDictionary) -> Column:
    return _test_pairs(lambda whole, substring: substring in whole, text, part, strings)


def starts_with(text: Column, part: Column, strings: StringDictionary) -> Column:
    return _test_pairs(str.startswith, text, part, strings)


def ends_with(text: Column, part: Column, strings: StringDictionary) -> Column:
    return _test_pairs(str.endswith, text, part, strings)


def regexp_like(text: Column, pattern: str, strings: StringDictionary) -> Column:
    distinct = _distinct(text.values, strings)
    found = np.zeros(len(strings), np.bool_)
    found[distinct] = matching([strings.text(code) for code in distinct.tolist()], pattern)
    return Column(Type.BOOL, found[text.values], text.nulls)


def substring(text: Column, start: Column, length: Column | None, strings: StringDictionary) -> Column:
    """Once for each distinct combination of a text, a start and a length."""
    parts = np.broadcast_arrays(text.values, start.values, *(() if length is None else (length.values,)))
    nulls = text.nulls | start.nulls if length is None else text.nulls | start.nulls | length.nulls
    keys = np.stack(parts, axis=1)
    keys[np.broadcast_to(nulls, len(keys))] = 0
    distinct, row = np.unique(keys, axis=0, return_inverse=True)
    codes = [strings.code(substr(strings.text(code), *places)) for code, *places in distinct.tolist()]
    return Column(Type.STRING, np.array(codes, np.int64)[row.reshape(-1)], nulls)


def like(text: Column, pattern: Column, strings: StringDictionary) -> Column:
    return _test_pairs(lambda whole, like_text: _like_regex(like_text).fullmatch(whole) is not None, text, pattern,
                       strings)  # fmt: skip


@cache
def _like_regex(pattern: str) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern. A part between two % matches where it first fits and is never tried
    again elsewhere: nothing backtracks."""
    first, *others = ["".join("." if c == "_" else re.escape(c) for c in part) for part in pattern.split("%")]
    middle = "".join(f"(?>.*?{part})" for part in others[:-1])
    last = f".*{others[-1]}" if others else ""
    return re.compile(first + middle + last, re.DOTALL)


def ranks(left: Ints, right: Ints, strings: StringDictionary) -> tuple[Ints, Ints]:
    """Numbers that compare as the strings do, which is by code points."""
    codes = np.union1d(_distinct(left, strings), _distinct(right, strings))
    rank_of = np.empty(len(strings), np.int64)
    rank_of[sorted(codes.tolist(), key=strings.text)] = np.arange(len(codes))
    return rank_of[left], rank_of[right]


def _map_strings(function: Callable[[str], str], column: Column, strings: StringDictionary) -> Column:
    values = _on_distinct(lambda text: strings.code(function(text)), column.values, np.int64, strings)
    return Column(Type.STRING, values, column.nulls)


def _test_pairs(
    predicate: Callable[[str, str], bool], left: Column, right: Column, strings: StringDictionary
) -> Column:
    nulls = left.nulls | right.nulls
    if len(right.values) == 1:
        constant = strings.text(int(right.values[0]))
        values = _on_distinct(lambda text: predicate(text, constant), left.values, np.bool_, strings)
        return Column(Type.BOOL, values, nulls)
    count = len(strings)
    pairs, pair_of_row = np.unique(left.values * count + right.values, return_inverse=True)
    truths = [predicate(strings.text(pair // count), strings.text(pair % count)) for pair in pairs.tolist()]
    return Column(Type.BOOL, np.array(truths, np.bool_)[pair_of_row], nulls)


def _on_distinct(
    function: Callable[[str], Any], codes: Ints, dtype: DTypeLike, strings: StringDictionary
) -> ColumnValues:
    distinct = _distinct(codes, strings)
    results = np.empty(len(strings), dtype)
    results[distinct] = [function(strings.text(code)) for code in distinct.tolist()]
    return results[codes]


def _distinct(codes: Ints, strings: StringDictionary) -> Ints:
    if len(strings) > 4 * len(codes):  # a short batch does not scan the whole dictionary
        return np.unique(codes)
    present = np.zeros(len(strings), np.bool_)
    present[codes] = True
    return np.flatnonzero(present)

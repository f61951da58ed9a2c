"""Aggregates over the events of matches. Sums add up in the order of the events, as the reference evaluator does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import compiled
from foretell.machine.kernels.actions import overflows


def aggregate(function: str, owner: Ints, values: Column, count: int, strings: StringDictionary) -> Column:
    """An aggregate for each of `count` rows over the values that are not NULL; `owner` is the row of each value."""
    present = ~values.nulls
    owner, kind, numbers = owner[present], values.kind, values.values[present]
    counts = np.bincount(owner, minlength=count)
    if function == "count":
        return Column(Type.INT, counts, np.zeros(count, np.bool_))
    empty = counts == 0
    if function in ("min", "max"):
        return Column(kind, _extreme(function, owner, numbers, kind, count, strings), empty)
    if kind is Type.FLOAT:
        totals = np.full(count, -0.0)  # 0.0 would turn a sum of -0.0 into 0.0
        _add_floats(owner, numbers, totals)
        lost = ~np.isfinite(totals)
    else:
        totals = np.zeros(count, np.int64)
        lost = np.zeros(count, np.bool_)
        _add_ints(owner, numbers, totals, lost)
    if function == "sum":
        return Column(kind, totals, empty | lost)
    return mean(totals, counts, kind, empty | lost)


def mean(totals: NDArray[Any], counts: Ints, kind: Type, nulls: Flags) -> Column:
    means = totals / np.maximum(counts, 1)
    if kind is not Type.FLOAT:
        # A sum beyond 2**53 is divided exactly, as in Python, not as the float nearest to it.
        for i in np.flatnonzero((np.abs(totals) >= 2**53) & ~nulls).tolist():
            means[i] = int(totals[i]) / max(1, int(counts[i]))
    return Column(Type.FLOAT, means, nulls | ~np.isfinite(means))


def _extreme(
    function: str, owner: Ints, values: NDArray[Any], kind: Type, count: int, strings: StringDictionary
) -> NDArray[Any]:
    if kind is Type.STRING:
        return _extreme_text(function, owner, values, count, strings)
    result = np.zeros(count, values.dtype)
    order = np.argsort(values, kind="stable")
    order = order if function == "max" else order[::-1]
    result[owner[order]] = values[order]  # of several, the one written last stays
    return result


def _extreme_text(function: str, owner: Ints, codes: Ints, count: int, strings: StringDictionary) -> Ints:
    best: dict[int, str] = {}
    choose = min if function == "min" else max
    for row, code in zip(owner.tolist(), codes.tolist(), strict=True):
        text = strings.text(code)
        best[row] = choose(best[row], text) if row in best else text
    result = np.zeros(count, np.int64)
    for row, text in best.items():
        result[row] = strings.code(text)
    return result


@compiled
def _add_floats(owner: Ints, values: Any, totals: Any) -> None:
    for i in range(owner.size):
        totals[owner[i]] += values[i]


@compiled
def _add_ints(owner: Ints, values: Any, totals: Any, lost: Any) -> None:
    for i in range(owner.size):
        if lost[owner[i]] or overflows(totals[owner[i]], values[i]):
            lost[owner[i]] = True
        else:
            totals[owner[i]] += values[i]

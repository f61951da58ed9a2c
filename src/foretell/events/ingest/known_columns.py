"""Columns that a reader has looked at, so that nobody converts them or looks for the same again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Times
from foretell.events.ingest.raw_columns import ArrowArray


class TimeSpan(NamedTuple):
    """The first and the last of some times, which may be in any order."""

    earliest: int | float
    latest: int | float


def span_of(times: Times) -> TimeSpan:
    """The span of one or more times; NaN where one of them is."""
    if len(times) == 1:
        only = times.item()
        return TimeSpan(only, only)
    return TimeSpan(np.minimum.reduce(times).item(), np.maximum.reduce(times).item())


class KnownColumns:
    """Columns that the reader has looked at: INT and FLOAT columns without NULL and NaN as `numbers`, columns of texts
    in one chunk, and the span of all times."""

    __slots__ = ("numbers", "span", "texts")

    def __init__(self) -> None:
        self.numbers: dict[str, NDArray[Any]] = {}
        self.texts: dict[str, ArrowArray] = {}
        self.span: TimeSpan | None = None

    def add_rows_of(self, other: KnownColumns, first: int, stop: int) -> None:
        """Adds the rows of other columns from `first` to `stop`. Their span is not known yet."""
        self.numbers |= {name: values[first:stop] for name, values in other.numbers.items()}
        self.texts |= {name: texts.slice(first, stop - first) for name, texts in other.texts.items()}

"""Digests of matches: equal for the same matches in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints


def digest(*columns: Ints) -> int:
    """The sum of a hash of each row, and how many rows there are.

    >>> one, other = np.array([1, 2, 2]), np.array([7, 8, 8])
    >>> digest(one, other) == digest(one[::-1], other[::-1])
    True
    >>> digest(one, other) == digest(one[:2], other[:2]), digest(one, other) == digest(other, one)
    (False, False)
    """
    with np.errstate(over="ignore"):
        mixed = np.zeros(len(columns[0]), np.uint64)
        for column in columns:
            mixed = _mixed(mixed + _mixed(column.astype(np.int64).view(np.uint64)))
        return int(mixed.sum()) + len(mixed) % 2**64


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A permutation of 64-bit words after which equal differences are no longer equal."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def digest_of(table: pa.Table, *names: str) -> int:
    """The digest of columns of whole numbers."""
    columns: list[Any] = [table[name].to_numpy() for name in names]
    return digest(*columns)

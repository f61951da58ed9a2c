"""Numbers of the lines that rows come from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from foretell.arrays import Ints


class LineNumbers(Sequence[int]):
    """Line numbers that are not consecutive."""

    def __init__(self, numbers: Ints) -> None:
        self.array = numbers

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, row: Any) -> Any:
        return int(self.array[row])


def joined_numbers(numbers: Sequence[Sequence[int] | Ints]) -> Sequence[int]:
    """The line numbers of all parts of a file: a range, where they are consecutive."""
    parts = [_consecutive(part) for part in numbers if len(part)]
    ranges = [part for part in parts if isinstance(part, range)]
    if len(ranges) == len(parts) and all(a.stop == b.start for a, b in pairwise(ranges)):
        return range(ranges[0].start, ranges[-1].stop) if ranges else range(0)
    return LineNumbers(np.concatenate([_array(part) for part in parts]))


def _consecutive(numbers: Sequence[int] | Ints) -> Sequence[int] | Ints:
    """Line numbers, which ascend, as a range if none is left out."""
    first, last = int(numbers[0]), int(numbers[-1])
    return range(first, last + 1) if last - first == len(numbers) - 1 else numbers


def _array(numbers: Sequence[int] | Ints) -> Ints:
    return np.arange(numbers.start, numbers.stop) if isinstance(numbers, range) else np.asarray(numbers, np.int64)

"""The trie of template rows: rows that agree on the first levels lie side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints

Numbers = NDArray[np.int32]


class RowTrie:
    """The rows sorted by their numbers on each level, and for each depth where the rows end that agree so far.

    Rows have equal numbers on a level if they agree on it. `sorted_rows` are the rows in the order of the trie.
    """

    def __init__(self, numbers: Sequence[Ints], count: int) -> None:
        self.sorted_rows: Ints = np.lexsort(numbers[::-1]) if numbers else np.arange(count)
        self.ends = np.full((max(1, len(numbers)), max(1, count)), count, np.int32)
        self.ranks = np.zeros((max(1, len(numbers)), count + 1), np.int32)
        begins = np.zeros(count, np.bool_)
        begins[:1] = True
        for depth, level in enumerate(numbers):
            ordered = level[self.sorted_rows]
            begins[1:] |= ordered[1:] != ordered[:-1]
            first = np.flatnonzero(begins)
            rank = np.cumsum(begins)
            self.ranks[depth, 1:] = rank
            self.ends[depth, :count] = np.append(first[1:], count)[rank - 1]

    @property
    def nbytes(self) -> int:
        return self.sorted_rows.nbytes + self.ends.nbytes + self.ranks.nbytes

    def first_of(self, numbers: Ints, most: int) -> Numbers:
        """Where the rows with each number on the first level begin; -1 where there are none."""
        begins = np.full(most, -1, np.int32)
        ordered = numbers[self.sorted_rows]
        first = np.flatnonzero(np.diff(ordered, prepend=np.int64(-2)))
        known = ordered[first] >= 0
        begins[ordered[first][known]] = first[known]
        return begins

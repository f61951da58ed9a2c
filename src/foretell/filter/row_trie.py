"""The trie of template rows: rows that agree on the first levels lie side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.jit import compiled

Numbers = NDArray[np.int32]


class RowTrie:
    """The rows sorted by their numbers on each level, and for each depth where the rows end that agree so far.

    Rows have equal numbers on a level if they agree on it. `sorted_rows` are the rows in the order of the trie.
    """

    def __init__(self, numbers: Sequence[Ints], count: int, known: Ints | None = None) -> None:
        """The trie of so many rows. `known` are some of them in their order, as an earlier trie has them: only the
        others, which come after them, are sorted."""
        self.sorted_rows: Ints = _order(numbers, count, known)
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


def _order(numbers: Sequence[Ints], count: int, known: Ints | None) -> Ints:
    """The rows by their numbers on each level, equal ones as they come."""
    if not numbers:
        return np.arange(count)
    if known is None or 2 * len(known) < count:
        return np.lexsort(numbers[::-1])
    is_known = np.zeros(count, np.bool_)
    is_known[known] = True
    others = np.flatnonzero(~is_known)
    more = others[np.lexsort([level[others] for level in numbers[::-1]])]
    return _merged(np.stack(numbers), known, more)


@compiled
def _merged(numbers: Ints, first: Ints, second: Ints) -> Ints:
    """Two lists of rows in order as one; of equal rows those of the first come first."""
    merged = np.empty(first.size + second.size, np.int64)
    i, k = 0, 0
    while i < first.size and k < second.size:
        level = 0
        while level < len(numbers) - 1 and numbers[level, first[i]] == numbers[level, second[k]]:
            level += 1
        if numbers[level, first[i]] <= numbers[level, second[k]]:
            merged[i + k] = first[i]
            i += 1
        else:
            merged[i + k] = second[k]
            k += 1
    merged[i + k : first.size + k] = first[i:]
    merged[first.size + k :] = second[k:]
    return merged

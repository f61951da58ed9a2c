"""The trie of rows, made anew and from the order of an earlier one."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.filter.row_trie import RowTrie


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_rows_that_come_and_go(levels: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    numbers = [chance.integers(0, 4, 60) for _ in range(levels)]
    before = chance.choice(60, chance.integers(0, 60), replace=False)
    before.sort()
    trie = RowTrie([level[before] for level in numbers], len(before))
    known = before[trie.sorted_rows]
    known = known[chance.random(len(known)) < 0.9]
    after = np.union1d(known, np.arange(before.max(initial=-1) + 1, 60))  # rows that come have higher numbers
    plain = RowTrie([level[after] for level in numbers], len(after))
    merged = RowTrie([level[after] for level in numbers], len(after), np.searchsorted(after, known))
    assert merged.sorted_rows.tolist() == plain.sorted_rows.tolist()
    assert merged.ends.tolist() == plain.ends.tolist()
    assert merged.ranks.tolist() == plain.ranks.tolist()
    rows = list(zip(*(level[after][merged.sorted_rows].tolist() for level in numbers), strict=True))
    assert rows == sorted(rows)

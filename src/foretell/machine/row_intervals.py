"""Intervals of rows in the order of an index, when that order becomes another because rows have come or gone.

An interval is moved to the span from the first to the last of its rows that are left. Rows that were added since may
lie in that span, so each row has the position of the first event that counts for it, and matches that began earlier are
not reported to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretell.arrays import Ints
from foretell.filter.template_index import SHIFT

#: Maps intervals of the rows in the order of the old index to the order of the new one.
Move = Callable[[Ints], Ints]


def interval_move(places: Ints) -> Move:
    """The move to `places`: where each row of the old order lies now, -1 for a removed one. Others keep their order."""
    last = np.iinfo(np.int64).max
    first_from = np.minimum.accumulate(np.append(np.where(places < 0, last, places), last)[::-1])[::-1]
    last_until = np.maximum.accumulate(np.insert(places, 0, -1))

    def move(intervals: Ints) -> Ints:
        low = intervals >> SHIFT
        high = low + (intervals & ((1 << SHIFT) - 1))
        first, count = first_from[low], last_until[high] + 1 - first_from[low]
        return np.where(count > 0, (first << SHIFT) + count, 0)

    return move

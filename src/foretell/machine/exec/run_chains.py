"""The chains of runs that carry rows of a template: room for them beside a pool (see machine.kernels.run_index).

No snapshot has them: they follow from the lists of runs and the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.machine.kernels import layout, run_index
from foretell.machine.kernels.hash_table import SECRET
from foretell.machine.kernels.structs import RunIndex


def new_index(size: int) -> RunIndex:
    """An index of so many runs, of which none is in a chain."""
    return RunIndex(_nothing(_buckets_for(size)), _nothing((size, layout.LINKS)), np.zeros(3, np.int64), SECRET)


def resized_index(index: RunIndex, size: int, in_use: Ints, cells: Ints) -> RunIndex:
    """The index with room for so many runs; of those that are in use the chains stay."""
    kept = min(size, len(index.links))
    links = _nothing((size, layout.LINKS))
    links[:kept] = index.links[:kept]
    start_round(index, in_use)
    if len(index.buckets) == _buckets_for(size):
        return index._replace(links=links)
    resized = index._replace(buckets=_nothing(_buckets_for(size)), links=links)
    run_index.chain_runs(in_use, cells, resized)
    return resized


def start_round(index: RunIndex, in_use: Ints) -> None:
    """Has the hand go round the runs that are in use, from the first on."""
    index.hand[:] = 0
    index.hand[layout.HAND_LAST] = in_use.max(initial=0)


def _buckets_for(size: int) -> int:
    """A power of two of buckets, one for each run or more."""
    return 1 << max(6, (size - 1).bit_length())


def _nothing(shape: int | tuple[int, int]) -> NDArray[np.uint32]:
    return np.full(shape, layout.NONE, np.uint32)

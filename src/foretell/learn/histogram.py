"""Histograms of durations with bins that grow by a constant factor: one fits microseconds and years.

Bin 0 holds durations of zero or below the smallest edge; the last bin has no upper edge. The formula is plain, so that
a kernel can count in the same bins.

>>> bin_of(np.array([0.0, 1.0, 1.05, 2.0])).tolist()
[0, 161, 161, 169]
>>> EDGES[[161, 169]].tolist()
[1.0, 2.0]
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints

PER_OCTAVE = 8
LEAST_OCTAVE, LAST_OCTAVE = -20, 32  # from a microsecond to a century, if time counts seconds
BINS = (LAST_OCTAVE - LEAST_OCTAVE) * PER_OCTAVE + 2

#: The lower edge of each bin, and infinity as the upper edge of the last.
EDGES: Floats = np.concatenate(
    [[0.0], 2.0 ** (LEAST_OCTAVE + np.arange(BINS - 1) / PER_OCTAVE), [np.inf]],
)


def bin_of(time: Floats) -> Ints:
    """The bin of each duration. Rounding may put one that is on an edge to either side; nothing depends on that."""
    at_least = np.maximum(time, EDGES[1] / 2)
    number = np.floor((np.log2(at_least) - LEAST_OCTAVE) * PER_OCTAVE).astype(np.int64) + 1
    return np.asarray(np.clip(number, 0, BINS - 1), np.int64)

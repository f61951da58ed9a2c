"""Times by their size: bins that grow by the same factor, so that one histogram fits microseconds and years.

Bin 0 holds what took no time, or less than the least; the last one has no end. Everything here is plain arrays and one
formula, so that a kernel can count in the same bins.

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

#: Where each bin begins; one more than there are bins, the last without end.
EDGES: Floats = np.concatenate(
    [[0.0], 2.0 ** (LEAST_OCTAVE + np.arange(BINS - 1) / PER_OCTAVE), [np.inf]],
)


def bin_of(time: Floats) -> Ints:
    """The bin of each time. A time on an edge may land on either side of it by rounding; nothing hangs on that."""
    at_least = np.maximum(time, EDGES[1] / 2)
    found = np.floor((np.log2(at_least) - LEAST_OCTAVE) * PER_OCTAVE).astype(np.int64) + 1
    return np.asarray(np.clip(found, 0, BINS - 1), np.int64)

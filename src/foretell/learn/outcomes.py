"""What came of it: for each row of a trace, whether its process matched within the lane's next n events."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.learn.trace import Steps, Trace


def next_match(trace: Trace) -> Ints:
    """For each row, the row that completes the next match of its process after it; -1 where none was seen."""
    steps = Steps.of(trace)
    size = len(trace)
    place = np.arange(size)
    at = np.where(trace.matched[steps.row], place, size)
    coming = np.full(size, size)
    coming[:-1] = np.minimum.accumulate(at[::-1])[::-1][1:]
    process = np.append(steps.process, -1)
    found = np.full(size, -1)
    found[steps.row] = np.where(process[coming] == process[:-1], np.append(steps.row, -1)[coming], -1)
    return found


def came_within(trace: Trace, events: int) -> tuple[Flags, Flags]:
    """Whether a match came, and whether that is known: whether the lane was seen for so long.

    Where it was not, a match that came does not count either: to count only those would make matches look likelier.
    """
    coming = next_match(trace)
    distance = np.where(coming >= 0, trace.ordinal[coming] - trace.ordinal, np.iinfo(np.int64).max)
    return distance <= events, trace.seen_ordinal[trace.process] - trace.ordinal >= events

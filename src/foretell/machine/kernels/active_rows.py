"""The rows of a batch at which a partial match may wait: single-step detection (A-MEDIAS, Algorithm 7.3).

`until` has for each lane up to which time its place is open. It is written for the lanes of the batch alone, from what
the executors hold, before the rows are found. The largest time stands for good, the smallest for closed.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.layout import DEAD, NONE, RUN_BEGAN, RUN_NEXT, RUN_OVER, Array, U

#: So many runs of a list are asked whether their windows have passed; of longer lists it is not known.
MOST_ASKED = 8


@kernel
def open_by_count(lane: Array, counts: Array, closed: Any, forever: Any, until: Array) -> None:
    """Open the lanes that hold anything."""
    for row in range(U(lane.size)):
        number = U(lane[row])
        until[number] = forever if number < U(counts.size) and counts[number] > 0 else closed


@kernel
def open_by_list(
    lane: Array, state: Any, within: Any, heads: Array, cells: Array, times: Array, closed: Any, forever: Any,
    until: Array,
) -> None:  # fmt: skip
    """Open the lanes in which a run waits at a state, until its window has passed (the terminator)."""
    for row in range(U(lane.size)):
        number = U(lane[row])
        latest = closed
        if number < U(heads.shape[0]):
            run, asked = U(heads[number, state]), 0
            while run != NONE:
                asked += 1
                if within < 0 or asked > MOST_ASKED:
                    latest = forever
                    break
                if cells[run, RUN_OVER] != DEAD:
                    latest = max(latest, times[run, RUN_BEGAN] + within)
                run = U(cells[run, RUN_NEXT])
        until[number] = latest


@kernel
def find_rows(
    lane: Array, time: Array, openers: Array, within: Any, next_only: bool, closed: Any, forever: Any, until: Array,
    found: Array,
) -> int:  # fmt: skip
    """Mark the rows at which a place is open; `openers` mark those that open it for the rows after them."""
    count = 0
    for row in range(U(lane.size)):
        number = U(lane[row])
        is_open = time[row] <= until[number]
        found[row] = is_open
        count += is_open
        if next_only:
            until[number] = closed
        if openers[row]:
            last = forever if within < 0 else time[row] + within
            if last < time[row]:
                last = forever
            until[number] = max(until[number], last)
    return count

"""`!b` alone: no b for so long, since the lane's first event, the latest b or the latest silence.

All lanes that have begun stand in a heap, by when they may be due. A lane that a b has put off keeps its place until
its old time comes: so each lane costs time only once in a window, and passing time costs nothing for lanes that it
does not complete.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.layout import Array
from foretell.machine.kernels.structs import Timers
from foretell.machine.kernels.timer_heap import push_timer, replace_first_timer


class SilentLanes(NamedTuple):
    """From when each lane counts, whether it has begun, and the heap of those that have."""

    since: Array
    begun: Array
    timers: Timers


class SilenceOutput(NamedTuple):
    """Of each silence its lane and when it began."""

    lane: Array
    start: Array


@kernel
def hear_events(
    done: int, lane: Array, time: Any, breaks: Array, within: Any, lanes: SilentLanes, count: int,
    output: SilenceOutput, matches: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Process events from `done` on: return where it stopped, how many lanes and how many silences there are now."""
    since = lanes.since
    for row in range(done, lane.size):
        here = lane[row]
        if not lanes.begun[here]:
            lanes.begun[here] = True
            since[here] = time[row]
            push_timer(time[row] + within, here, 0, lanes.timers, count)
            count += 1
        matches = _complete(here, time[row], within, since, output, matches)
        if matches == output.lane.size:
            return row, count, matches
        if breaks[row] and time[row] > since[here]:
            since[here] = time[row]
    return lane.size, count, matches


@kernel
def pass_time(now: Any, within: Any, lanes: SilentLanes, count: int, output: SilenceOutput, matches: int) -> int:
    """Advance time: complete the silences of all lanes that are due by now; return how many silences there are."""
    timers = lanes.timers
    while count > 0 and timers.due[0] < now and matches < output.lane.size:
        lane = timers.owner[0]
        matches = _complete(lane, now, within, lanes.since, output, matches)
        replace_first_timer(lanes.since[lane] + within, lane, 0, timers, count)
    return matches


@kernel
def _complete(lane: int, now: Any, within: Any, since: Any, output: SilenceOutput, matches: int) -> int:
    """Write the silences of one lane that are over by now, as long as there is room."""
    while since[lane] + within < now and matches < output.lane.size:
        output.lane[matches] = lane
        output.start[matches] = since[lane]
        matches += 1
        since[lane] += within
    return matches

"""`!b` alone: no b for so long, since the lane's first event, the latest b or the latest silence.

All lanes that have begun are in a heap by the time when they may be due. A lane that a b has put off keeps its place
until its old time comes. So each lane costs time only once in a window, and advancing time costs nothing for lanes in
which no silence is complete.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.layout import Array
from foretell.machine.kernels.structs import Timers
from foretell.machine.kernels.timer_heap import push_timer, replace_first_timer


class SilenceEvents(NamedTuple):
    """Of each event of a batch its lane, its time, and whether it is a b."""

    lane: Array
    time: Array
    breaks: Array


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
def run_absence(
    done: int, events: SilenceEvents, within: Any, lanes: SilentLanes, count: int, output: SilenceOutput
) -> tuple[int, int, int]:
    """Process events from `done` on: return where it stopped, how many lanes there are now and how many silences."""
    since = lanes.since
    matches = 0
    for row in range(done, events.lane.size):
        lane, time = events.lane[row], events.time[row]
        if not lanes.begun[lane]:
            lanes.begun[lane] = True
            since[lane] = time
            push_timer(time + within, lane, 0, lanes.timers, count)
            count += 1
        matches = _complete(lane, time, within, since, output, matches)
        if matches == output.lane.size:
            return row, count, matches
        if events.breaks[row] and time > since[lane]:
            since[lane] = time
    return events.lane.size, count, matches


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

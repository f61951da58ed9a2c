"""`!b` alone: no b for so long, since the lane's first event, the latest b or the latest silence."""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.layout import Array


@kernel
def listen(done: int, lane: Array, time: Any, breaks: Any, within: Any, lanes: Any, count: int, found: Any,
            told: int) -> tuple[int, int, int]:  # fmt: skip
    """Goes through events from `done` on; returns where it stopped, how many lanes there are, how many silences."""
    (since, begun, due, heap) = lanes
    for i in range(done, lane.size):
        one = lane[i]
        if not begun[one]:
            begun[one] = True
            since[one] = time[i]
            count = _push(one, time[i] + within, due, heap, count)
        told = _quiet(one, time[i], within, since, found, told)
        if told == found[0].size:
            return i, count, told
        if breaks[i] and time[i] > since[one]:
            since[one] = time[i]
    return lane.size, count, told


@kernel
def pass_time(now: Any, within: Any, lanes: Any, count: int, found: Any, told: int) -> tuple[int, int]:
    """Lets time pass: whatever lanes are due by now."""
    (since, _, due, heap) = lanes
    while count > 0 and due[0] < now and told < found[0].size:
        one = heap[0]
        told = _quiet(one, now, within, since, found, told)
        _put_off(since[one] + within, due, heap, count)
    return count, told


@kernel
def _quiet(lane: int, now: Any, within: Any, since: Any, found: Any, told: int) -> int:
    """The silences of one lane that are over by now, as long as there is room."""
    while since[lane] + within < now and told < found[0].size:
        found[0][told] = lane
        found[1][told] = since[lane]
        told += 1
        since[lane] += within
    return told


@kernel
def _push(lane: int, time: Any, due: Any, heap: Array, count: int) -> int:
    at = count
    while at > 0 and due[(at - 1) // 2] > time:
        due[at], heap[at] = due[(at - 1) // 2], heap[(at - 1) // 2]
        at = (at - 1) // 2
    due[at], heap[at] = time, lane
    return count + 1


@kernel
def _put_off(time: Any, due: Any, heap: Array, count: int) -> None:
    """The first of the heap is due at a later time: moves it down to its place."""
    lane = heap[0]
    at = 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and due[below + 1] < due[below]:
            below += 1
        if due[below] >= time:
            break
        due[at], heap[at] = due[below], heap[below]
        at = below
    due[at], heap[at] = time, lane

"""`!b` alone: no b for so long, since the lane's first event, the latest b or the latest silence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.jit import kernel, read_only
from foretell.machine.input.key_index import with_room

Ints = NDArray[np.int64]
Times = NDArray[Any]


@dataclass
class Silences:
    """`since` is from when each lane counts. All lanes that have begun stand in a heap, by when they may be due.

    A lane that a b has put off keeps its place until that comes up: so each costs time only once in a window, and
    time that goes on costs nothing for those it does not complete.
    """

    since: Times = field(default_factory=lambda: np.zeros(0, np.int64))
    begun: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    due: Times = field(default_factory=lambda: np.zeros(0, np.int64))
    heap: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    count: int = 0

    def feed(
        self, lane: Ints, time: Times, breaks: NDArray[np.bool_], within: int | float, now: int | float
    ) -> tuple[Ints, Times]:
        """Lane and start of each silence that the events of a batch complete, and time until `now`."""
        self._room(int(lane.max(initial=-1)) + 1, time.dtype)
        # A whole time is before 5.5 where it is before 6.
        window, until = time.dtype.type(within), now if time.dtype == np.float64 else math.ceil(now)
        found = np.empty(1024, np.int64), np.empty(1024, time.dtype)
        done = told = 0
        while True:
            lanes = self.since, self.begun, self.due, self.heap
            done, self.count, told = _listen(
                done, lane, read_only(time), breaks, window, lanes, self.count, found, told
            )
            if done == len(lane):
                self.count, told = _pass(time.dtype.type(until), window, lanes, self.count, found, told)
            if told < len(found[0]):
                return found[0][:told], found[1][:told]
            found = with_room(found[0], 2 * told), with_room(found[1], 2 * told)

    def _room(self, lanes: int, kind: np.dtype[Any]) -> None:
        self.since = with_room(self.since.astype(kind, copy=False), lanes)
        self.due = with_room(self.due.astype(kind, copy=False), lanes)
        self.begun, self.heap = with_room(self.begun, lanes), with_room(self.heap, lanes)

    def state(self) -> dict[str, Any]:
        lanes = np.sort(self.heap[: self.count])
        return {"lane": lanes, "since": self.since[lanes]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """A lane is due no earlier than it counts from, so in that order they are a heap."""
        lanes, since = state["lane"], state["since"]
        by = np.argsort(since, kind="stable")
        self.count, self.heap, self.due = len(lanes), lanes[by], since[by]
        self.since, self.begun = np.zeros(0, since.dtype), np.zeros(0, np.bool_)
        self._room(int(lanes.max(initial=-1)) + 1, since.dtype)
        self.since[lanes], self.begun[lanes] = since, True


@kernel
def _listen(done: int, lane: Ints, time: Any, breaks: Any, within: Any, lanes: Any, count: int, found: Any,
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
def _pass(now: Any, within: Any, lanes: Any, count: int, found: Any, told: int) -> tuple[int, int]:
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
def _push(lane: int, time: Any, due: Any, heap: Ints, count: int) -> int:
    at = count
    while at > 0 and due[(at - 1) // 2] > time:
        due[at], heap[at] = due[(at - 1) // 2], heap[(at - 1) // 2]
        at = (at - 1) // 2
    due[at], heap[at] = time, lane
    return count + 1


@kernel
def _put_off(time: Any, due: Any, heap: Ints, count: int) -> None:
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

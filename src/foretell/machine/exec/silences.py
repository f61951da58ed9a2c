"""The silences of each lane: state of `foretell.machine.kernels.absence`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints, Times
from foretell.jit import read_only
from foretell.machine.input.key_index import with_room
from foretell.machine.kernels import absence


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
            done, self.count, told = absence.listen(
                done, lane, read_only(time), breaks, window, lanes, self.count, found, told
            )
            if done == len(lane):
                self.count, told = absence.pass_time(time.dtype.type(until), window, lanes, self.count, found, told)
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

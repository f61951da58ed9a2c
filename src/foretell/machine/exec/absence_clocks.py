"""The silences of each lane: the state that `foretell.machine.kernels.absence` works on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints, Times
from foretell.jit import read_only
from foretell.machine.input.key_index import with_room
from foretell.machine.kernels.absence import SilenceEvents, SilenceOutput, SilentLanes, pass_time, run_absence
from foretell.machine.kernels.structs import Timers
from foretell.storage.recorded_values import ascending, indices, require, times

#: A lane that counts from this time on is stopped: no time is later.
_NEVER = 2**62

#: Room for silences at first, and for those of the next lanes once the limit is reached.
_FIRST_ROOM = 1024
_ROOM_BEYOND = 16


class Silences:
    """From when each lane counts, and `count` lanes that have begun in a heap by when they may be due.

    A lane that brings more silences than there is room for is stopped: it counts no more.
    """

    def __init__(self) -> None:
        self.lanes = _new_lanes(np.dtype(np.int64))
        self._count = 0

    def process(
        self, lane: Ints, time: Times, breaks: Flags, within: int | float, now: int | float, most: int
    ) -> tuple[Ints, Times, list[int]]:
        """Lane and start of each silence that the events of a batch complete, and time until `now`; at most about
        `most` of them, and the lanes that were stopped for that."""
        self._grow(int(lane.max(initial=-1)) + 1, time.dtype)
        # An integer is before 5.5 if and only if it is before 6.
        until = time.dtype.type(now if time.dtype == np.float64 else math.ceil(now))
        window, lanes = time.dtype.type(within), self.lanes
        events = SilenceEvents(lane, read_only(time), breaks)
        found: list[SilenceOutput] = []
        stopped: list[int] = []
        done = total = 0
        while True:
            room = _ROOM_BEYOND if total >= most else min(max(_FIRST_ROOM, 2 * total), most - total)
            output = SilenceOutput(np.empty(room, np.int64), np.empty(room, time.dtype))
            done, self._count, written = run_absence(done, events, window, lanes, self._count, output)
            if done == len(lane):
                written = pass_time(until, window, lanes, self._count, output, written)
            found.append(SilenceOutput(output.lane[:written], output.start[:written]))
            total += written
            if written < room:
                return np.concatenate([o.lane for o in found]), np.concatenate([o.start for o in found]), stopped
            if total >= most:
                stopped.append(int(output.lane[-1]))  # a lane writes all of its silences before the next
                lanes.since[stopped[-1]] = _NEVER

    def _grow(self, count: int, kind: np.dtype[Any]) -> None:
        """Make room for so many lanes, and take times of this type."""
        since, begun, timers = self.lanes
        self.lanes = SilentLanes(
            since=with_room(since.astype(kind, copy=False), count),
            begun=with_room(begun, count),
            timers=Timers(
                due=with_room(timers.due.astype(kind, copy=False), count),
                owner=with_room(timers.owner, count),
                serial=with_room(timers.serial, count),
            ),
        )

    def state(self) -> dict[str, Any]:
        lanes = np.sort(self.lanes.timers.owner[: self._count])
        is_stopped = self.lanes.since[lanes] >= _NEVER
        counting = lanes[~is_stopped]
        return {"lane": counting, "since": self.lanes.since[counting], "stopped": lanes[is_stopped]}

    def restore(
        self, state: Mapping[str, Any], lane_count: int, due: int | float = -math.inf, now: int | float = math.inf
    ) -> None:
        """A lane is due no earlier than it counts from, so in that order they are a heap. Silences that began before
        `due` have been reported, and none begins after `now`."""
        lanes, since = indices(state["lane"], lane_count, "the silent lanes"), state["since"]
        ascending(lanes, "the silent lanes")
        require(isinstance(since, np.ndarray), "the silences")
        since = times(since, np.float64 if since.dtype.kind == "f" else np.int64, lanes.shape, "the silences")
        require(((since >= due) & (since <= now)).all(), "the silences")
        # Early snapshots have no stopped lanes.
        stopped = indices(state.get("stopped", lanes[:0]), lane_count, "the stopped lanes", (None,))
        ascending(stopped, "the stopped lanes")
        require(not np.isin(stopped, lanes).any(), "the stopped lanes")
        lanes = np.concatenate([lanes, stopped])
        since = np.concatenate([since, np.full(len(stopped), _NEVER, since.dtype)])
        by = np.argsort(since, kind="stable")
        self._count = len(lanes)
        timers = Timers(since[by], lanes[by], np.zeros(len(lanes), np.int64))
        self.lanes = _new_lanes(since.dtype)._replace(timers=timers)
        self._grow(int(lanes.max(initial=-1)) + 1, since.dtype)
        self.lanes.since[lanes], self.lanes.begun[lanes] = since, True


def _new_lanes(kind: np.dtype[Any]) -> SilentLanes:
    nothing = np.zeros(0, np.int64)
    return SilentLanes(np.zeros(0, kind), np.zeros(0, np.bool_), Timers(np.zeros(0, kind), nothing, nothing))

"""Where arrivals lie: one ring for all lists, in the order they came, with room to grow and ways to let go of some.

An arrival has the next number and lies at that number in the ring. It is there as long as its number is not before the
front, nor before the front of its lane: so the oldest of a lane are let go by moving one number, and the links to them
lead nowhere from then on. Their places are used again when the front passes them, or when the ring is full and half of
it is such places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Arrays, Flags, Ints
from foretell.jit import compiled
from foretell.machine.input.key_index import with_room
from foretell.machine.kernels.arrival_walk import CROWDED, END, FRONT, HELD, IDLE, LEVEL, REFUSED

BEFORE, BELOW, OWNER = 3, 4, 8


class ArrivalRing:
    """`width` values are kept of an arrival; `steps` have arrivals; `closed` says that every lane is refused.

    `lanes` are how many arrivals each lane has, and its front.
    """

    def __init__(self, size: int, width: int, time: type[np.generic], steps: int) -> None:
        self._width, self._time, self._steps = width, time, steps
        self.counters = np.zeros(CROWDED + 1, np.int64)
        self.counters[LEVEL] = IDLE
        self.parts = self._new(size)
        self.lanes = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.closed = False

    def __len__(self) -> int:
        """How many arrivals there are."""
        return int(self.counters[HELD])

    @property
    def size(self) -> int:
        return len(self.parts[0])

    @property
    def given(self) -> Arrays:
        """As the kernel wants it."""
        *links, values, nulls, owner = self.parts
        return (*links, values.view(np.float64), values, nulls, owner)

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event; None where there is none."""
        return int(self.parts[0][self.counters[FRONT] & (self.size - 1)]) if len(self) else None

    @property
    def positions(self) -> Ints:
        numbers, _, there = self._known()
        return np.asarray(self.parts[0][numbers[there] & (self.size - 1)], np.int64)

    def _new(self, size: int) -> Arrays:
        return (
            np.zeros(size, np.int64),  # position
            np.zeros(size, self._time),  # start
            np.zeros(size, self._time),  # the latest start of a match up to it
            np.full(size, -1, np.int64),  # the arrival before it
            np.full(size, -1, np.int64),  # the newest one of the step before
            np.full(size, -1, np.int64),  # the latest absence before it
            np.zeros((self._width, size), np.int64),  # values
            np.zeros((self._width, size), np.uint8),  # which of them are NULL
            np.zeros(size, np.int64),  # its lane and step
        )

    def room_for_lanes(self, count: int) -> None:
        held, fronts = self.lanes
        self.lanes = with_room(held, count), with_room(fronts, count, REFUSED if self.closed else 0)

    # ── what there is ──

    def _known(self) -> tuple[Ints, Ints, Flags]:
        """The numbers from the front to the end, their lanes, and which of them are still there."""
        numbers = np.arange(self.counters[FRONT], self.counters[END])
        lane = self.parts[OWNER][numbers & (self.size - 1)] // self._steps
        return numbers, lane, numbers >= self.lanes[1][lane]

    def crowded_lanes(self) -> list[int]:
        """The lanes that have arrivals, those with the most of them first."""
        held = self.lanes[0]
        some = np.flatnonzero(held)
        return [int(lane) for lane in some[np.argsort(-held[some], kind="stable")]]

    # ── letting go ──

    def drop(self, count: int) -> int:
        """Lets go of the oldest of all; how many."""
        numbers, lane, there = self._known()
        gone = np.flatnonzero(there)[:count]
        np.subtract.at(self.lanes[0], lane[gone], 1)
        self.counters[HELD] -= len(gone)
        self.counters[FRONT] = numbers[gone[-1]] + 1 if len(gone) else self.counters[FRONT]
        return len(gone)

    def drop_of(self, lane: int, count: int) -> int:
        """Lets go of the oldest of a lane; how many."""
        numbers, lanes, there = self._known()
        gone = numbers[there & (lanes == lane)][:count]
        self._forget(lane, len(gone), int(gone[-1]) + 1 if len(gone) else 0)
        return len(gone)

    def refuse(self, lane: int) -> int:
        """Lets go of all of a lane, for good; how many."""
        count = int(self.lanes[0][lane])
        self._forget(lane, count, REFUSED)
        return count

    def _forget(self, lane: int, count: int, front: int) -> None:
        held, fronts = self.lanes
        held[lane] -= count
        fronts[lane] = max(fronts[lane], front)
        self.counters[HELD] -= count
        span = self.counters[FRONT], self.counters[END]
        self.counters[FRONT] = _first_there(*span, self.parts[OWNER], fronts, self._steps)

    # ── room ──

    def make_room(self, heads: Ints) -> bool:
        """Puts what is there together, if it is half or less of what lies about; whether it was."""
        numbers, _, there = self._known()
        if 2 * len(self) > len(numbers):
            return False
        front = int(self.counters[FRONT])
        kept = tuple(part[..., numbers[there] & (self.size - 1)] for part in self.parts)
        moved = np.append(np.where(there, front + np.cumsum(there) - 1, -1), -1)

        def link(old: Ints) -> Ints:
            return moved[np.where(old >= front, old - front, -1)]

        later = kept[OWNER] % self._steps > 0  # of the first step it is rows of a template
        kept[BEFORE][:] = link(kept[BEFORE])
        kept[BELOW][later] = link(kept[BELOW][later])
        heads[:] = link(heads)
        fronts = self.lanes[1]
        fronts[fronts != REFUSED] = 0
        self.counters[END] = front + len(self)
        self._fill(kept, self.size)
        return True

    def grow(self) -> None:
        self._fill(self._from_front(), 2 * self.size)

    def _from_front(self) -> Arrays:
        places = np.arange(self.counters[FRONT], self.counters[END]) & (self.size - 1)
        return tuple(part[..., places] for part in self.parts)

    def _fill(self, held: Arrays, size: int) -> None:
        self.parts = self._new(size)
        places = np.arange(self.counters[FRONT], self.counters[END]) & (size - 1)
        for part, values in zip(self.parts, held, strict=True):
            part[..., places] = values

    def move_rows(self, move: Any) -> None:
        """Rows of a template stand elsewhere now: those of the first step's arrivals are moved."""
        numbers, _, there = self._known()
        at = numbers[there] & (self.size - 1)
        first = at[self.parts[OWNER][at] % self._steps == 0]
        self.parts[BELOW][first] = move(self.parts[BELOW][first])

    # ── state ──

    def state(self) -> dict[str, NDArray[Any]]:
        ring = {f"ring.{i}": part for i, part in enumerate(self._from_front())}
        numbers = np.array([*self.counters[[FRONT, END]], self.closed])
        return {"numbers": numbers, "fronts": self.lanes[1].copy(), **ring}

    def restore(self, state: Mapping[str, NDArray[Any]], heads: Ints, lane_of: Ints) -> None:
        """`lane_of` says for each list of which lane it is: before version 2 nothing else does."""
        self.counters[[FRONT, END]] = state["numbers"][:2]
        self.counters[LEVEL] = IDLE
        self.closed = bool(state["numbers"][2])
        count = int(self.counters[END] - self.counters[FRONT])
        held = [state[f"ring.{i}"] for i in range(OWNER)]
        owner = state.get(f"ring.{OWNER}")
        held.append(_owners(heads, lane_of, held[BEFORE], int(self.counters[FRONT])) if owner is None else owner)
        size = self.size
        while size < count + self._steps:
            size *= 2
        self._fill(tuple(held), size)
        self.room_for_lanes(int(max(lane_of.max(initial=-1) + 1, len(state.get("fronts", ())))))
        if "fronts" in state:
            self.lanes[1][: len(state["fronts"])] = state["fronts"]
        _, lane, there = self._known()
        self.lanes = np.bincount(lane[there], minlength=len(self.lanes[1])), self.lanes[1]
        self.counters[HELD] = int(there.sum())


@compiled
def _first_there(front: int, end: int, owner: Ints, fronts: Ints, steps: int) -> int:
    """The first number from the front on that is not before the front of its lane."""
    while front < end and front < fronts[owner[front & (owner.size - 1)] // steps]:
        front += 1
    return front


@compiled
def _owners(heads: Ints, lane_of: Ints, before: Ints, front: int) -> Ints:
    """The owners of arrivals that lie from the front on, by the lists that lead to them. Others lead nowhere."""
    owner = np.zeros(before.size, np.int64)
    for one in range(lane_of.size):
        for step in range(heads.shape[1]):
            number = heads[one, step]
            while number >= front:
                owner[number - front] = lane_of[one] * heads.shape[1] + step
                number = before[number - front]
    return owner

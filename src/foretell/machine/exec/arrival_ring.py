"""The ring of arrivals: one for all lists, in the order they came, which grows and lets go of the oldest.

An arrival has the next number and lies at that number in the ring. It is there as long as its number is not before the
front, nor before the front of its lane: so moving one number lets go of the oldest of a lane, and links to them lead
nowhere from then on. Their places are used again when the front passes them, or when the ring is full and half of it is
such places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Arrays, Flags, Ints
from foretell.jit import compiled
from foretell.machine.exec.arrival_lists import ListHeads
from foretell.machine.input.key_index import with_room
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.arrival_walk import COUNTERS, END, FRONT, HELD, IDLE, LEVEL, REFUSED, RingArrays
from foretell.machine.kernels.run_checks import all_held
from foretell.machine.kernels.structs import Values
from foretell.records import record
from foretell.storage.recorded_values import FAR, array, indices, require, require_range

#: The number of the owners' column in the state; the first versions did not write it.
_OWNER = 8


class ArrivalRing:
    """The arrivals of `steps` steps, each with `width` values; `closed` says that every lane is refused.

    `held` is how many arrivals each lane has, `fronts` the front of each.
    """

    def __init__(self, size: int, width: int, time: type[np.generic], steps: int) -> None:
        self._width, self._time, self._steps = width, time, steps
        self.counters = np.zeros(COUNTERS, np.int64)
        self.counters[LEVEL] = IDLE
        self.arrays = self._new(size)
        self.held: Ints = np.zeros(0, np.int64)
        self.fronts: Ints = np.zeros(0, np.int64)
        self.closed = False

    def __len__(self) -> int:
        """How many arrivals there are."""
        return int(self.counters[HELD])

    @property
    def size(self) -> int:
        return len(self.arrays.position)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return sum(column.nbytes for column in (*_columns(self.arrays), self.held, self.fronts))

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event; None where there is none."""
        return int(self.arrays.position[self.counters[FRONT] & (self.size - 1)]) if len(self) else None

    @property
    def positions(self) -> Ints:
        numbers, _, held = self._numbers()
        return np.asarray(self.arrays.position[numbers[held] & (self.size - 1)], np.int64)

    @property
    def held_events(self) -> tuple[Ints, Ints, Ints]:
        """The lane, the step and the position of each arrival, the oldest first."""
        numbers, lanes, held = self._numbers()
        steps = self.arrays.owner[numbers & (self.size - 1)] % self._steps
        return lanes[held], steps[held], np.asarray(self.arrays.position[numbers[held] & (self.size - 1)], np.int64)

    def _new(self, size: int) -> RingArrays:
        values = np.zeros((self._width, size), np.int64)
        return RingArrays(
            position=np.zeros(size, np.int64),
            start=np.zeros(size, self._time),
            latest_start=np.zeros(size, self._time),
            before=np.full(size, -1, np.int64),
            below=np.full(size, -1, np.int64),
            floor=np.full(size, -1, np.int64),
            values=Values(values.view(np.float64), values, np.zeros((self._width, size), np.uint8)),
            owner=np.zeros(size, np.int64),
        )

    def grow_lanes(self, count: int) -> None:
        self.held = with_room(self.held, count)
        self.fronts = with_room(self.fronts, count, REFUSED if self.closed else 0)

    # ── what there is ──

    def _numbers(self) -> tuple[Ints, Ints, Flags]:
        """The numbers from the front to the end, their lanes, and which of them are still there."""
        numbers = np.arange(self.counters[FRONT], self.counters[END])
        lane = self.arrays.owner[numbers & (self.size - 1)] // self._steps
        return numbers, lane, numbers >= self.fronts[lane]

    def crowded_lanes(self, enough: int) -> Ints:
        """The lanes with the most arrivals, as many as have `enough` together."""
        lanes = np.flatnonzero(self.held)
        lanes = lanes[np.argsort(-self.held[lanes], kind="stable")]
        return lanes[: 1 + int(np.searchsorted(np.cumsum(self.held[lanes]), enough))]

    @property
    def needed_lanes(self) -> Ints:
        """The lanes that have numbers in the ring, also of arrivals that are gone, and those that are refused."""
        _, lane, _ = self._numbers()
        return np.concatenate([lane, np.flatnonzero(self.fronts == REFUSED)])

    def values(self, places: Iterable[int]) -> Iterator[Ints]:
        """Some of the values of all arrivals."""
        numbers, _, _ = self._numbers()
        for place in places:
            yield self.arrays.values.integers[place, numbers & (self.size - 1)]

    def free_lanes(self, freed: Ints) -> None:
        """Lanes that have no numbers in the ring begin anew."""
        self.fronts[freed[freed < len(self.fronts)]] = 0

    # ── letting go ──

    def drop(self, count: int) -> int:
        """Let go of the oldest of all; return how many."""
        numbers, lane, held = self._numbers()
        gone = np.flatnonzero(held)[:count]
        np.subtract.at(self.held, lane[gone], 1)
        self.counters[HELD] -= len(gone)
        self.counters[FRONT] = numbers[gone[-1]] + 1 if len(gone) else self.counters[FRONT]
        return len(gone)

    def drop_of(self, lane: int, count: int) -> int:
        """Let go of the oldest of a lane; return how many."""
        numbers, lanes, held = self._numbers()
        gone = numbers[held & (lanes == lane)][:count]
        self._forget(np.array([lane]), len(gone), int(gone[-1]) + 1 if len(gone) else 0)
        return len(gone)

    def refuse(self, lanes: Ints) -> None:
        """Let go of all of some lanes, for good."""
        self._forget(lanes, self.held[lanes], REFUSED)

    def _forget(self, lanes: Ints, counts: Ints | int, front: int) -> None:
        self.held[lanes] -= counts
        self.fronts[lanes] = np.maximum(self.fronts[lanes], front)
        self.counters[HELD] -= np.sum(counts)
        span = self.counters[FRONT], self.counters[END]
        self.counters[FRONT] = _first_held(*span, self.arrays.owner, self.fronts, self._steps)

    # ── room ──

    def make_room(self, heads: Ints) -> bool:
        """Put the arrivals together, if they are half or less of the numbers in use; return whether they were."""
        numbers, _, held = self._numbers()
        if 2 * len(self) > len(numbers):
            return False
        front = int(self.counters[FRONT])
        kept = self._new(len(self))
        for column, old in zip(_columns(kept), _columns(self.arrays), strict=True):
            column[...] = old[..., numbers[held] & (self.size - 1)]
        moved = np.append(np.where(held, front + np.cumsum(held) - 1, -1), -1)

        def link(old: Ints) -> Ints:
            return moved[np.where(old >= front, old - front, -1)]

        later = kept.owner % self._steps > 0  # of the first step it is rows of a template
        kept.before[:] = link(kept.before)
        kept.below[later] = link(kept.below[later])
        heads[:] = link(heads)
        self.fronts[self.fronts != REFUSED] = 0
        self.counters[END] = front + len(self)
        self._fill(_columns(kept), self.size)
        return True

    def grow(self) -> None:
        self._fill(self._from_front(), 2 * self.size)

    def shrink(self, heads: Ints) -> None:
        """Give back room where the arrivals fill less than a quarter of it."""
        self.make_room(heads)
        size = self.size
        while size > 1024 and 4 * (self.counters[END] - self.counters[FRONT] + self._steps) < size:
            size //= 2
        if size < self.size:
            self._fill(self._from_front(), size)

    def _from_front(self) -> Arrays:
        places = np.arange(self.counters[FRONT], self.counters[END]) & (self.size - 1)
        return tuple(column[..., places] for column in _columns(self.arrays))

    def _fill(self, columns: Sequence[NDArray[Any]], size: int) -> None:
        self.arrays = self._new(size)
        places = np.arange(self.counters[FRONT], self.counters[END]) & (size - 1)
        for column, values in zip(_columns(self.arrays), columns, strict=True):
            column[..., places] = values

    # ── state ──

    def state(self) -> dict[str, NDArray[Any]]:
        ring = {f"ring.{i}": column for i, column in enumerate(self._from_front())}
        numbers = np.array([*self.counters[[FRONT, END]], self.closed])
        return {"numbers": numbers, "fronts": self.fronts.copy(), **ring}

    def restore(self, state: Mapping[str, NDArray[Any]], lists: ListHeads, recorded: RecordedArrivals) -> None:
        """Continue from a snapshot, with the lists that it has."""
        front, end, closed = indices(state["numbers"], FAR, "the arrivals", (3,)).tolist()
        require(front <= end and closed <= 1, "the arrivals")
        self.counters[[FRONT, END]] = front, end
        self.counters[LEVEL] = IDLE
        self.closed = bool(closed)
        count, heads, lane_of = end - front, lists.heads, lists.lanes
        columns = self._recorded_columns(state, count)
        owner, before = state.get(f"ring.{_OWNER}"), columns[RingArrays._fields.index("before")]
        require_range(before, end, "the links of arrivals", low=-1)
        require_range(heads, end, "the lists of arrivals", low=-1)
        # Before version 2 nothing but the lists tells whose an arrival is.
        owners = _owners(heads, lane_of, before, front) if owner is None else owner
        columns.append(indices(owners, recorded.bounds.lanes * self._steps, "the lanes of arrivals", (count,)))
        recorded.check(self._steps, front, columns, heads, lane_of)
        size = self.size
        while size < count + self._steps:
            size *= 2
        self._fill(columns, size)
        fronts = array(state.get("fronts", np.zeros(0, np.int64)), np.int64, (None,), "the fronts of lanes")
        require(((fronts == REFUSED) | ((fronts >= 0) & (fronts <= end))).all(), "the fronts of lanes")
        self.grow_lanes(max(recorded.bounds.lanes, len(fronts)))
        self.fronts[: len(fronts)] = fronts
        _, lane, held = self._numbers()
        self.held = np.bincount(lane[held], minlength=len(self.fronts))
        self.counters[HELD] = int(held.sum())
        position = columns[RingArrays._fields.index("position")]
        positions = position if held.all() else position[held]
        require(all_held(positions, recorded.bounds.held) and not (position < 0).any(), "the events of arrivals")

    def _recorded_columns(self, state: Mapping[str, NDArray[Any]], count: int) -> list[NDArray[Any]]:
        """The columns of a snapshot but the last."""
        return [
            array(state[f"ring.{i}"], like.dtype, (*like.shape[:-1], count), "the arrivals")
            for i, like in enumerate(_columns(self._new(0))[:_OWNER])
        ]


@record
class RecordedArrivals:
    """The limits that the arrivals of a snapshot must keep: how far their numbers may reach, how many rows the template
    has, and which of the values that each step stores are codes of texts."""

    bounds: StateBounds
    rows: int
    texts: Sequence[Sequence[int]]

    def check(self, steps: int, front: int, columns: Sequence[NDArray[Any]], heads: Ints, lane_of: Ints) -> None:
        """Refuse arrivals through which a walk could not go."""
        _, _, _, before, below, floor, values, nulls, owner = columns
        require_range(floor, self.bounds.positions, "the negated steps of arrivals", low=-1)
        require(_links_fit(front, before, below, owner, steps, self.rows), "the links of arrivals")
        require(_heads_fit(front, heads, lane_of[: len(heads)], owner), "the lists of arrivals")
        for step, texts in enumerate(self.texts):
            for place in texts:
                known = (owner % steps == step) & (nulls[place] == 0)
                require_range(values[place][known], self.bounds.texts, "the texts of arrivals")


@compiled
def _links_fit(front: int, before: Ints, below: Ints, owner: Ints, steps: int, rows: int) -> bool:
    """Whether each arrival links to earlier ones of its lane, of its own step and of the step before."""
    for i in range(before.size):
        if before[i] >= front and (before[i] - front >= i or owner[before[i] - front] != owner[i]):
            return False
        if owner[i] % steps == 0:
            first_row, count = below[i] >> 32, below[i] & 0xFFFFFFFF
            if first_row < 0 or first_row + count > rows:
                return False
        elif below[i] < -1 or (
            below[i] >= front and (below[i] - front >= i or owner[below[i] - front] != owner[i] - 1)
        ):
            return False
    return True


@compiled
def _heads_fit(front: int, heads: Ints, lane_of: Ints, owner: Ints) -> bool:
    """Whether each list begins with an arrival of its lane and step, or with none that is still there."""
    for place in range(heads.shape[0]):
        for step in range(heads.shape[1]):
            if heads[place, step] >= front and (
                place >= lane_of.size or owner[heads[place, step] - front] != lane_of[place] * heads.shape[1] + step
            ):
                return False
    return True


def _columns(arrays: RingArrays) -> Arrays:
    """The columns of the ring in the order of its state; values and which of them are NULL are two."""
    *links, values, owner = arrays
    return (*links, values.integers, values.nulls, owner)


@compiled
def _first_held(front: int, end: int, owner: Ints, fronts: Ints, steps: int) -> int:
    """The first number from the front on that is not before the front of its lane."""
    while front < end and front < fronts[owner[front & (owner.size - 1)] // steps]:
        front += 1
    return front


@compiled
def _owners(heads: Ints, lane_of: Ints, before: Ints, front: int) -> Ints:
    """The owners of arrivals that lie from the front on, by the lists that lead to them. Others lead nowhere."""
    owner = np.zeros(before.size, np.int64)
    for place in range(lane_of.size):
        for step in range(heads.shape[1]):
            number = heads[place, step]
            while number >= front and number - front < before.size:
                owner[number - front] = lane_of[place] * heads.shape[1] + step
                number = min(before[number - front], number - 1)
    return owner

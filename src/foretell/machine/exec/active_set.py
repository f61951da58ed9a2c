"""The active set: the lanes in which partial matches wait, and the predicates that are evaluated for them alone.

What executors hold flows back to the filter here (A-MEDIAS, section 7.3.2: the profile pool). Between batches nothing
is kept: at the beginning of each the runs and arrivals tell in which lanes a place is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.predicates import Predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import read_only
from foretell.machine.exec.run_pool import RunPool
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.kernels import active_rows
from foretell.plan.lower.detection import Detection, WaitingPlace

#: A part of a batch that is larger than this is not worth taking out of it.
LARGE_PART = 0.5


class OpenLanes(Protocol):
    """The partial matches of an executor, as far as they tell which lanes are open."""

    def write(self, place: WaitingPlace, lane: NDArray[np.int64], until: NDArray[np.generic]) -> None:
        """Write up to which time the place is open in the lanes of a batch."""


@dataclass
class OpenRuns:
    """The runs of an NFA."""

    pool: RunPool

    def write(self, place: WaitingPlace, lane: NDArray[np.int64], until: NDArray[np.generic]) -> None:
        lanes, (closed, forever) = self.pool.lanes, _ends_of_time(until)
        if place.state is None:
            active_rows.open_by_count(lane, lanes.lengths, closed, forever, until)
            return
        within = _window(place, until)
        cells, times = self.pool.cells, self.pool.arrays.times
        active_rows.open_by_list(lane, place.state, within, lanes.heads, cells, times, closed, forever, until)


@dataclass
class OpenArrivals:
    """The arrivals of a sequence, by their number in each lane: those that the window has left are gone."""

    held: NDArray[np.generic]

    def write(self, place: WaitingPlace, lane: NDArray[np.int64], until: NDArray[np.generic]) -> None:
        active_rows.open_by_count(lane, self.held, *_ends_of_time(until), until)


@dataclass
class ActiveSet:
    """Evaluates predicates: most for the whole batch, some where a partial match waits for them."""

    detection: Detection
    predicates: Predicates
    time: Type

    def __post_init__(self) -> None:
        self._until = np.zeros(0, np.float64 if self.time is Type.FLOAT else np.int64)

    def write(
        self, result: Flags, segment: EventSegment, strings: StringDictionary, lanes: OpenLanes, lane_count: int
    ) -> None:
        """Write the flags of the predicates of single-step detection; those of the others are there already."""
        count = len(segment)
        if len(self._until) < lane_count:
            self._until = np.zeros(max(lane_count, 2 * len(self._until)), self._until.dtype)
        result[list(self.detection.single_step), :count] = False
        done: dict[int, Flags] = {}
        for place in self.detection.places:
            found = np.empty(count, np.bool_)
            if self._find(place, result, segment, lanes, found):
                for number in place.predicates:
                    wanted = found & ~done[number] if number in done else found
                    done[number] = done[number] | found if number in done else found
                    rows: Ints | None = np.flatnonzero(wanted)
                    if np.count_nonzero(wanted) > LARGE_PART * count:
                        rows = None
                        done[number] = np.ones(count, np.bool_)
                    self.predicates.write_rows(number, rows, result, segment.events, strings)

    def _find(self, place: WaitingPlace, result: Flags, segment: EventSegment, lanes: OpenLanes, found: Flags) -> int:
        """Mark the events that come while a place is open; return how many there are."""
        count = len(segment)
        lanes.write(place, segment.lane, self._until)
        openers = result[place.openers[0], :count]
        for opener in place.openers[1:]:
            openers = openers | result[opener, :count]
        return int(
            active_rows.find_rows(
                segment.lane,
                read_only(segment.events.time.values),
                openers,
                _window(place, self._until),
                place.next_only,
                *_ends_of_time(self._until),
                self._until,
                found,
            )
        )


def _ends_of_time(until: NDArray[np.generic]) -> tuple[np.generic, np.generic]:
    """The times that stand for closed and for open for good."""
    if until.dtype == np.float64:
        return np.float64(-np.inf), np.float64(np.inf)
    limits = np.iinfo(np.int64)
    return np.int64(limits.min), np.int64(limits.max)


def _window(place: WaitingPlace, until: NDArray[np.generic]) -> np.generic:
    """The window of a place in the type of times; -1 for none."""
    within = -1 if place.within is None else place.within
    return np.float64(within) if until.dtype == np.float64 else np.int64(within)

"""The lanes in which the limits stopped the subscriptions of an executor: sixteen bytes each, since one batch may stop
millions, and their record must take less memory than the partial matches that they give up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foretell.arrays import Flags, Ints

#: No event stopped the subscription.
_RUNNING = np.iinfo(np.int64).max

_NONE = np.zeros((0, 2), np.int64)


class StoppedLanes:
    """Of each subscription, by its number, the lanes in which it is stopped, in order, and the positions of the events
    from which on."""

    def __init__(self) -> None:
        self._stops: dict[int, Ints] = {}

    def __bool__(self) -> bool:
        return bool(self._stops)

    @property
    def nbytes(self) -> int:
        return sum(stops.nbytes for stops in self._stops.values())

    def stop(self, member: int, lanes: Ints, position: int) -> Ints:
        """Stop a subscription in some lanes from a position on; return those in which it was not stopped before."""
        new = lanes[~self.all_stopped([member], lanes)]
        if len(new):
            ordered, stops = np.sort(new), self._stops.get(member, _NONE)
            added = np.stack([ordered, np.full(len(ordered), position)], axis=1)
            self._stops[member] = np.insert(stops, np.searchsorted(stops[:, 0], ordered), added, axis=0)
        return new

    def since(self, member: int, lanes: Ints) -> Ints:
        """The position from which on a subscription is stopped in each of some lanes: beyond all where it runs."""
        stops = self._stops.get(member, _NONE)
        if not len(stops):
            return np.full(len(lanes), _RUNNING)
        at = np.minimum(np.searchsorted(stops[:, 0], lanes), len(stops) - 1)
        return np.where(stops[at, 0] == lanes, stops[at, 1], _RUNNING)

    def all_stopped(self, members: Iterable[int], lanes: Ints) -> Flags:
        """Of each of some lanes, whether all these subscriptions are stopped there."""
        stopped = np.ones(len(lanes), np.bool_)
        for member in members:
            stopped &= self.since(member, lanes) != _RUNNING
        return stopped

    @property
    def lanes(self) -> Ints:
        """The lanes in which any subscription is stopped."""
        return np.concatenate([_NONE[:, 0], *(stops[:, 0] for stops in self._stops.values())])

    def rows(self) -> Ints:
        """Subscription, lane and position of all, as rows."""
        stops = [np.insert(stops, 0, member, axis=1) for member, stops in self._stops.items()]
        return np.concatenate([np.zeros((0, 3), np.int64), *stops])

    @staticmethod
    def of(rows: Ints) -> StoppedLanes:
        """Those of a snapshot."""
        stopped = StoppedLanes()
        for member in np.unique(rows[:, 0]).tolist():
            own = rows[rows[:, 0] == member, 1:]
            _, first = np.unique(own[:, 0], return_index=True)
            stopped._stops[member] = own[first]
        return stopped

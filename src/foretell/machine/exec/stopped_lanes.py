"""The lanes in which the limits stopped the subscriptions of an executor: sixteen bytes each, since one batch may stop
millions, and their record must take less memory than the partial matches that they give up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from foretell.arrays import Flags, Ints

#: No event stopped the subscription.
_RUNNING = np.iinfo(np.int64).max


class StoppedLanes:
    """Of each subscription, by its number, the lanes in which it is stopped, and the positions of the events from which
    on: parts in the order of lanes, each at least twice as long as the next, so that stopping a few more is cheap."""

    def __init__(self) -> None:
        self._parts: dict[int, list[Ints]] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def _all(self) -> Iterator[tuple[int, Ints]]:
        """The parts with their subscriptions."""
        return ((member, part) for member, parts in self._parts.items() for part in parts)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for _, part in self._all())

    def stop(self, member: int, lanes: Ints, position: int) -> Ints:
        """Stop a subscription in some lanes from a position on; return those in which it was not stopped before."""
        new = lanes[~self.all_stopped([member], lanes)]
        if len(new):
            self._add(member, np.stack([new, np.full(len(new), position)], axis=1))
        return new

    def _add(self, member: int, part: Ints) -> None:
        parts = self._parts.setdefault(member, [])
        while parts and len(parts[-1]) < 2 * len(part):
            part = np.concatenate([parts.pop(), part])
        parts.append(part[np.argsort(part[:, 0])])

    def since(self, member: int, lanes: Ints) -> Ints:
        """The position from which on a subscription is stopped in each of some lanes: beyond all where it runs."""
        found = np.full(len(lanes), _RUNNING)
        for part in self._parts.get(member, ()):
            at = np.minimum(np.searchsorted(part[:, 0], lanes), len(part) - 1)
            known = part[at, 0] == lanes
            found[known] = part[at[known], 1]
        return found

    def all_stopped(self, members: Iterable[int], lanes: Ints) -> Flags:
        """Of each of some lanes, whether all these subscriptions are stopped there."""
        stopped = np.ones(len(lanes), np.bool_)
        for member in members:
            stopped &= self.since(member, lanes) != _RUNNING
        return stopped

    @property
    def lanes(self) -> Ints:
        """The lanes in which any subscription is stopped."""
        return np.concatenate([np.zeros(0, np.int64), *(part[:, 0] for _, part in self._all())])

    def rows(self) -> Ints:
        """Subscription, lane and position of all, as rows."""
        rows = [np.insert(part, 0, member, axis=1) for member, part in self._all()]
        return np.concatenate([np.zeros((0, 3), np.int64), *rows])

    @staticmethod
    def of(rows: Ints) -> StoppedLanes:
        """Those of a snapshot."""
        stopped = StoppedLanes()
        for member in np.unique(rows[:, 0]).tolist():
            stopped._add(member, rows[rows[:, 0] == member, 1:])
        return stopped

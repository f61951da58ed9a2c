"""When results are known, to be compared: by their places in the order of all events, and those that time completes
between two events by their ends. A derived event comes after the event that completed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.machine.input.state_bounds import StateBounds
from foretell.records import record
from foretell.storage.recorded_values import array, require, times

#: In place of the place of a completion that never was.
NEVER = np.iinfo(np.int64).max

#: A single completion: its place, its end, and the places of derived events behind it.
CompletionKey = tuple[int | float, ...]


@record
class Completions:
    """`order` has the place of each, and those of the derived events behind it, -1 where there are fewer."""

    order: Ints
    end: NDArray[Any]

    @property
    def columns(self) -> list[NDArray[Any]]:
        """In the order in which they are compared."""
        return [self.order[:, 0], self.end, *self.order.T[1:]]

    def filter(self, rows: Ints | Flags) -> Completions:
        return Completions(self.order[rows], self.end[rows])

    def before(self, other: Completions) -> Flags:
        """Whether each is earlier than that of the other."""
        found = np.zeros(len(self.end), np.bool_)
        equal = np.ones(len(self.end), np.bool_)
        for first, second in self._pairs(other):
            found |= equal & (first < second)
            equal &= first == second
        return found

    def same(self, other: Completions) -> Flags:
        equal = np.ones(len(self.end), np.bool_)
        for first, second in self._pairs(other):
            equal &= first == second
        return equal

    def _pairs(self, other: Completions) -> Sequence[tuple[Any, Any]]:
        first, second = self.columns, other.columns
        depth = max(len(first), len(second))
        return list(zip(_padded(first, depth), _padded(second, depth), strict=True))

    @property
    def keys(self) -> list[CompletionKey]:
        if self.order.shape[1] == 1:
            return list(zip(self.order[:, 0].tolist(), self.end.tolist(), strict=True))
        depths = (self.order >= 0).sum(axis=1).tolist()
        rows = zip(self.order.tolist(), self.end.tolist(), depths, strict=True)
        return [(place[0], end, *place[1:depth]) for place, end, depth in rows]

    def state(self) -> Mapping[str, Any]:
        return {"order": self.order, "known": self.end}


def completions_of(keys: Sequence[CompletionKey]) -> Completions:
    depth = max((len(key) for key in keys), default=2) - 1
    order = np.full((len(keys), depth), -1, np.int64)
    for row, (place, _, *deeper) in enumerate(keys):
        order[row, : 1 + len(deeper)] = [place, *deeper]
    return Completions(order, np.array([key[1] for key in keys]))


def restored_completions(state: Mapping[str, Any], count: int, bounds: StateBounds) -> Completions:
    """The completions of a snapshot."""
    order: Ints = array(state["order"], np.int64, (count, None), "the estimates")
    require(order.shape[1] > 0 and bool((order[:, 0] < bounds.places).all()), "the estimates")
    known = state["known"]
    require(isinstance(known, np.ndarray), "the estimates")
    kind = np.float64 if known.dtype.kind == "f" else np.int64
    return Completions(order, times(known, kind, (count,), "the estimates"))


def _padded(columns: list[NDArray[Any]], depth: int) -> list[Any]:
    return [*columns, *[-1] * (depth - len(columns))]

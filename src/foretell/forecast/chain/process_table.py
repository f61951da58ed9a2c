"""Where each process stands, as the kernel wants it (foretell.forecast.chain.kernel), and for which lane it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Scalar
from foretell.learn.lane_statistics import key_text


class Processes:
    """`numbers` are those of the lanes that a model knows, by their keys; others get theirs as they come. A lane
    without a number is counted with all others only."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self.columns = _new(0)
        self.numbers = {key: number for number, key in enumerate(known)}
        self.lanes = len(self.numbers)
        self._placed = 0

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def place(self) -> Ints:
        return self.columns[0]

    @property
    def last(self) -> Ints:
        return self.columns[1]

    @property
    def entered(self) -> NDArray[np.float64]:
        return self.columns[2]

    @property
    def node(self) -> Ints:
        return self.columns[4]

    @property
    def lane(self) -> Ints:
        return self.columns[5]

    @property
    def table(self) -> Ints:
        return self.columns[6]

    @property
    def brought(self) -> NDArray[np.uint8]:
        return self.columns[7]

    def make_room(self, count: int, first: int) -> None:
        """Room for so many, which begin at the chain state `first` (-1: nothing is known of where they begin)."""
        if count > len(self):
            more = _new(max(count, 2 * len(self), 16) - len(self))
            more[0][:] = first
            self.columns = tuple(np.concatenate(both) for both in zip(self.columns, more))

    def place_lanes(self, keys: Sequence[Mapping[str, Scalar]], count: int, most: int) -> bool:
        """Processes that are lanes have come: there are `count` of them. At most so many lanes have numbers. Whether
        some are new."""
        if count <= self._placed:
            return False
        for process in range(self._placed, count):
            known = self.numbers.get(key_text(keys[process])) if self.numbers else None
            if known is None and self.lanes < most:
                known = self.lanes
                self.lanes += 1
            self.lane[process] = -1 if known is None else known
        self._placed = count
        return True

    def forget_lanes(self, most: int) -> None:
        """There is room for so many lanes only."""
        self.lanes = min(self.lanes, most)
        self.numbers = {key: number for key, number in self.numbers.items() if number < most}
        self.lane[self.lane >= most] = -1
        self.table[self.lane < 0] = 0

    # ── state ──

    def written(self) -> dict[str, Any]:
        lanes = {"placed": self._placed, "count": self.lanes, "numbers": list(self.numbers.items())}
        return {"processes": list(self.columns), "lanes": lanes}

    @classmethod
    def read(cls, state: Mapping[str, Any]) -> Processes:
        found = cls()
        like = zip(state["processes"], found.columns, strict=True)
        found.columns = tuple(np.asarray(part, one.dtype) for part, one in like)
        # At first lanes had the numbers of their processes, whether these had come yet or not.
        at_first = {"placed": len(found), "count": len(state["lane_matched"]), "numbers": []}
        lanes = state.get("lanes", at_first)
        found._placed, found.lanes = lanes["placed"], lanes["count"]
        found.numbers = dict(map(tuple, lanes["numbers"]))
        return found


def _new(count: int) -> tuple[NDArray[Any], ...]:
    return (
        np.full(count, -1, np.int64),
        np.full(count, -1, np.int64),
        np.zeros(count),
        np.zeros(count, np.uint8),
        np.zeros(count, np.int64),
        np.full(count, -1, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.uint8),
    )

"""The process table: the state of each process for the kernel (foretell.forecast.chain.kernel), and its lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from foretell.events.types import Scalar
from foretell.forecast.chain.kernel import ProcessColumns
from foretell.learn.lane_statistics import key_text
from foretell.storage.recorded_values import FAR, array, require, require_range, whole


class ProcessTable:
    """`numbers` are those of the model's lanes by key; other lanes are numbered as they appear. A lane without a number
    is counted in the pool only."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self.columns = _new_columns(0)
        self.numbers = {key: number for number, key in enumerate(keys)}
        self.lanes = len(self.numbers)
        self._assigned = 0

    def __len__(self) -> int:
        return len(self.columns.state)

    def reserve(self, count: int, state: int) -> None:
        """Makes room for `count` processes; new ones start in the chain state `state` (-1: unknown)."""
        if count > len(self):
            more = _new_columns(max(count, 2 * len(self), 16) - len(self))
            more.state[:] = state
            pairs: Any = zip(self.columns, more, strict=True)
            self.columns = ProcessColumns(*map(np.concatenate, pairs))

    def assign_lanes(self, keys: Sequence[Mapping[str, Scalar]], count: int, most: int) -> bool:
        """Numbers the lanes of new processes, at most `most` lanes in all; each of the `count` processes is a lane.
        Returns whether there are new ones."""
        if count <= self._assigned:
            return False
        for process in range(self._assigned, count):
            number = self.numbers.get(key_text(keys[process])) if self.numbers else None
            if number is None and self.lanes < most:
                number = self.lanes
                self.lanes += 1
            self.columns.lane[process] = -1 if number is None else number
        self._assigned = count
        return True

    def limit_lanes(self, most: int) -> None:
        """Drops the numbers of all lanes from `most` on."""
        self.lanes = min(self.lanes, most)
        self.numbers = {key: number for key, number in self.numbers.items() if number < most}
        self.columns.lane[self.columns.lane >= most] = -1
        self.columns.table[self.columns.lane < 0] = 0

    # ── snapshots ──

    def snapshot(self) -> dict[str, Any]:
        lanes = {"placed": self._assigned, "count": self.lanes, "numbers": list(self.numbers.items())}
        return {"processes": list(self.columns), "lanes": lanes}

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], stops: ProcessStops) -> ProcessTable:
        table = cls()
        count = len(snapshot["processes"][0])
        pairs: Any = zip(snapshot["processes"], table.columns, strict=True)
        columns = ProcessColumns(*(array(saved, column.dtype, (count,), "the processes") for saved, column in pairs))
        require_range(columns.state, stops.states, "the states of processes", low=-1)
        require_range(columns.node, stops.nodes, "the contexts of processes")
        require_range(columns.lane, stops.lanes, "the lanes of processes", low=-1)
        require_range(columns.table, 1 + stops.lanes, "the tables of processes")
        require_range(columns.last, FAR, "the events of processes", low=-1)
        require(not np.isnan(columns.entered).any(), "the times of processes")
        table.columns = columns
        # The first snapshots had no "lanes": every process had been numbered, whether it had appeared or not.
        first_format = {"placed": len(table), "count": len(snapshot["lane_matched"]), "numbers": []}
        lanes = snapshot.get("lanes", first_format)
        table._assigned = whole(lanes["placed"], "the processes", stop=count + 1)
        table.lanes = whole(lanes["count"], "the lanes", stop=stops.lanes + 1)
        numbers = {str(key): whole(number, "the lanes", stop=max(1, table.lanes)) for key, number in lanes["numbers"]}
        table.numbers = numbers
        return table


class ProcessStops(NamedTuple):
    """How many chain states, nodes of contexts and lanes there are."""

    states: int
    nodes: int
    lanes: int


def _new_columns(count: int) -> ProcessColumns:
    return ProcessColumns(
        state=np.full(count, -1, np.int64),
        last=np.full(count, -1, np.int64),
        entered=np.zeros(count),
        above=np.zeros(count, np.uint8),
        node=np.zeros(count, np.int64),
        lane=np.full(count, -1, np.int64),
        table=np.zeros(count, np.int64),
        pending=np.zeros(count, np.uint8),
    )

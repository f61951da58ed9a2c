"""Occurrence counters for an `a[i]` that no step precedes: it binds every i-th event of the lane that satisfies a."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.jit import compiled
from foretell.machine.input.key_index import KeyIndex, with_room
from foretell.storage.recorded_values import FAR, indices


@dataclass
class OccurrenceCounters:
    """The number of events so far for each step, lane and values of the step's variables.

    Counts never end, so they are never dropped: there is one for each lane and each binding that ever occurred.
    """

    kinds: KeyIndex = field(default_factory=KeyIndex)
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def of(self, step: int, lane: Ints, values: Sequence[NDArray[Any]]) -> Ints:
        """The number of each event among those with the same step, lane and values, from 1."""
        columns = [np.full(len(lane), step, np.int64), lane, *(_word(v) for v in values)]
        words = np.stack(columns, axis=1)
        kind = self.kinds.number(np.arange(len(lane) + 1) * len(columns), words.ravel())
        self.counts = with_room(self.counts, len(self.kinds))
        return _counted(kind, self.counts)

    def state(self) -> dict[str, Any]:
        return {"kinds": self.kinds.state(), "counts": self.counts[: len(self.kinds)].copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.kinds.restore(state["kinds"])
        self.counts = indices(state["counts"], FAR, "the counts of events", (len(self.kinds),)).copy()


def _word(values: NDArray[Any]) -> Ints:
    if values.dtype == np.float64:
        return (values + 0.0).view(np.int64)  # -0.0 is 0.0
    return values.astype(np.int64, copy=False)


@compiled
def _counted(kind: Ints, counts: Ints) -> Ints:
    numbers = np.empty(kind.size, np.int64)
    for i in range(kind.size):
        counts[kind[i]] += 1
        numbers[i] = counts[kind[i]]
    return numbers

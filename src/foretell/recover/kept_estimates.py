"""Estimates of one variant that were reported and may still be confirmed, as few columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch, joined_results
from foretell.recover.candidates import VariantMatches
from foretell.recover.estimate_codec import estimates_state, positions_of, restored_estimates, without_buffer

#: With fewer estimates it is not worth looking for those that no longer matter.
_FEW = 1024


class KeptEstimates:
    """Parts of estimates, each at least twice as long as the next, so that many small batches are few parts."""

    def __init__(self) -> None:
        self.parts: list[ResultBatch] = []
        self._kept = 0

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def add(self, results: ResultBatch) -> None:
        self.parts.append(without_buffer(results))
        while len(self.parts) > 1 and len(self.parts[-2]) < 2 * len(self.parts[-1]):
            self.parts[-2:] = [_joined(self.parts[-2:])]

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None:
        self.parts = [renewed(part) for part in self.parts]

    def forget(self, until: Callable[[ResultBatch], Any], now: int | float, stand: Callable[[Ints], Flags]) -> None:
        """Drop what no longer stands or can be confirmed, now and then; `until` is the time until when it can."""
        if len(self) < 2 * self._kept + _FEW:
            return
        kept = [part.filter((until(part) >= now) & stand(positions_of(part))) for part in self.parts]
        self.parts = [part for part in kept if len(part)]
        self._kept = len(self)

    # ── snapshots ──

    def state(self) -> list[Mapping[str, Any]]:
        return [estimates_state(part) for part in self.parts]

    def restore(
        self, state: list[Mapping[str, Any]], variant: VariantMatches, bounds: StateBounds, like: ResultBatch
    ) -> None:
        for recorded in state:
            self.add(restored_estimates(recorded, variant, bounds, like))


def _joined(parts: list[ResultBatch]) -> ResultBatch:
    estimates = [part.estimates for part in parts]
    likely = np.concatenate([own.probability for own in estimates if own is not None])
    assert estimates[-1] is not None
    return replace(joined_results(parts, EventBuffer()), estimates=replace(estimates[-1], probability=likely))

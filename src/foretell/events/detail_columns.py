"""The details of many estimates that lack the same steps, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats
from foretell.events.delays.scores import Score
from foretell.events.estimate_detail import EstimateDetail, GapFactor, LostStep
from foretell.records import record

if TYPE_CHECKING:
    from foretell.events.delays.delay_model import GapEnds
    from foretell.events.delays.gap_estimates import GapEstimate, GapOutline

#: Whole times are rounded outwards, unless they are as near.
_NEAR = 1e-6


@record
class DetailColumns:
    """`independent` are the estimates that were scored so though `score` was asked for. `lost` has for each lost step
    the ends of its intervals, `factors` a column for each of the `gaps`."""

    score: Score
    independent: Flags
    lost: Mapping[str, NDArray[Any]]
    gaps: tuple[GapEnds, ...]
    factors: Floats

    @classmethod
    def of(
        cls,
        score: Score,
        order: Sequence[str],
        estimates: Sequence[tuple[GapOutline, GapEstimate]],
        present: Mapping[str, NDArray[Any]],
        unit: int,
    ) -> DetailColumns:
        """From what the gaps say; `order` is that of the pattern's steps. `present` has the times of the steps present,
        and delays are in `unit`s of theirs."""
        count = len(next(iter(present.values())))
        found = {
            step: _moments(present[origin], estimate.distances[:, place] * unit, direction)
            for outline, estimate in estimates
            for place, (step, origin, direction) in enumerate(outline.lost)
        }
        lost = {str(step): found[step] for step in order if step in found}
        independent = np.any([np.zeros(count, np.bool_), *(e.independent for _, e in estimates)], axis=0)
        factors = np.array([e.probability for _, e in estimates]).reshape(-1, count).T
        ends = [[None if end is None else str(end) for end in outline.ends] for outline, _ in estimates]
        return cls(score, independent, lost, tuple((after, before) for after, before in ends), factors)

    @property
    def width(self) -> int:
        """The number of columns."""
        return 1 + 2 * len(self.lost) + len(self.gaps)

    def filter(self, keep: Any) -> DetailColumns:
        lost = {step: times[keep] for step, times in self.lost.items()}
        return replace(self, independent=self.independent[keep], lost=lost, factors=self.factors[keep])

    @property
    def scores(self) -> list[str]:
        return [(Score.INDEPENDENT if independent else self.score).value for independent in self.independent.tolist()]

    def __getitem__(self, row: int) -> EstimateDetail:
        lost = tuple(LostStep(step, *times[row].tolist()) for step, times in self.lost.items())
        factors = zip(self.gaps, self.factors[row].tolist(), strict=True)
        gaps = tuple(GapFactor(after, before, factor) for (after, before), factor in factors)
        return EstimateDetail(self.filter(slice(row, row + 1)).scores[0], lost, gaps)


def joined(parts: Sequence[tuple[Flags, DetailColumns]]) -> DetailColumns:
    """The details of parts of some estimates, each with the rows that it has."""
    order = np.argsort(np.concatenate([np.flatnonzero(rows) for rows, _ in parts]))
    details = [part for _, part in parts]
    lost = {step: np.concatenate([part.lost[step] for part in details])[order] for step in details[0].lost}
    independent, factors = (
        np.concatenate(columns)[order] for columns in zip(*((p.independent, p.factors) for p in details), strict=True)
    )
    return replace(details[0], independent=independent, lost=lost, factors=factors)


def _moments(origin: NDArray[Any], distances: Floats, direction: int) -> NDArray[Any]:
    """The times at these distances from events; whole ones are rounded outwards, so that no interval is too short."""
    offsets = distances if direction > 0 else -distances[:, ::-1]
    if origin.dtype.kind == "f":
        return np.asarray(origin[:, None] + offsets)
    outwards = np.stack([np.floor(offsets[:, 0] + _NEAR), np.ceil(offsets[:, 1] - _NEAR)], axis=1)
    return np.asarray(origin[:, None] + outwards.astype(np.int64))

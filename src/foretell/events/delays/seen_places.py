"""Where in gaps a step was seen: sparse counts by the length of the gap and the place within it, as a part of it."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.events.delays.bandwidths import bells
from foretell.events.estimate_detail import INTERVAL_ENDS
from foretell.records import record

#: The bins of places are as wide as this in the middle of a gap, and towards both ends as narrow as the distance asks.
_SPAN, PLACES = 8.0, 128

#: The edges of the bins.
_EDGES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-_SPAN, _SPAN, PLACES - 1))), [1.0]])

#: Intervals rest on so many events, if there are so many, of gaps of about the same length.
_ENOUGH = 200.0

#: How many events there seem to be besides, anywhere in the gap: where none was seen nothing is known.
_ANYWHERE = 1.0


def place_of(part: Floats) -> Ints:
    """The bin of each place, a part of the gap from 0 to 1."""
    return np.asarray(np.clip(np.searchsorted(_EDGES, part, side="right") - 1, 0, PLACES - 1), np.int64)


@record
class SeenPlaces:
    """`cells` ascend: each is a bin of the length and one of the place; `weights` are how many events were seen."""

    cells: Ints
    weights: Floats

    @classmethod
    def of(cls, bins: Ints, places: Ints, weights: Floats | None = None) -> SeenPlaces:
        """Of events in gaps of these bins of length, at these bins of places."""
        cells, which = np.unique(bins * PLACES + places, return_inverse=True)
        return cls(cells, np.bincount(which, weights, len(cells)).astype(np.float64))

    def merged(self, other: SeenPlaces) -> SeenPlaces:
        cells, which = np.unique(np.concatenate([self.cells, other.cells]), return_inverse=True)
        weights = np.bincount(which, np.concatenate([self.weights, other.weights]), len(cells))
        return SeenPlaces(cells, weights.astype(np.float64))

    def scaled(self, factor: float, least: float = 0.0) -> SeenPlaces:
        """With another weight; what weighs no more than the least is left out."""
        weights = self.weights * factor
        keep = weights > least
        return SeenPlaces(self.cells[keep], weights[keep])

    def intervals(self, at: Floats, low: Floats, high: Floats, bins: int) -> Floats:
        """For each gap the ends of the interval of the place between `low` and `high`. `at` is the length among so many
        bins of lengths."""
        counts = np.bincount(self.cells, self.weights, bins * PLACES).reshape(bins, PLACES)
        near = np.einsum("lb,bp->lp", bells(at, self._by_length(bins), _ENOUGH), counts) + _ANYWHERE * np.diff(_EDGES)
        passed = np.concatenate([np.zeros((len(at), 1)), near.cumsum(axis=1)], axis=1)
        return np.array([_within(row, *bounds) for row, *bounds in zip(passed, low, high, strict=True)]).reshape(-1, 2)

    def _by_length(self, bins: int) -> Floats:
        return np.bincount(self.cells // PLACES, self.weights, bins).astype(np.float64)

    # ── the form in model files ──

    def to_json(self) -> list[list[float]]:
        return [
            [int(cell) // PLACES, int(cell) % PLACES, float(weight)]
            for cell, weight in zip(self.cells, self.weights, strict=True)
        ]


#: Of a step that was never seen.
NOWHERE = SeenPlaces(np.zeros(0, np.int64), np.zeros(0))


def _within(passed: Floats, low: float, high: float) -> Floats:
    """The quantiles between two places, of what has passed up to each edge of the bins."""
    first, last = np.interp([low, high], _EDGES, passed)
    return np.asarray(np.interp(first + np.array(INTERVAL_ENDS) * (last - first), passed, _EDGES), np.float64)

"""Drift of what gaps show: whether the share of gaps with a seen step departs from the trained counts beyond chance.

Windows of gaps are compared with the model by classes of length, after an F test: the variance within a window, between
its blocks, allows for gaps that depend on each other. Two windows in a row have to depart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import f as f_distribution

from foretell.arrays import Floats, Ints
from foretell.events.delays.delay_model import GapEnds
from foretell.events.delays.gap_counts import BINS, GapCounts, length_of
from foretell.records import record
from foretell.storage.recorded_values import FAR, array, require, whole

#: A window has so many blocks, a block at least so many gaps. Lengths are in so many classes with equally many gaps.
BLOCKS, _BLOCK, _CLASSES = 8, 125, 6

#: How likely a window departs by chance.
_CHANCE = 1e-4

#: So many windows in a row have to depart.
_IN_A_ROW = 2


class GapDrift:
    """Compares gaps with those of the training. `edge` is the bin of the window's length for a gap at its edge, whose
    events are counted for each distance."""

    def __init__(self, statement: str, ends: GapEnds, trained: GapCounts, edge: int) -> None:
        self._statement, self._ends, self._hidden = statement, ends, trained.hidden
        self._class = _edge_class(edge) if None in ends else _classes(trained.totals)
        self._trained = self._by_class(trained)
        self._blocks = np.zeros((0, *self._trained.shape))
        self._departed = 0
        self._notes: list[str] = []

    def add(self, counts: GapCounts) -> None:
        """Take up the gaps of a stretch, which have lost as much as those of the training."""
        if self._departed >= _IN_A_ROW:
            return
        new = self._by_class(counts)
        if len(self._blocks) and self._blocks[-1, 0].sum() < _BLOCK:
            self._blocks[-1] += new
        else:
            self._blocks = np.concatenate([self._blocks, new[None]])
        if len(self._blocks) == BLOCKS and self._blocks[-1, 0].sum() >= _BLOCK:
            self._compare(self._blocks)
            self._blocks = self._blocks[:0]

    def take_notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def _by_class(self, counts: GapCounts) -> Floats:
        """How many gaps there are in each class of length, and in how many of them a step was seen."""
        nothing = counts.counts.get((0,) * len(counts.hidden), np.zeros(BINS))
        classes = int(self._class.max()) + 1
        rows = [np.bincount(self._class[self._class >= 0], row[self._class >= 0], classes)
                for row in (counts.totals, counts.totals - nothing)]  # fmt: skip
        return np.stack(rows)

    def _compare(self, blocks: Floats) -> None:
        comparison = compared(blocks, self._trained)
        self._departed = self._departed + 1 if comparison.departs else 0
        if self._departed == _IN_A_ROW:
            self._notes.append(self._note(blocks.sum(axis=0), comparison.farthest))

    def _note(self, window: Floats, place: int) -> str:
        bins = np.flatnonzero(self._class == place)
        low, high = length_of(int(bins[0])), length_of(int(bins[-1]) + 1)
        lengths = f"of a length up to {high:.3g}" if bins[0] == 0 else f"of a length from {low:.3g} to {high:.3g}"
        u, v = self._ends
        where = (
            f"between '{u}' and '{v}'" if None not in self._ends else f"{'after' if v is None else 'before'} '{u or v}'"
        )
        steps = " or ".join(f"'{step}'" for step in self._hidden)
        seen, trained = window[1, place] / window[0, place], self._trained[1, place] / self._trained[0, place]
        return (
            f"'{self._statement}': what is seen {where} departs from the model: of the last {window[0, place]:,.0f} "
            f"gaps {lengths} {seen:.1%} show {steps}, in the training {trained:.1%}; train again on recent events"
        )

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {"blocks": self._blocks, "departed": self._departed}

    def restore(self, state: Mapping[str, Any]) -> None:
        blocks = array(state["blocks"], np.float64, (None, *self._trained.shape), "the gaps")
        require(len(blocks) <= BLOCKS and bool(((blocks >= 0) & (blocks < FAR)).all()), "the gaps")
        self._blocks, self._departed = blocks, whole(state["departed"], "the gaps", stop=_IN_A_ROW + 1)


@record
class WindowComparison:
    """Whether a window departs, and the class of length that is farthest from the training."""

    departs: bool
    farthest: int


def compared(blocks: Floats, trained: Floats) -> WindowComparison:
    """An F test of the blocks of a window against the training. Both have by class of length the number of gaps, and
    of those in which a step was seen."""
    number, seen = blocks.sum(axis=0)
    known, known_seen = trained
    with np.errstate(divide="ignore", invalid="ignore"):
        own, pooled = seen / number, (seen + known_seen) / (number + known)
        variance = pooled * (1 - pooled)
        between = (blocks[:, 1] - blocks[:, 0] * own) ** 2 / (blocks[:, 0] * own * (1 - own))
        distance = (own - known_seen / known) ** 2 / (variance * (1 / number + 1 / known))
    usable = (number > 0) & (known > 0) & (variance > 0)
    if not usable.any():
        return WindowComparison(departs=False, farthest=0)
    freedom = int(usable.sum())
    spread = np.nansum(np.where(np.isfinite(between), between, 0.0)[:, usable]) / (freedom * (len(blocks) - 1))
    ratio = distance[usable].mean() / max(1.0, spread)
    farthest = int(np.flatnonzero(usable)[np.argmax(distance[usable])])
    return WindowComparison(bool(ratio > _critical(freedom, freedom * (len(blocks) - 1))), farthest)


@cache
def _critical(above: int, below: int) -> float:
    return float(f_distribution.isf(_CHANCE, above, below))


def _classes(totals: Floats) -> Ints:
    """The class of each bin of length: classes have about equally many gaps."""
    share = np.cumsum(totals) / max(1.0, totals.sum())
    middle = share - totals / max(1.0, totals.sum()) / 2
    _, number = np.unique(np.minimum((middle * _CLASSES).astype(np.int64), _CLASSES - 1), return_inverse=True)
    return np.asarray(number, np.int64)


def _edge_class(edge: int) -> Ints:
    return np.where(np.arange(BINS) == edge, 0, -1)

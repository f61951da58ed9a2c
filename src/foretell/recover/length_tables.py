"""Functions of the lengths of gaps, for many gaps at once: exact where they are few, else by a table in the logarithm
of the length."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.interpolate import PchipInterpolator

from foretell.arrays import Floats
from foretell.events.delays.tables import refined_table

#: Lengths that are computed one by one before a table is made.
_FEW = 512

#: A table reaches to lengths that are by so much shorter, in the logarithm.
_MARGIN = 4.0

#: The best value is looked for at so many lengths, down to the longest divided by e to the power of the span, and then
#: so often at so many beside the best one.
_SAMPLES, _SPAN = 50, 25.0
_ROUNDS, _BESIDE = 3, 9


class LengthTable:
    """`exact` gives a number for each length up to `most`, or a row of the given `shape`. Where the function
    `is_smooth`, a table is as near as the `tolerance`. `marks` ascend: lengths near which it may change within less
    than an e-fold."""

    def __init__(
        self,
        exact: Callable[[Floats], Floats],
        tolerance: float,
        marks: Floats,
        *,
        most: float,
        is_smooth: bool,
        shape: tuple[int, ...] = (),
    ) -> None:
        self._exact, self._tolerance, self.is_smooth, self._shape = exact, tolerance, is_smooth, shape
        self._most = most
        self._marks = marks
        self._known: dict[float, float | list[float]] = {}
        self._best: dict[float, float] = {}
        self._table: PchipInterpolator | None = None

    def __call__(self, lengths: Floats, *, exactly: bool = False) -> Floats:
        if self._table is not None and not exactly:
            return self._looked_up(lengths)
        different, which = np.unique(lengths, return_inverse=True)
        return (self._each(different) if exactly else self._of(different))[which.ravel()]

    def best(self, longest: float) -> float:
        """The highest value up to a length."""
        if longest not in self._best:
            self._best[longest] = self._highest(longest)
        return self._best[longest]

    def _highest(self, longest: float) -> float:
        lengths = self._sampled(longest)
        values = self._each(lengths)
        best = float(values.max())
        for _ in range(_ROUNDS):
            at = int(values.argmax())
            lengths = np.linspace(lengths[max(at - 1, 0)], lengths[min(at + 1, len(lengths) - 1)], _BESIDE)
            values = self._exact(lengths)
            best = max(best, float(values.max()))
        return best

    def _sampled(self, longest: float) -> Floats:
        lengths = longest * np.exp(-np.linspace(0.0, _SPAN, _SAMPLES))
        return np.unique(np.concatenate([[0.0], lengths, self._marks[self._marks < longest]]))

    def longest(self, most: float, enough: float) -> float:
        """The longest length up to `most` for which the value may be `enough`, found at some lengths."""
        lengths = self._sampled(most)
        values = self._each(lengths)
        for _ in range(_ROUNDS):
            reaching = np.flatnonzero(values >= enough)
            if not len(reaching) or reaching[-1] + 1 == len(lengths):
                break
            lengths = np.linspace(lengths[reaching[-1]], lengths[reaching[-1] + 1], _BESIDE)
            values = self._exact(lengths)
        return float(lengths[reaching[-1] + 1]) if len(reaching) and reaching[-1] + 1 < len(lengths) else most

    def _of(self, lengths: Floats) -> Floats:
        if not self.is_smooth or len(self._known) + len(lengths) <= _FEW:
            return self._each(lengths)
        return self._looked_up(lengths)

    def _looked_up(self, lengths: Floats) -> Floats:
        inner = (lengths > 0) & np.isfinite(lengths)
        found = np.empty((len(lengths), *self._shape))
        found[~inner] = self._each(lengths[~inner])
        logs = np.log(lengths[inner])
        if len(logs):
            found[inner] = self._prepared(float(logs.min()), float(logs.max()))(logs)
        return found

    def _each(self, lengths: Floats) -> Floats:
        """One by one, each only once."""
        wanted = lengths.tolist()
        if len(self._known) > 64 * _FEW:
            self._known = {}
        known = self._known  # another thread may begin a new one
        new = [length for length in wanted if length not in known]
        if new:
            known.update(zip(new, self._exact(np.array(new)).tolist(), strict=True))
        return np.array([known[length] for length in wanted]).reshape(len(wanted), *self._shape)

    def _prepared(self, low: float, high: float) -> PchipInterpolator:
        """A table that has these lengths."""
        table = self._table
        first, last = (math.inf, -math.inf) if table is None else table.x[[0, -1]].tolist()
        if table is None or low < first or high > last:
            # Beyond the table there may be more: a table anew costs as much as a million lengths.
            reach = min(low - _MARGIN, first), min(max(high + 1.0, last), math.log(self._most))
            marks = np.log(self._marks)
            marks = marks[(marks > reach[0]) & (marks < reach[1])]
            at = np.unique(np.concatenate([np.linspace(*reach, 33), marks]))
            table = self._table = refined_table(self._exactly, at, self._tolerance)
        return table

    def _exactly(self, logs: Floats) -> Floats:
        return self._exact(np.exp(logs))

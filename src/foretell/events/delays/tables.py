"""Tables of functions that take long to compute, refined where they curve."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from foretell.arrays import Flags, Floats

#: A table has at most so many intervals. A spline that is not near with half of them never is: then the function
#: is not smooth where the delays are odd enough.
MOST_INTERVALS, MOST_SMOOTH_INTERVALS = 8192, 4096

#: A narrower interval is not halved.
NARROWEST = 1e-9

#: A table begins with so many intervals where nothing else is said.
_FIRST_INTERVALS = 64

Function = Callable[[Floats], Floats]
Curve = Callable[[Floats, Floats], CubicSpline | PchipInterpolator]


def refined_table(exact: Function, at: Floats, tolerance: float) -> PchipInterpolator:
    """A table of a function, of a number or a row of numbers, from the first to the last of `at`, which ascend. An
    interval is halved until the table is as near in its middle, or as long as there are few enough.

    >>> table = refined_table(np.sqrt, np.linspace(0.1, 1.0, 3), 1e-6)
    >>> bool(abs(table(0.3) - 0.3**0.5) < 1e-5), len(table.x) < 200
    (True, True)
    """
    table = _Table(exact, _monotone, tolerance, at, exact(at), MOST_INTERVALS)
    table.refine(np.ones(len(at) - 1, np.bool_))
    return _monotone(table.at, table.values)


def smooth_table(
    exact: Function, marks: Floats, tolerance: float, nothing: float = -math.inf
) -> CubicSpline | PchipInterpolator:
    """A table of a smooth function from the first to the last of `marks`, which ascend; it is as near at each of them.
    It ends where the function comes down to `nothing` for good: there it is not smooth.

    A spline needs a tenth of the points that a monotone table needs: it converges by the fourth power of the intervals.

    >>> table = smooth_table(np.sin, np.array([0.0, 1.0, 3.0]), 1e-6)
    >>> bool(abs(table(0.3) - np.sin(0.3)) < 1e-6), len(table.x) < 200
    (True, True)
    """
    at = np.linspace(marks[0], marks[-1], _FIRST_INTERVALS + 1)
    values = exact(at)
    if (ends := _ends(exact, at, values, nothing)) is not None:
        at = np.linspace(*ends, _FIRST_INTERVALS + 1)
        values = exact(at)
        marks = marks[(marks >= at[0]) & (marks <= at[-1])]
    table = _Table(exact, CubicSpline, tolerance, at, values, MOST_SMOOTH_INTERVALS)
    if table.refine(np.ones(_FIRST_INTERVALS, np.bool_)) and table.refine(table.add_wrong(marks)):
        return CubicSpline(table.at, table.values)
    return _monotone(table.at, table.values)  # a spline that is not near enough may be anywhere


def _ends(exact: Function, at: Floats, values: Floats, nothing: float) -> tuple[float, float] | None:
    """The first and the last place at which the function is more than nothing; None where these are the ends."""
    more = values > nothing
    known = np.flatnonzero(more)
    if not len(known) or more[[0, -1]].all():
        return None
    first, last = int(known[0]), int(known[-1])
    inner, outer = at[[first, last]], at[[max(first - 1, 0), min(last + 1, len(at) - 1)]]
    while np.any(np.abs(outer - inner) > NARROWEST):
        middle = (inner + outer) / 2
        found = exact(middle) > nothing
        inner, outer = np.where(found, middle, inner), np.where(found, outer, middle)
    return float(inner[0]), float(inner[1])


def _monotone(at: Floats, values: Floats) -> PchipInterpolator:
    with np.errstate(over="ignore"):  # a slope that is far steeper than the one beside it
        return PchipInterpolator(at, values)


class _Table:
    def __init__(self, exact: Function, curve: Curve, tolerance: float, at: Floats, values: Floats, most: int) -> None:
        self._exact, self._curve, self._tolerance, self._most = exact, curve, tolerance, most
        self.at, self.values = at, values

    def refine(self, coarse: Flags) -> bool:
        """Halve these intervals, as long as it takes. Returns whether they are near enough."""
        coarse &= np.diff(self.at) > NARROWEST  # a leap cannot be approached for ever
        while coarse.any() and len(self.at) <= self._most:
            middle = ((self.at[1:] + self.at[:-1]) / 2)[coarse]
            coarse = self._add(middle, self._wrong(middle, found := self._exact(middle)), found)
        return not coarse.any()

    def add_wrong(self, marks: Floats) -> Flags:
        """Take up the marks at which the table is wrong. Returns the intervals beside them."""
        marks = np.setdiff1d(marks, self.at)
        found = self._exact(marks)
        wrong = self._wrong(marks, found)
        return self._add(marks[wrong], np.ones(int(wrong.sum()), np.bool_), found[wrong])

    def _wrong(self, at: Floats, found: Floats) -> Flags:
        wrong = np.abs(self._curve(self.at, self.values)(at) - found) > self._tolerance
        return np.asarray(wrong.reshape(len(at), -1).any(axis=1))

    def _add(self, at: Floats, wrong: Flags, found: Floats) -> Flags:
        """Take up points. Returns both intervals beside each wrong one, and their neighbours: an error may be 0 in a
        middle alone."""
        order = np.argsort(np.concatenate([self.at, at]), kind="stable")
        self.at, self.values = np.concatenate([self.at, at])[order], np.concatenate([self.values, found])[order]
        ends = np.isin(self.at, at[wrong])
        coarse = ends[1:] | ends[:-1]
        beside = np.concatenate([[False], coarse, [False]])
        coarse = coarse | beside[:-2] | beside[2:]
        return np.asarray(coarse & (np.diff(self.at) > NARROWEST))

"""Tables of functions that take long to compute, refined where they curve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from foretell.arrays import Floats

#: A table has at most so many intervals.
MOST_INTERVALS = 8192

#: A narrower interval is not halved.
NARROWEST = 1e-9


def refined_table(
    exact: Callable[[Floats], Floats], at: Floats, tolerance: float, *, smooth: bool = False
) -> PchipInterpolator | CubicSpline:
    """A table of a function from the first to the last of `at`, which ascend. An interval is halved until the table is
    as near in its middle, or as long as there are few enough.

    A table of a `smooth` function needs a tenth of the points: a spline converges by the fourth power of the intervals.
    Else it is monotone between two points, and leaps do not spread.

    >>> table = refined_table(np.sqrt, np.linspace(0.1, 1.0, 3), 1e-6)
    >>> bool(abs(table(0.3) - 0.3**0.5) < 1e-5), len(table.x) < 200
    (True, True)
    """
    values, curve = exact(at), CubicSpline if smooth else PchipInterpolator
    coarse = np.diff(at) > NARROWEST
    while coarse.any() and len(at) <= MOST_INTERVALS:
        table = curve(at, values)
        middle = ((at[1:] + at[:-1]) / 2)[coarse]
        found = exact(middle)
        wrong = np.abs(table(middle) - found) > tolerance
        order = np.argsort(np.concatenate([at, middle]), kind="stable")
        at, values = np.concatenate([at, middle])[order], np.concatenate([values, found])[order]
        # Both halves of an interval whose middle was wrong, and their neighbours: an error may be 0 in a middle alone.
        halves = np.isin(at, middle[wrong])
        coarse = halves[1:] | halves[:-1]
        beside = np.concatenate([[False], coarse, [False]])
        coarse |= beside[:-2] | beside[2:]
        coarse &= np.diff(at) > NARROWEST  # a leap cannot be approached for ever
    return (PchipInterpolator if coarse.any() else curve)(at, values)

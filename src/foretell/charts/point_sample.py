"""Thinning: of very many points those that the eye would miss, and a note that says so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: A chart has at most about so many points of a curve: more than its width in pixels, so that none is missed.
MOST_POINTS = 2_000

XY = tuple[float, float]


def thinned(points: Sequence[XY], most: int = MOST_POINTS) -> tuple[XY, ...]:
    """At most so many points, or few more: the first and the last, and of each stretch of equally many points the
    lowest and the highest, in their order.

    >>> thinned([(x, x % 7) for x in range(100)], 6)
    ((0, 0), (6, 6), (34, 6), (35, 0), (69, 6), (70, 0), (99, 1))
    """
    if len(points) <= most:
        return tuple(points)
    ys = np.array([y for _, y in points], np.float64)
    kept = {0, len(points) - 1}
    for stretch in np.array_split(np.arange(len(points)), max(1, most // 2)):
        kept |= {int(stretch[ys[stretch].argmin()]), int(stretch[ys[stretch].argmax()])}
    return tuple(points[place] for place in sorted(kept))


def spread_out(values: Sequence[float], low: float, high: float, most: int = MOST_POINTS) -> tuple[float, ...]:
    """Of values between two ends no more than one in each of so many equal parts: marks that would cover each other.

    >>> spread_out([0.0, 0.1, 0.2, 5.0, 9.9], 0.0, 10.0, 4)
    (0.0, 5.0, 9.9)
    """
    if len(values) <= most:
        return tuple(values)
    ordered = np.sort(np.asarray(values, np.float64))
    part = np.minimum((ordered - low) / ((high - low) or 1.0) * most, most - 1).astype(np.int64)
    _, first = np.unique(part, return_index=True)
    return tuple(ordered[first].tolist())


def thinning_note(drawn: int, total: int, kept: str) -> str:
    """
    >>> thinning_note(2_000, 100_000, "the lowest and the highest of each stretch")
    'Drawn are 2,000 of 100,000 points: the lowest and the highest of each stretch.'
    """
    return f"Drawn are {drawn:,} of {total:,} points: {kept}." if drawn < total else ""

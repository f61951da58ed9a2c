"""How far the counts of a history are smoothed over the lengths of its gaps.

A probability is a quotient of two means over the gaps of about the same length: of what counts for it, and of what was
not seen. Means over few gaps are noise, and means over many gaps hide how the probability depends on the length. So the
number of gaps is chosen by leaving out each gap in turn: the quotient r of the others is best where the sum of
r² · unseen - 2 r · wanted over the gaps left out is least, for it is least at the true quotient.
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats

#: The fewest gaps that a mean is taken of, if there are so many; the next choices are twice as many each.
FEWEST = 25.0

#: Sums of weights that are less are rounding.
_NOTHING = 1e-12

#: The widths of bells, in bins: the narrowest, and by how much each is wider than the one before.
_NARROWEST, _WIDER = 0.5, 1.5


def bells(at: Floats, totals: Floats, enough: float) -> Floats:
    """The weights of the bins around each place: a bell as wide as it takes to have enough gaps."""
    squares = np.asarray((np.arange(len(totals)) - at[:, None]) ** 2, np.float64)
    weights, few, width = np.empty_like(squares), np.arange(len(at)), _NARROWEST
    while len(few):
        weights[few] = np.exp(squares[few] / (-2 * width**2))
        # The sums are those of each place alone, to the last digit, whatever the others are.
        few = few[np.einsum("lb,b->l", weights[few], totals) < enough]
        if width > len(totals):
            break
        width *= _WIDER
    return weights


def enough_gaps(cells: Floats, wanted: Floats, unseen: Floats) -> float:
    """The number of gaps to take means over. `cells` has a row of bins for each kind of gap, `wanted` and `unseen` what
    a gap of each kind counts for.

    >>> gaps = np.array([[50.0] * 100, [50.0] * 100])
    >>> enough_gaps(gaps, np.array([0.0, 1.0]), np.array([1.0, 1.0])) >= 6_400
    True
    """
    totals = cells.sum(axis=0)
    choices = FEWEST * 2.0 ** np.arange(1 + max(0, int(np.ceil(np.log2(totals.sum() / FEWEST)))))
    places = np.flatnonzero(totals)
    misses = [
        _miss(cells[:, places], wanted, unseen, bells(places.astype(np.float64), totals, n)[:, places]) for n in choices
    ]
    best = len(choices) - 1 - int(np.argmin(misses[::-1]))  # of equal ones the smoothest
    return float(choices[best])


def _miss(cells: Floats, wanted: Floats, unseen: Floats, weights: Floats) -> float:
    """How far the quotients of all gaps but one are from this one, but for a constant."""
    own = np.diagonal(weights)
    above = np.maximum(0.0, weights @ (wanted @ cells) - own * wanted[:, None])
    below = weights @ (unseen @ cells) - own * unseen[:, None]
    quotient = np.clip(np.divide(above, below, out=np.zeros_like(above), where=below > _NOTHING), 0.0, 1.0)
    return float(np.sum(cells * (quotient**2 * unseen[:, None] - 2 * quotient * wanted[:, None])))

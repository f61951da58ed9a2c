"""How likely a match is within n events: the first passage of a Markov chain (P-ToPSS 5.2.2).

From state i an event completes a match with probability m[i] or leads to j without one with Q[i, j]. The probability
of a match within k events is h_0 = 0, h_{k+1} = m + Q h_k. That is the paper's β with the final state absorbing (its
sum over all k ≤ n counts a second match again and can exceed 1), and with probabilities normalised by what leaves a
state (the paper divides by what arrives).

All functions take one chain, or many at once (lanes) along leading axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints

#: The weight of the events that must have been seen in a state before it is believed, unless set otherwise.
ENOUGH = 30.0

#: From so many states on, chains are looked at as sparse if they are.
_LARGE = 256


@dataclass(frozen=True)
class Chain:
    """`moves[..., i, j]`: from i to j without a match; `match[..., i]`: a match; `known[..., i]`: whether it was seen
    often enough to be believed."""

    moves: Floats
    match: Floats
    known: Flags

    @classmethod
    def of(cls, counts: Floats, matched: Floats, enough: float = ENOUGH) -> Chain:
        """From what was counted. A state that was never left is an end for the others: nothing is known after it."""
        leaving = counts.sum(axis=-1) + matched
        share = np.divide(1.0, leaving, out=np.zeros_like(leaving), where=leaving > 0)
        return cls(counts * share[..., None], matched * share, (leaving >= enough) & (leaving > 0))


def within(chain: Chain, events: int) -> Floats:
    """P(match within so many events | state); NaN where the state is not believed."""
    if events <= max(64.0, chain.match.shape[-1] * math.log2(events + 1) / 8):
        reached = _last(chain, events)
    else:  # quicker than going through all of them, measured from 10 to 1,000 states
        reached = _by_squaring(chain, events)
    return np.where(chain.known, np.clip(reached, 0.0, 1.0), np.nan)


def waiting(chain: Chain, events: int) -> Floats:
    """The distribution of the waiting time: [..., state, k] is P(match within k events), k from 0 to `events`.

    States that are not believed have NaN throughout.
    """
    cdf = np.zeros((*chain.match.shape, events + 1))
    for k, reached in enumerate(_reached(chain, events), start=1):
        cdf[..., k] = reached
    cdf = np.clip(np.maximum.accumulate(cdf, axis=-1), 0.0, 1.0)  # rounding must not let it fall
    cdf[~chain.known] = np.nan
    return cdf


def interval(cdf: Floats, confidence: float) -> tuple[Ints, Ints]:
    """The shortest window of events, from start to end, in which the match falls with at least this probability.

    Of equally short ones the earliest. (0, 0) where even all events together are less likely than that.

    >>> start, end = interval(np.array([0.0, 0.1, 0.2, 0.7, 0.9, 1.0]), 0.6)
    >>> int(start), int(end)
    (2, 3)
    """
    if not 0 < confidence <= 1:
        raise ValueError("a confidence lies between 0 and 1")
    flat = cdf.reshape(-1, cdf.shape[-1])
    start, end = np.zeros(len(flat), np.int64), np.zeros(len(flat), np.int64)
    for number, one in enumerate(flat):
        if not one[-1] >= confidence:  # nor NaN
            continue
        needed = one[:-1] + (confidence - 1e-12)  # a sum of tenths is not quite a tenth
        last = np.searchsorted(one, needed)
        length = np.where(last < len(one), last - np.arange(len(needed)), len(one))
        start[number] = int(length.argmin()) + 1
        end[number] = last[start[number] - 1]
    shape = cdf.shape[:-1]
    return start.reshape(shape), end.reshape(shape)


def _last(chain: Chain, events: int) -> Floats:
    reached = np.zeros_like(chain.match)
    for reached in _reached(chain, events):  # noqa: B007 - the last of them is wanted
        pass
    return reached


def _reached(chain: Chain, events: int) -> Any:
    """The probabilities of a match within 1, 2, … events."""
    moves = _sparse(chain.moves)
    reached = np.zeros_like(chain.match)
    for _ in range(events):
        if moves is None:
            reached = chain.match + (chain.moves @ reached[..., None])[..., 0]
        else:
            reached = chain.match + moves @ reached
        yield reached


def _sparse(moves: Floats) -> Any:
    """The matrix as a sparse one, if that is quicker."""
    if moves.ndim != 2 or len(moves) < _LARGE or np.count_nonzero(moves) > moves.size // 10:
        return None
    from scipy import sparse

    return sparse.csr_array(moves)


def _by_squaring(chain: Chain, events: int) -> Floats:
    """The same as a power of the matrix in which the match is a state of its own that is never left."""
    size = chain.match.shape[-1]
    matrix = np.zeros((*chain.match.shape[:-1], size + 1, size + 1))
    matrix[..., :size, :size] = chain.moves
    matrix[..., :size, size] = chain.match
    matrix[..., size, size] = 1.0
    power: Floats = np.linalg.matrix_power(matrix, events)
    return power[..., :size, size]

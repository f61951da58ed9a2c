"""The probability of a match within n events: the first passage of a Markov chain (P-ToPSS 5.2.2).

From state i an event completes a match with probability m[i], or leads to j without one with probability Q[i, j]. The
probability of a match within k events is h_0 = 0, h_{k+1} = m + Q h_k. That is the paper's β with an absorbing final
state (its sum over all k ≤ n counts a second match again and can exceed 1), and with probabilities normalised by what
leaves a state (the paper divides by what arrives).

All functions take one chain, or many (lanes) along leading axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints

#: The default weight of events a state needs before it is used.
ENOUGH = 30.0

#: The least number of states for which a sparse matrix is considered.
_SPARSE_STATES = 256


@dataclass(frozen=True)
class MarkovChain:
    """`moves[..., i, j]`: the probability from i to j without a match; `match[..., i]`: of a match; `known[..., i]`:
    whether state i was seen often enough to be used."""

    moves: Floats
    match: Floats
    known: Flags

    @classmethod
    def of(cls, counts: Floats, matched: Floats, enough: float = ENOUGH) -> MarkovChain:
        """From transition counts. A state that was never left is a dead end for the others."""
        leaving = counts.sum(axis=-1) + matched
        factor = np.divide(1.0, leaving, out=np.zeros_like(leaving), where=leaving > 0)
        return cls(counts * factor[..., None], matched * factor, (leaving >= enough) & (leaving > 0))


def match_probability(chain: MarkovChain, events: int) -> Floats:
    """P(match within so many events | state); NaN for unknown states."""
    if events <= max(64.0, chain.match.shape[-1] * math.log2(events + 1) / 8):
        reached = np.zeros_like(chain.match)
        for reached in _match_probabilities(chain, events):  # noqa: B007 - only the last one is used
            pass
    else:  # faster than stepping, measured from 10 to 1,000 states
        reached = _by_squaring(chain, events)
    return np.where(chain.known, np.clip(reached, 0.0, 1.0), np.nan)


def waiting_time_cdf(chain: MarkovChain, events: int) -> Floats:
    """The distribution of the waiting time: [..., state, k] is P(match within k events), k from 0 to `events`.

    NaN for unknown states.
    """
    cdf = np.zeros((*chain.match.shape, events + 1))
    for k, reached in enumerate(_match_probabilities(chain, events), start=1):
        cdf[..., k] = reached
    cdf = np.clip(np.maximum.accumulate(cdf, axis=-1), 0.0, 1.0)  # rounding must not make it fall
    cdf[~chain.known] = np.nan
    return cdf


def shortest_interval(cdf: Floats, confidence: float) -> tuple[Ints, Ints]:
    """The shortest window of events, from start to end, in which the match falls with at least this probability.

    The earliest one among equally short ones. (0, 0) where all events together do not reach the probability.

    >>> start, end = shortest_interval(np.array([0.0, 0.1, 0.2, 0.7, 0.9, 1.0]), 0.6)
    >>> int(start), int(end)
    (2, 3)
    """
    if not 0 < confidence <= 1:
        raise ValueError("a confidence lies between 0 and 1")
    rows = cdf.reshape(-1, cdf.shape[-1])
    start, end = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    for number, row in enumerate(rows):
        if not row[-1] >= confidence:  # also skips NaN
            continue
        needed = row[:-1] + (confidence - 1e-12)  # tolerates rounding of the sum
        last = np.searchsorted(row, needed)
        length = np.where(last < len(row), last - np.arange(len(needed)), len(row))
        start[number] = int(length.argmin()) + 1
        end[number] = last[start[number] - 1]
    shape = cdf.shape[:-1]
    return start.reshape(shape), end.reshape(shape)


def _match_probabilities(chain: MarkovChain, events: int) -> Iterator[Floats]:
    """The probabilities of a match within 1, 2, … events."""
    sparse_moves = _sparse(chain.moves)
    reached = np.zeros_like(chain.match)
    for _ in range(events):
        if sparse_moves is None:
            reached = chain.match + (chain.moves @ reached[..., None])[..., 0]
        else:
            reached = chain.match + sparse_moves @ reached
        yield reached


def _sparse(moves: Floats) -> Any:
    """The matrix in sparse form where that is faster, else None."""
    if moves.ndim != 2 or len(moves) < _SPARSE_STATES or np.count_nonzero(moves) > moves.size // 10:
        return None
    from scipy import sparse

    return sparse.csr_array(moves)


def _by_squaring(chain: MarkovChain, events: int) -> Floats:
    """By a power of the matrix in which the match is an absorbing state."""
    size = chain.match.shape[-1]
    matrix = np.zeros((*chain.match.shape[:-1], size + 1, size + 1))
    matrix[..., :size, :size] = chain.moves
    matrix[..., :size, size] = chain.match
    matrix[..., size, size] = 1.0
    power: Floats = np.linalg.matrix_power(matrix, events)
    return power[..., :size, size]

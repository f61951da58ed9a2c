"""Transition counts of single lanes, for the busiest lanes, and shrinkage: lanes with few events borrow from the pool.

The pool is all lanes together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.records import record

#: Cells kept for all lanes together: enough for a thousand lanes of sixty states, or four lanes of a thousand.
MAX_CELLS = 1 << 22

#: The largest shrinkage strength, in events.
_MAX_STRENGTH = 1e6


@record
class LaneCounts:
    """`counts[l]` and `matched[l]` are the weighted counts of the lane `keys[l]`; `events[l]` counts its events
    without decay."""

    keys: tuple[str, ...]
    events: Ints
    counts: Floats  # [L, K, K]
    matched: Floats  # [L, K]

    @classmethod
    def none(cls, states: int) -> LaneCounts:
        return cls((), np.zeros(0, np.int64), np.zeros((0, states, states)), np.zeros((0, states)))

    @classmethod
    def unnamed(cls, counts: Floats, matched: Floats) -> LaneCounts:
        """Lanes known by their numbers alone."""
        return cls(("",) * len(counts), np.zeros(len(counts), np.int64), counts, matched)

    def scaled(self, factor: float) -> LaneCounts:
        return LaneCounts(self.keys, self.events, self.counts * factor, self.matched * factor)

    def renumbered(self, states: int, number: Ints) -> LaneCounts:
        """The same over other chain states: state i becomes `number[i]`."""
        counts, matched = renumbered(self.counts, self.matched, states, number)
        return LaneCounts(self.keys, self.events, counts, matched)

    def take(self, lanes: Ints) -> LaneCounts:
        keys = tuple(self.keys[lane] for lane in lanes)
        return LaneCounts(keys, self.events[lanes], self.counts[lanes], self.matched[lanes])

    def limited(self, most: int) -> LaneCounts:
        return self.take(busiest(self.keys, self.events, lane_capacity(most, self.matched.shape[1])))


def key_text(key: Mapping[str, object]) -> str:
    """The text that identifies a lane in models and reports."""
    return json.dumps(dict(key), sort_keys=True)


def lane_capacity(most: int, states: int) -> int:
    """The number of lanes that have counts of their own: at most `most`, fewer where there are many states."""
    return min(most, MAX_CELLS // max(states * (states + 1), 1))


def busiest(keys: Sequence[str], events: Ints, most: int) -> Ints:
    """The lanes with most events, in the order of their keys; the key also breaks ties."""
    chosen = sorted(range(len(keys)), key=lambda i: (-events[i], keys[i]))[:most]
    return np.array(sorted(chosen, key=lambda i: keys[i]), np.int64)


def renumbered(counts: Floats, matched: Floats, states: int, number: Ints) -> tuple[Floats, Floats]:
    """Counts over other chain states: state i becomes `number[i]`, and states with the same number are added."""
    lead = matched.shape[:-1]
    new_counts, new_matched = np.zeros((*lead, states, states)), np.zeros((*lead, states))
    cells: Any = (..., number[:, None], number[None, :])
    rows: Any = (..., number)
    np.add.at(new_counts, cells, counts)
    np.add.at(new_matched, rows, matched)
    return new_counts, new_matched


def merge_lanes(a: LaneCounts, b: LaneCounts) -> LaneCounts:
    """The lanes of both, which have the same chain states."""
    keys = tuple(sorted({*a.keys, *b.keys}))
    place = {key: i for i, key in enumerate(keys)}
    states = a.matched.shape[1]
    events = np.zeros(len(keys), np.int64)
    counts, matched = np.zeros((len(keys), states, states)), np.zeros((len(keys), states))
    for lanes in (a, b):
        at = np.array([place[key] for key in lanes.keys], np.int64)
        events[at] += lanes.events
        counts[at] += lanes.counts
        matched[at] += lanes.matched
    return LaneCounts(keys, events, counts, matched)


def shrunk_counts(lanes: LaneCounts, counts: Floats, matched: Floats, strength: float) -> tuple[Floats, Floats]:
    """The lanes' counts with `strength` pseudo-observations of each state, distributed as in the pool.

    Normalised by row that is p_lane = (n · p̂_lane + k · p_pool) / (n + k), with k the strength.
    """
    leaving = counts.sum(axis=1) + matched
    factor = np.divide(strength, leaving, out=np.zeros_like(leaving), where=leaving > 0)
    return lanes.counts + factor[:, None] * counts, lanes.matched + factor * matched


def estimate_strength(lanes: LaneCounts, counts: Floats, matched: Floats) -> float:
    """The shrinkage strength, by how similar lanes are: the maximum-likelihood concentration of a Dirichlet
    distribution around the pool.

    Lanes that differ no more than by chance give the highest strength, a million.
    """
    from scipy import optimize, special  # takes half a second to load

    observed = np.concatenate([lanes.counts, lanes.matched[..., None]], axis=-1)
    pool = np.concatenate([counts, matched[:, None]], axis=-1)
    pool_share = pool / np.maximum(pool.sum(axis=-1, keepdims=True), 1e-300)
    lane, source, target = np.nonzero(observed)
    if len(lane) == 0:
        return _MAX_STRENGTH
    cells, expected = observed[lane, source, target], pool_share[source, target]
    leaving: Floats = observed.sum(axis=-1)
    leaving = leaving[leaving > 0]

    def negative_log_likelihood(log_strength: float) -> float:
        k = np.exp(log_strength)
        by_row = special.gammaln(k) - special.gammaln(leaving + k)
        by_cell = special.gammaln(cells + k * expected) - special.gammaln(k * expected)
        return -float(by_row.sum() + by_cell.sum())

    bounds = np.log(0.1), np.log(_MAX_STRENGTH)
    optimum = optimize.minimize_scalar(negative_log_likelihood, bounds=bounds, method="bounded")
    return float(np.exp(optimum.x))

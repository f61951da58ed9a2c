"""Transitions lane by lane, for the lanes with most events, and how a lane with few borrows from all (shrinkage)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Floats, Ints

#: Numbers kept for all lanes together: a thousand lanes of sixty states, or four of a thousand.
MOST_NUMBERS = 1 << 22

#: As many events as the experience of all lanes counts for one at most.
_STRONGEST = 1e6


@dataclass(frozen=True)
class Lanes:
    """`counts[l]` and `matched[l]` are those of the lane `keys[l]`; `events[l]` are its events, never aged."""

    keys: tuple[str, ...]
    events: Ints
    counts: Floats  # [L, K, K]
    matched: Floats  # [L, K]

    @classmethod
    def none(cls, states: int) -> Lanes:
        return cls((), np.zeros(0, np.int64), np.zeros((0, states, states)), np.zeros((0, states)))

    def scaled(self, factor: float) -> Lanes:
        return Lanes(self.keys, self.events, self.counts * factor, self.matched * factor)

    def over(self, states: int, number: Ints) -> Lanes:
        """The same over other chain states: number i becomes `number[i]`."""
        counts, matched = moved(self.counts, self.matched, states, number)
        return Lanes(self.keys, self.events, counts, matched)

    def limited(self, most: int) -> Lanes:
        chosen = busiest(self.keys, self.events, room(most, self.matched.shape[1]))
        keys = tuple(self.keys[i] for i in chosen)
        return Lanes(keys, self.events[chosen], self.counts[chosen], self.matched[chosen])


def key_text(key: Mapping[str, object]) -> str:
    """By what lanes are known, in models and reports."""
    return json.dumps(dict(key), sort_keys=True)


def room(most: int, states: int) -> int:
    """How many lanes are kept of so many states each."""
    return min(most, MOST_NUMBERS // max(states * (states + 1), 1))


def busiest(keys: Sequence[str], events: Ints, most: int) -> Ints:
    """The lanes with most events, in the order of their keys; where two have as many, the key decides."""
    chosen = sorted(range(len(keys)), key=lambda i: (-events[i], keys[i]))[:most]
    return np.array(sorted(chosen, key=lambda i: keys[i]), np.int64)


def moved(counts: Floats, matched: Floats, states: int, number: Ints) -> tuple[Floats, Floats]:
    """Counts over other chain states, those that fall together added: number i becomes `number[i]`."""
    lead = matched.shape[:-1]
    new_counts, new_matched = np.zeros((*lead, states, states)), np.zeros((*lead, states))
    cells: Any = (..., number[:, None], number[None, :])
    rows: Any = (..., number)
    np.add.at(new_counts, cells, counts)
    np.add.at(new_matched, rows, matched)
    return new_counts, new_matched


def merge(a: Lanes, b: Lanes) -> Lanes:
    """All lanes of either, both over the same chain states."""
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
    return Lanes(keys, events, counts, matched)


def shrunk(lanes: Lanes, counts: Floats, matched: Floats, strength: float) -> tuple[Floats, Floats]:
    """The lanes' counts with `strength` more observations of each state, shared out as they are in the pool.

    Normalised by what leaves a state that is p_lane = (n · p̂_lane + k · p_pool) / (n + k), k being the strength.
    """
    leaving = counts.sum(axis=1) + matched
    share = np.divide(strength, leaving, out=np.zeros_like(leaving), where=leaving > 0)
    return lanes.counts + share[:, None] * counts, lanes.matched + share * matched


def strength_of(lanes: Lanes, counts: Floats, matched: Floats) -> float:
    """How much lanes should borrow, by how alike they are: the likeliest concentration of a Dirichlet law around the
    pool.

    Lanes that differ no more than chance would have it give the highest strength, a million.
    """
    from scipy import optimize, special  # which take half a second to load

    seen = np.concatenate([lanes.counts, lanes.matched[..., None]], axis=-1)
    pool = np.concatenate([counts, matched[:, None]], axis=-1)
    share = pool / np.maximum(pool.sum(axis=-1, keepdims=True), 1e-300)
    lane, source, target = np.nonzero(seen)
    if len(lane) == 0:
        return _STRONGEST
    some, expected = seen[lane, source, target], share[source, target]
    leaving: NDArray[np.float64] = seen.sum(axis=-1)
    leaving = leaving[leaving > 0]

    def unlikely(log_strength: float) -> float:
        k = np.exp(log_strength)
        rows = special.gammaln(k) - special.gammaln(leaving + k)
        cells = special.gammaln(some + k * expected) - special.gammaln(k * expected)
        return -float(rows.sum() + cells.sum())

    found = optimize.minimize_scalar(unlikely, bounds=(np.log(0.1), np.log(_STRONGEST)), method="bounded")
    return float(np.exp(found.x))

"""The waiting time of a whole pattern from those of its parts, taken as independent (P-ToPSS 5.2.3).

A waiting time is given by its distribution function P(match within k events), k = 0 … N. Where all parts must match the
functions are multiplied; where any part suffices it is 1 - Π(1 - p) (the paper adds, which can exceed 1); where parts
follow each other their waiting times add up, the paper's sum over p + q + r = n.

>>> coin = PartWaitingTime(np.array([0.0, 0.5, 0.75]))
>>> combined_cdf(AllParts((coin, coin))).tolist(), combined_cdf(AnyPart((coin, coin))).tolist()
([0.0, 0.25, 0.5625], [0.0, 0.75, 0.9375])
>>> combined_cdf(PartsInSequence((coin, coin))).tolist()
[0.0, 0.0, 0.25]

MATCHED is a part that has matched already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from foretell.arrays import Floats


@dataclass(frozen=True)
class PartWaitingTime:
    """A part with a known waiting time: [..., k], as first_passage.waiting_time_cdf returns it for each state."""

    cdf: Floats


@dataclass(frozen=True)
class AllParts:
    """`a & b`: all parts, in any order."""

    parts: Sequence[WaitingTimeTree]


@dataclass(frozen=True)
class AnyPart:
    """`a | b`: the first part that matches."""

    parts: Sequence[WaitingTimeTree]


@dataclass(frozen=True)
class PartsInSequence:
    """Each part starts when the one before it has matched."""

    parts: Sequence[WaitingTimeTree]


WaitingTimeTree: TypeAlias = PartWaitingTime | AllParts | AnyPart | PartsInSequence

MATCHED = PartWaitingTime(np.ones(1))


def combined_cdf(tree: WaitingTimeTree) -> Floats:
    """P(the whole has matched within k events), for all k that every part covers."""
    if isinstance(tree, PartWaitingTime):
        return tree.cdf
    if not tree.parts:
        raise ValueError("a combination needs parts")
    cdfs = _of_equal_length([combined_cdf(part) for part in tree.parts])
    return np.clip(reduce(_COMBINATIONS[type(tree)], cdfs), 0.0, 1.0)


def _all(a: Floats, b: Floats) -> Floats:
    return a * b


def _any(a: Floats, b: Floats) -> Floats:
    return 1 - (1 - a) * (1 - b)


def _in_sequence(a: Floats, b: Floats) -> Floats:
    """P(T_a + T_b ≤ n) = Σ_p P(T_a = p) · P(T_b ≤ n - p)."""
    size = a.shape[-1]
    exactly = np.diff(a, axis=-1, prepend=0.0)
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    for p in range(size):
        total[..., p:] += exactly[..., p, None] * b[..., : size - p]
    return total


_COMBINATIONS: dict[type, Callable[[Floats, Floats], Floats]] = {
    AllParts: _all,
    AnyPart: _any,
    PartsInSequence: _in_sequence,
}


def _of_equal_length(cdfs: Sequence[Floats]) -> list[Floats]:
    """Cut to the shortest; constants (of length 1) are extended to it."""
    lengths = [cdf.shape[-1] for cdf in cdfs if cdf.shape[-1] > 1]
    shortest = min(lengths, default=1)
    return [
        cdf[..., :shortest] if cdf.shape[-1] > 1 else np.broadcast_to(cdf, (*cdf.shape[:-1], shortest)) for cdf in cdfs
    ]

"""The waiting time of a whole from those of its parts, taken as independent (P-ToPSS 5.2.3).

A waiting time is given by P(match within k events), k = 0 … N. Parts that must all match have matched when the last of
them has: the product. Of parts of which any will do, none has matched yet: 1 - Π(1 - p). (The paper adds, which can
exceed 1.) One part after another: their times add up, the paper's sum over p + q + r = n.

>>> coin = Part(np.array([0.0, 0.5, 0.75]))
>>> combined(All((coin, coin))).tolist(), combined(First((coin, coin))).tolist(), combined(Then((coin, coin))).tolist()
([0.0, 0.25, 0.5625], [0.0, 0.75, 0.9375], [0.0, 0.0, 0.25])

A part that has matched already has waited for nothing: MATCHED.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from foretell.arrays import Floats


@dataclass(frozen=True)
class Part:
    """Something whose waiting time is known: [..., k], as `passage.waiting` gives it for each state."""

    cdf: Floats


@dataclass(frozen=True)
class All:
    """`a & b`: all of them, in any order."""

    parts: Sequence[Tree]


@dataclass(frozen=True)
class First:
    """`a | b`: the first of them."""

    parts: Sequence[Tree]


@dataclass(frozen=True)
class Then:
    """A master machine with child machines on its way: each begins when the one before it is done."""

    parts: Sequence[Tree]


Tree: TypeAlias = Part | All | First | Then

MATCHED = Part(np.ones(1))


def combined(tree: Tree) -> Floats:
    """P(the whole has matched within k events), for as many k as all parts tell."""
    if isinstance(tree, Part):
        return tree.cdf
    if not tree.parts:
        raise ValueError("a combination has parts")
    return np.clip(reduce(_COMBINATIONS[type(tree)], _of_one_length([combined(part) for part in tree.parts])), 0.0, 1.0)


def _both(a: Floats, b: Floats) -> Floats:
    return a * b


def _either(a: Floats, b: Floats) -> Floats:
    return 1 - (1 - a) * (1 - b)


def _after(a: Floats, b: Floats) -> Floats:
    """P(T_a + T_b ≤ n) = Σ_p P(T_a = p) · P(T_b ≤ n - p)."""
    size = a.shape[-1]
    exactly = np.diff(a, axis=-1, prepend=0.0)
    found = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    for p in range(size):
        found[..., p:] += exactly[..., p, None] * b[..., : size - p]
    return found


_COMBINATIONS: dict[type, Callable[[Floats, Floats], Floats]] = {All: _both, First: _either, Then: _after}


def _of_one_length(cdfs: Sequence[Floats]) -> list[Floats]:
    """Cut to the shortest; what is certain from the start is so for ever."""
    lengths = [cdf.shape[-1] for cdf in cdfs if cdf.shape[-1] > 1]
    shortest = min(lengths, default=1)
    return [
        cdf[..., :shortest] if cdf.shape[-1] > 1 else np.broadcast_to(cdf, (*cdf.shape[:-1], shortest)) for cdf in cdfs
    ]

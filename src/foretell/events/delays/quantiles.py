"""Quantiles of the time between the two ends of a gap, for many gaps at once.

The gap is divided as for integrals. The part with a quantile is divided again, until it is far shorter than 1e-4 of the
gap; so the quantile is as near.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.events.delays.densities import Density, panels
from foretell.events.delays.quadrature import LogFunction, log_panels
from foretell.events.estimate_detail import INTERVAL_ENDS
from foretell.records import record

#: A part with a quantile is divided into so many, so often.
_PIECES, _ROUNDS = 16, 3


@record
class _Parts:
    """Parts of gaps: the number of the gap, the beginning and the end, and the logarithm of what the part weighs. A
    time that has a probability of its own is a part without a length."""

    owner: Ints
    low: Floats
    high: Floats
    mass: Floats

    @classmethod
    def joined(cls, parts: list[_Parts]) -> _Parts:
        """In the order of time."""
        columns = [np.concatenate(c) for c in zip(*((p.owner, p.low, p.high, p.mass) for p in parts), strict=True)]
        order = np.lexsort((columns[2], columns[1], columns[0]))
        return cls(*(column[order] for column in columns))


def quantiles(first: Density, rest: Density, lengths: Floats) -> Floats:
    """For each length the ends of the interval of the time with the density `first`, times that of `rest` for what is
    left of the length; NaN where these permit no time.

    >>> decaying = Density(lambda t: -t, np.array([1.0, 3.0]))
    >>> quantiles(decaying, Density(np.zeros_like, np.empty(0)), np.array([100.0])).round(4).tolist()
    [[0.1054, 2.3026]]
    """

    def log_density(number: Ints, t: Floats) -> Floats:
        return first.log_density(t) + rest.log_density(lengths[number] - t)

    owner, low, high = panels(lengths, first.marks, rest.marks)
    smooth = _Parts(owner, low, high, log_panels(log_density, owner, low, high))
    pairs = _pairs_of_atoms(first, rest, lengths)
    apart = ~np.isin(np.arange(len(lengths)), pairs.owner)
    # Two times that have a probability of their own outweigh all others.
    others = [_only(part, apart) for part in (smooth, *_atoms(first, rest, lengths))]
    return _located(log_density, _Parts.joined([pairs, *others]), len(lengths))


def _only(parts: _Parts, owners: Flags) -> _Parts:
    keep = owners[parts.owner]
    return _Parts(parts.owner[keep], parts.low[keep], parts.high[keep], parts.mass[keep])


def _atoms(first: Density, rest: Density, lengths: Floats) -> list[_Parts]:
    """The times at which one of both densities has an atom."""
    found = []
    for time, mass in first.atoms:
        owner = np.flatnonzero(lengths >= time)
        at = np.full(len(owner), time)
        found.append(_Parts(owner, at, at, mass + rest.log_density(lengths[owner] - time)))
    for time, mass in rest.atoms:
        owner = np.flatnonzero(lengths >= time)
        at = lengths[owner] - time
        found.append(_Parts(owner, at, at, mass + first.log_density(at)))
    return found


def _pairs_of_atoms(first: Density, rest: Density, lengths: Floats) -> _Parts:
    """The times at which both densities have an atom."""
    nothing = _Parts(np.zeros(0, np.int64), *(np.zeros(0) for _ in range(3)))
    found = [nothing]
    for time, mass in first.atoms:
        for to, other in rest.atoms:
            owner = np.flatnonzero(lengths == time + to)
            at = np.full(len(owner), time)
            found.append(_Parts(owner, at, at, np.full(len(owner), mass + other)))
    return _Parts.joined(found)


def _located(log_density: LogFunction, parts: _Parts, count: int) -> Floats:
    """The quantiles INTERVAL_ENDS of each of so many gaps."""
    largest = np.full(count, -math.inf)
    np.maximum.at(largest, parts.owner, parts.mass)
    weight = _relative(parts.mass, largest[parts.owner])
    total = np.bincount(parts.owner, weight, count)
    known = total > 0
    share = np.divide(weight, total[parts.owner], out=np.zeros_like(weight), where=weight > 0)
    reached = np.cumsum(share)
    # The shares of each gap add up to 1, so those of all gaps before it to their number.
    wanted = (np.cumsum(known)[known] - 1)[:, None] + np.array(INTERVAL_ENDS)
    part = np.searchsorted(reached, wanted.ravel())
    within = (wanted.ravel() - (reached[part] - share[part])) / share[part]
    found = np.full((count, len(INTERVAL_ENDS)), math.nan)
    found[known] = _divided(log_density, parts, part, within).reshape(-1, len(INTERVAL_ENDS))
    return found


def _divided(log_density: LogFunction, parts: _Parts, part: Ints, within: Floats) -> Floats:
    """The time by which so much of the weight of a part has passed, for each of some parts."""
    owner, low, high = parts.owner[part], parts.low[part], parts.high[part]
    every = np.arange(len(part))
    for _ in range(_ROUNDS):
        edges = np.linspace(low, high, _PIECES + 1, axis=1)
        pieces = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        logs = log_panels(log_density, np.repeat(owner, _PIECES), *pieces).reshape(-1, _PIECES)
        weight = _relative(logs, logs.max(axis=1)[:, None])
        weight[~weight.any(axis=1)] = 1.0  # without a length
        passed = np.cumsum(weight, axis=1)
        wanted = np.clip(within, 0.0, 1.0) * passed[:, -1]
        piece = np.minimum((passed < wanted[:, None]).sum(axis=1), _PIECES - 1)
        own = weight[every, piece]
        within = np.divide(wanted - passed[every, piece] + own, own, out=np.zeros(len(part)), where=own > 0)
        low, high = edges[every, piece], edges[every, piece + 1]
    return low + np.clip(within, 0.0, 1.0) * (high - low)


def _relative(logs: Floats, largest: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(logs), 0.0, np.exp(logs - largest))

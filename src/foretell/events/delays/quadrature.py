"""Many integrals at once, of functions that are given by their logarithms, so that no tail underflows.

SciPy's `tanhsinh` does the same, but evaluates some 3,000 points for a panel on which 15 are enough here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretell.arrays import Floats, Ints

#: The logarithm of a function at points; the first argument has the number of the integral of each point.
LogFunction = Callable[[Ints, Floats], Floats]

#: Gauss and Kronrod's rule of 7 and 15 points on -1..1.
_HALF_NODES = np.array(
    [
        0.0,
        0.20778495500789848,
        0.40584515137739718,
        0.58608723546769115,
        0.74153118559939444,
        0.86486442335976907,
        0.94910791234275849,
        0.99145537112081261,
    ]
)
_HALF_KRONROD = np.array(
    [
        0.20948214108472782,
        0.20443294007529889,
        0.19035057806478542,
        0.16900472663926791,
        0.14065325971552592,
        0.10479001032225019,
        0.06309209262997856,
        0.02293532201052922,
    ]
)
_HALF_GAUSS = np.array(
    [0.41795918367346940, 0.0, 0.38183005050511894, 0.0, 0.27970539148927664, 0.0, 0.12948496616886969, 0.0]
)
_NODES = np.concatenate([-_HALF_NODES[:0:-1], _HALF_NODES])
_KRONROD = np.concatenate([_HALF_KRONROD[:0:-1], _HALF_KRONROD])
_GAUSS = np.concatenate([_HALF_GAUSS[:0:-1], _HALF_GAUSS])

#: The error of an integral relative to its value, and how often a panel may be halved.
_TOLERANCE = 1e-8
_MOST_ROUNDS = 60

#: A value that is so much smaller than the logarithm from which it comes is rounding.
_ROUNDING = 1e-15

#: A panel that is narrower beside its place is not halved.
_NARROWEST = 1e-14


def log_integrals(log_f: LogFunction, owner: Ints, low: Floats, high: Floats, count: int) -> Floats:
    """The logarithms of `count` integrals: each is the sum over its panels, from `low` to `high`.
    The owner of a panel is the number of its integral, plus a multiple of `count` where the integral has several parts,
    each with a function of its own.

    >>> panels = np.zeros(2, np.int64), np.array([0.0, 1.0]), np.array([1.0, 1000.0])
    >>> round(float(np.exp(log_integrals(lambda owner, x: -x / 2, *panels, 1))[0]), 9)
    2.0
    """
    scale = np.full(count, -np.inf)
    done = np.zeros(count)
    for _ in range(_MOST_ROUNDS):
        if not len(owner):
            break
        half, number = (high - low) / 2, owner % count
        points = (low + half)[:, None] + half[:, None] * _NODES
        logs = log_f(np.broadcast_to(owner[:, None], points.shape), points)
        # Values are relative to the largest one of their integral so far.
        largest = scale.copy()
        np.maximum.at(largest, number, logs.max(axis=1))
        with np.errstate(invalid="ignore"):
            done *= np.where(np.isneginf(scale), 0.0, np.exp(scale - largest))
            values = np.where(np.isneginf(logs), 0.0, np.exp(logs - largest[number][:, None]))
        scale = largest
        whole = half * (values @ _KRONROD)
        error = np.abs(whole - half * (values @ _GAUSS))
        total = done + np.bincount(number, whole, count)
        near = np.maximum(_TOLERANCE, _ROUNDING * np.abs(np.nan_to_num(scale, neginf=0.0)))
        split = (error > near[number] * total[number]) & (half > _NARROWEST * np.maximum(np.abs(low), np.abs(high)))
        done += np.bincount(number[~split], whole[~split], count)
        owner, low, high = owner[split], low[split], high[split]
        middle = (low + high) / 2
        owner, low, high = np.tile(owner, 2), np.concatenate([low, middle]), np.concatenate([middle, high])
    with np.errstate(divide="ignore"):
        return np.log(done) + np.where(np.isneginf(scale), 0.0, scale)


def log_panels(log_f: LogFunction, owner: Ints, low: Floats, high: Floats) -> Floats:
    """The logarithm of the integral over each panel, which is not halved: enough for quantiles.

    >>> np.exp(log_panels(lambda owner, x: -x, np.zeros(1, np.int64), np.zeros(1), np.ones(1))).round(9).tolist()
    [0.632120559]
    """
    half = (high - low) / 2
    points = (low + half)[:, None] + half[:, None] * _NODES
    logs = log_f(np.broadcast_to(owner[:, None], points.shape), points)
    largest = logs.max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(np.isneginf(logs), 0.0, np.exp(logs - largest[:, None]))
        logs = np.log(half * (values @ _KRONROD)) + np.where(np.isneginf(largest), 0.0, largest)
    return np.asarray(logs, np.float64)

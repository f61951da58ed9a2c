"""Sources of symbols whose memory is known, and the machine of a pattern that runs over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from foretell.arrays import Ints
from foretell.learn.trace import Trace

Law = Callable[[list[int]], Sequence[float]]


def symbols(law: Law, events: int, seed: int = 0) -> Ints:
    """One symbol after the other; the law is told all that has been."""
    random = np.random.default_rng(seed)
    past: list[int] = []
    for draw in random.random(events).tolist():
        total, chosen = 0.0, 0
        for chosen, share in enumerate(law(past)):  # noqa: B007 - the last one takes what is left
            total += share
            if draw < total:
                break
        past.append(chosen)
    return np.array(past, np.int64)


def matching(word: Sequence[int], symbol: Ints, lanes: int = 1) -> Trace:
    """The trace of `a , b , c`: bit i is set when the latest symbols are the first i + 1 of the word."""
    process = np.arange(len(symbol)) % lanes
    states, matched = np.zeros(len(symbol), np.uint64), np.zeros(len(symbol), np.bool_)
    present = [0] * lanes
    for row, item in enumerate(symbol.tolist()):
        before, now = present[row % lanes], 0
        for i, wanted in enumerate(word):
            if item == wanted and (i == 0 or before >> (i - 1) & 1):
                now |= 1 << i
        if now >> (len(word) - 1) & 1:
            matched[row], now = True, 0
        present[row % lanes] = now
        states[row] = now
    return Trace(
        process=process,
        ordinal=np.arange(len(symbol)) // lanes,
        time=np.arange(len(symbol), dtype=np.float64),
        state=states,
        matched=matched,
        symbol=symbol,
        keys=tuple(f'"{lane}"' for lane in range(lanes)),
    )


def no_memory(past: list[int]) -> Sequence[float]:
    return 0.5, 0.3, 0.2


def as_three_before(past: list[int]) -> Sequence[float]:
    """The symbol of three events ago comes again, mostly."""
    if len(past) < 3:
        return 1 / 3, 1 / 3, 1 / 3
    return [0.8 if symbol == past[-3] else 0.1 for symbol in range(3)]


def parity(past: list[int]) -> Sequence[float]:
    """What follows depends on whether the last two are the same, and on neither alone."""
    same = len(past) >= 2 and past[-1] == past[-2]
    return (0.8, 0.2) if same else (0.2, 0.8)


def variable(past: list[int]) -> Sequence[float]:
    """After a 1 nothing else counts; after a 0, what was before it."""
    if not past or past[-1] == 1:
        return 0.7, 0.3
    return (0.2, 0.8) if past[-2:] == [1, 0] else (0.6, 0.4)

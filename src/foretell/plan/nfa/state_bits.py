"""Bits for the states at which partial matches wait: the nearer to a match, the higher."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

#: A configuration has so many bits. Of a larger machine, states that are as far from a match share some.
BITS = 64


def bits_by_distance(left: Mapping[int, int], most: int) -> dict[int, int]:
    """The bit of each state, given how many events it is from the end. Where there are more states than `most` bits,
    states that are as far share some.

    >>> bits_by_distance({7: 1, 8: 2, 9: 2}, 64), bits_by_distance({7: 1, 8: 2, 9: 2}, 2)
    ({8: 1, 9: 2, 7: 4}, {8: 1, 9: 1, 7: 2})
    """
    waiting = sorted(left, key=lambda state: (-left[state], state))
    if len(waiting) <= most:
        return {state: 1 << number for number, state in enumerate(waiting)}
    levels = [list(some) for _, some in groupby(waiting, key=left.__getitem__)]
    levels = [*levels[: most - 1], [s for level in levels[most - 1 :] for s in level]] if len(levels) > most else levels
    spare, first, bits = (most - len(levels)) / len(waiting), 0, {}
    for level in levels:
        width = 1 + int(spare * len(level))
        for number, state in enumerate(level):
            bits[state] = 1 << (first + number % width)
        first += width
    return bits

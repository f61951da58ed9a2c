"""The bits of a configuration: one for each state at which runs wait, the higher the nearer to a match."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

#: The bits of a configuration. In an automaton with more states, states with the same distance to a match share some.
BITS = 64


def bits_by_distance(distances: Mapping[int, int], most: int) -> dict[int, int]:
    """The bit of each state, by the number of events from it to a match. With more states than `most` bits, states of
    the same distance share some.

    >>> bits_by_distance({7: 1, 8: 2, 9: 2}, 64), bits_by_distance({7: 1, 8: 2, 9: 2}, 2)
    ({8: 1, 9: 2, 7: 4}, {8: 1, 9: 1, 7: 2})
    """
    waiting = sorted(distances, key=lambda state: (-distances[state], state))
    if len(waiting) <= most:
        return {state: 1 << number for number, state in enumerate(waiting)}
    levels = [list(states) for _, states in groupby(waiting, key=distances.__getitem__)]
    levels = [*levels[: most - 1], [s for level in levels[most - 1 :] for s in level]] if len(levels) > most else levels
    spare, first, bits = (most - len(levels)) / len(waiting), 0, {}
    for level in levels:
        width = 1 + int(spare * len(level))
        for number, state in enumerate(level):
            bits[state] = 1 << (first + number % width)
        first += width
    return bits

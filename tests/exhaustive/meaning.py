"""What small patterns mean, on all small streams at once, written from LANGUAGE section 3 and nothing else.

The conditions of small patterns are about kinds alone, so a way to bind events by their places is a match on a certain
set of streams: those that have the right kinds there and the wrong ones in between. Sets of streams are flags. The
reference says the same more slowly (see test_small_scope), and this is quick enough for everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags
from tests.exhaustive.small import LONGEST, QUANTIFIERS, SEQUENCES, WINDOW, Small

Codes = NDArray[np.int64]

#: A match by its events: so many bits a place, with the number of the step bound there, from 1.
BITS = 3
LIMITS = {"?": (0, 1), "*": (0, LONGEST), "+": (1, LONGEST), "{2}": (2, 2)}


@dataclass(frozen=True)
class Occurrence:
    """Places with their steps, in order, and the streams on which that is one.

    `pending` are the kinds that may not come on the way to what follows, if anything does.
    """

    bound: tuple[tuple[int, int], ...]
    on: Flags
    pending: str = ""

    @property
    def first(self) -> int:
        return self.bound[0][0]

    @property
    def last(self) -> int:
        return self.bound[-1][0]


class Streams:
    """Small streams, as sets by what they have where."""

    def __init__(self, some: list[str]) -> None:
        self.count = len(some)
        self.kinds = np.array([list(one.ljust(LONGEST)) for one in some])

    @cached_property
    def everywhere(self) -> Flags:
        return np.ones(self.count, np.bool_)

    def has(self, kind: str, at: int) -> Flags:
        return np.asarray(self.kinds[:, at] == kind)

    def lacks(self, kind: str, first: int, last: int) -> Flags:
        """No such event from one place up to, and without, another."""
        return np.asarray((self.kinds[:, max(first, 0) : max(last, 0)] != kind).all(axis=1))

    def lead(self, operator: str, before: int, after: int) -> Flags:
        """Where an operator leads from one event to another, which are there."""
        if operator == ";":
            return self.everywhere
        if operator == ",":
            return self.everywhere if after == before + 1 else ~self.everywhere
        between = self.kinds[:, before + 1 : after]
        return np.asarray((between == "x").all(axis=1) & (self.kinds[:, after] != "x"))


def meaning(pattern: Small, streams: Streams, *, window: bool) -> Codes:
    """All matches on all streams, in order: the number of the stream, then the events."""
    found: dict[tuple[tuple[int, int], ...], Flags] = {}
    for one in _occurrences(_numbered(pattern, iter(range(1, 9))), streams, None, None):
        if one.bound and (not window or one.last - one.first <= WINDOW):
            found[one.bound] = found.get(one.bound, ~streams.everywhere) | one.on
    codes = [
        (np.flatnonzero(on) << (BITS * LONGEST)) + sum(step << (BITS * at) for at, step in bound)
        for bound, on in found.items()
    ]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *codes]))


def _numbered(pattern: Small, numbers: Iterator[int]) -> Small:
    """With the number of each positive step as its name."""
    if pattern.kind:
        return Small("", kind=pattern.kind, negated=str(next(numbers)))
    return Small(pattern.form, tuple(_numbered(p, numbers) for p in pattern.parts), negated=pattern.negated)


def _occurrences(node: Small, streams: Streams, lead: str | None, follow: str | None) -> list[Occurrence]:
    """Of a part under the operators around it, which repetitions repeat under."""
    if node.kind:
        return [Occurrence(((at, int(node.negated)),), streams.has(node.kind, at)) for at in range(LONGEST)]
    if node.form in QUANTIFIERS:
        under = lead or follow or ","
        return _some(list(_repeated(node, _occurrences(node.parts[0], streams, under, None), streams, under)))
    if node.form == "|":
        return [one for part in node.parts for one in _occurrences(part, streams, lead, follow)]
    if node.form == "&":
        left, right = (_occurrences(part, streams, lead, follow) for part in node.parts)
        return _some([_together(one, other) for one in left for other in right if _are_disjoint(one, other)])
    if node.form in SEQUENCES:
        left = _occurrences(node.parts[0], streams, None, node.form)
        right = _occurrences(node.parts[1], streams, node.form, None)
        return _some([found for one in left for other in right for found in _sequence(node, one, other, streams)])
    return _some([_at_edge(node, one, streams) for one in _occurrences(node.parts[0], streams, lead, follow)])


def _some(found: list[Occurrence]) -> list[Occurrence]:
    return [one for one in found if one.on.any()]


def _together(one: Occurrence, other: Occurrence) -> Occurrence:
    return Occurrence(tuple(sorted(one.bound + other.bound)), one.on & other.on)


def _are_disjoint(one: Occurrence, other: Occurrence) -> bool:
    return not {at for at, _ in one.bound} & {at for at, _ in other.bound}


def _sequence(node: Small, one: Occurrence, other: Occurrence, streams: Streams) -> Iterator[Occurrence]:
    if not one.bound:
        yield other
    elif not other.bound:
        yield Occurrence(one.bound, one.on & other.on, one.pending + node.negated)
    elif one.last < other.first:
        yield _in_order(one, other, streams, node.form, one.pending + node.negated)


def _in_order(one: Occurrence, other: Occurrence, streams: Streams, operator: str, absent: str) -> Occurrence:
    on = one.on & other.on & streams.lead(operator, one.last, other.first)
    for kind in absent:
        on = on & streams.lacks(kind, one.last + 1, other.first)
    return Occurrence(one.bound + other.bound, on, other.pending)


def _repeated(node: Small, body: list[Occurrence], streams: Streams, under: str) -> Iterator[Occurrence]:
    low, high = LIMITS[node.form]
    rounds = [one for one in body if one.bound]
    if any(not one.bound for one in body):
        low = 0
    so_far = [Occurrence((), streams.everywhere)]
    for times in range(high + 1):
        if times >= low:
            yield from so_far
        further = []
        for one in so_far:
            for other in rounds:
                if not one.bound:
                    further.append(other)
                elif one.last < other.first:
                    further.append(_in_order(one, other, streams, under, one.pending))
        so_far = _some(further)


def _at_edge(node: Small, one: Occurrence, streams: Streams) -> Occurrence:
    """A negation at the edge of the whole: none from the window before the end, or until the window is over."""
    if not one.bound:
        return one
    if node.form == "!;":
        on = one.on & streams.lacks(node.negated, one.last - WINDOW, one.first)
        return Occurrence(one.bound, on, one.pending)
    on = one.on
    for kind in one.pending + node.negated:
        on = on & streams.lacks(kind, one.last + 1, one.first + WINDOW + 1)
    return Occurrence(one.bound, on)

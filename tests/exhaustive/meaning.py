"""An oracle for small patterns on all small streams at once, written from LANGUAGE section 3 alone.

The conditions of small patterns are about kinds alone, so a way to bind events by their places is a match on a certain
set of streams: those with the right kinds at those places and no forbidden kind in between. A set of streams is an
array of flags. The reference evaluator gives the same matches more slowly (see test_small_scope).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags
from tests.exhaustive.small import LONGEST, QUANTIFIERS, SEQUENCES, WINDOW, Small

Codes = NDArray[np.int64]

#: The code of a match: this many bits for each place, with the number of the step bound there, from 1.
BITS = 3
LIMITS = {"?": (0, 1), "*": (0, LONGEST), "+": (1, LONGEST), "{2}": (2, 2)}


@dataclass(frozen=True)
class Occurrence:
    """Places with their steps, in order, and the streams on which they occur.

    `pending` are the kinds that may not come on the way to the next event, if there is one.
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
    """Small streams as an array of kinds; methods return the set of streams with a property."""

    def __init__(self, streams: list[str]) -> None:
        self.count = len(streams)
        self.length = max(LONGEST, *map(len, streams))
        self.kinds = np.array([list(stream.ljust(self.length)) for stream in streams])

    @cached_property
    def everywhere(self) -> Flags:
        return np.ones(self.count, np.bool_)

    def has(self, kind: str, at: int) -> Flags:
        return np.asarray(self.kinds[:, at] == kind)

    def lacks(self, kind: str, first: int, last: int) -> Flags:
        """No event of a kind from place `first` up to, but not including, `last`."""
        return np.asarray((self.kinds[:, max(first, 0) : max(last, 0)] != kind).all(axis=1))

    def lead(self, operator: str, before: int, after: int) -> Flags:
        """The streams on which an operator leads from one place to another."""
        if operator == ";":
            return self.everywhere
        if operator == ",":
            return self.everywhere if after == before + 1 else ~self.everywhere
        between = self.kinds[:, before + 1 : after]
        return np.asarray((between == "x").all(axis=1) & (self.kinds[:, after] != "x"))


def meaning(pattern: Small, streams: Streams, *, window: bool) -> Codes:
    """The sorted codes of all matches on all streams: the number of the stream, then the events."""
    found: dict[tuple[tuple[int, int], ...], Flags] = {}
    for occurrence in occurrences(numbered(pattern), streams, None, None):
        if occurrence.bound and (not window or occurrence.last - occurrence.first <= WINDOW):
            found[occurrence.bound] = found.get(occurrence.bound, ~streams.everywhere) | occurrence.on
    codes = [
        (np.flatnonzero(on) << (BITS * LONGEST)) + sum(step << (BITS * at) for at, step in bound)
        for bound, on in found.items()
    ]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *codes]))


def numbered(pattern: Small) -> Small:
    """The pattern with each positive step named by its number, from 1."""
    return _numbered(pattern, iter(range(1, 9)))


def _numbered(pattern: Small, numbers: Iterator[int]) -> Small:
    if pattern.kind:
        return Small("", kind=pattern.kind, negated=str(next(numbers)))
    return Small(pattern.form, tuple(_numbered(p, numbers) for p in pattern.parts), negated=pattern.negated)


def occurrences(node: Small, streams: Streams, lead: str | None, follow: str | None) -> list[Occurrence]:
    """The occurrences of a part; `lead` and `follow` are the operators around it, which repetitions repeat under."""
    if node.kind:
        return [Occurrence(((at, int(node.negated)),), streams.has(node.kind, at)) for at in range(streams.length)]
    if node.form in QUANTIFIERS:
        under = lead or follow or ","
        return _possible(list(_repeated(node, occurrences(node.parts[0], streams, under, None), streams, under)))
    if node.form == "|":
        return [found for part in node.parts for found in occurrences(part, streams, lead, follow)]
    if node.form == "&":
        sides = [occurrences(part, streams, lead, follow) for part in node.parts]
        return _possible([_together(*pair) for pair in product(*sides) if _are_disjoint(*pair)])
    if node.form in SEQUENCES:
        before = occurrences(node.parts[0], streams, None, node.form)
        after = occurrences(node.parts[1], streams, node.form, None)
        return _possible([found for pair in product(before, after) for found in _sequence(node, *pair, streams)])
    return _possible([_at_edge(node, found, streams) for found in occurrences(node.parts[0], streams, lead, follow)])


def _possible(found: list[Occurrence]) -> list[Occurrence]:
    return [occurrence for occurrence in found if occurrence.on.any()]


def _together(left: Occurrence, right: Occurrence) -> Occurrence:
    return Occurrence(tuple(sorted(left.bound + right.bound)), left.on & right.on)


def _are_disjoint(left: Occurrence, right: Occurrence) -> bool:
    return not {at for at, _ in left.bound} & {at for at, _ in right.bound}


def _sequence(node: Small, left: Occurrence, right: Occurrence, streams: Streams) -> Iterator[Occurrence]:
    if not left.bound:
        yield right
    elif not right.bound:
        yield Occurrence(left.bound, left.on & right.on, left.pending + node.negated)
    elif left.last < right.first:
        yield _in_order(left, right, streams, node.form, left.pending + node.negated)


def _in_order(left: Occurrence, right: Occurrence, streams: Streams, operator: str, absent: str) -> Occurrence:
    on = left.on & right.on & streams.lead(operator, left.last, right.first)
    for kind in absent:
        on = on & streams.lacks(kind, left.last + 1, right.first)
    return Occurrence(left.bound + right.bound, on, right.pending)


def _repeated(node: Small, body: list[Occurrence], streams: Streams, under: str) -> Iterator[Occurrence]:
    low, high = LIMITS[node.form]
    rounds = [found for found in body if found.bound]
    if len(rounds) < len(body):
        low = 0
    so_far = [Occurrence((), streams.everywhere)]
    for times in range(high + 1):
        if times >= low:
            yield from so_far
        further = []
        for left in so_far:
            for right in rounds:
                if not left.bound:
                    further.append(right)
                elif left.last < right.first:
                    further.append(_in_order(left, right, streams, under, left.pending))
        so_far = _possible(further)


def _at_edge(node: Small, found: Occurrence, streams: Streams) -> Occurrence:
    """A negation at the edge of the pattern: none from the window before its end, or until the window has passed."""
    if not found.bound:
        return found
    if node.form == "!;":
        on = found.on & streams.lacks(node.negated, found.last - WINDOW, found.first)
        return Occurrence(found.bound, on, found.pending)
    on = found.on
    for kind in found.pending + node.negated:
        on = on & streams.lacks(kind, found.last + 1, found.first + WINDOW + 1)
    return Occurrence(found.bound, on)

"""An oracle for FIRST, LAST and negations at the end: a match is told when no continuation of the stream can change it.

It knows nothing of windows that have to pass. On all streams of a length it finds the matches and those that FIRST and
LAST choose; a match is known at a time if it is chosen on every stream that is the same up to then. Operators are `;`,
`&` and `|` alone: under `,` no later event could do, and the language waits for the window all the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import numpy as np

from foretell.arrays import Flags
from tests.exhaustive.meaning import Streams, numbered, occurrences
from tests.exhaustive.small import WINDOW, Small

KINDS = "abx"
LENGTH = 8
#: The latest end that is compared: what may change a match with this end lies within the streams.
LATEST = LENGTH - 1 - WINDOW

Bound = tuple[tuple[int, int], ...]


@dataclass(frozen=True, order=True)
class ExpectedMatch:
    """A match of a stream with its end."""

    stream: int
    bound: Bound
    end: int


def all_streams() -> list[str]:
    """All streams of the length, those with a common beginning next to each other."""
    return ["".join(kinds) for kinds in product(KINDS, repeat=LENGTH)]


def expected_matches(pattern: Small, streams: Streams) -> list[ExpectedMatch]:
    """The matches with their ends, as far as these are compared."""
    matches: dict[Bound, Flags] = {}
    for found in occurrences(_by_branch(numbered(pattern)), streams, None, None):
        if found.bound and found.last - found.first <= WINDOW:
            matches[found.bound] = matches.get(found.bound, ~streams.everywhere) | found.on
    choices = {str(number): leaf.chosen for number, leaf in enumerate(pattern.leaves(), 1) if leaf.chosen}
    results = []
    for bound in matches:
        known = _known(bound[-1][0], _chosen(bound, matches, choices))
        results += [ExpectedMatch(int(stream), bound, int(known[stream])) for stream in np.flatnonzero(known <= LATEST)]
    return sorted(results)


def _by_branch(pattern: Small) -> Small:
    """`a ; (b ; !x | c)` as `a ; b ; !x | a ; c`: the window of a negation begins with the first event of the match."""
    if pattern.form != ";" or pattern.parts[1].form != "|":
        return pattern
    left, branches = pattern.parts[0], []
    for branch in pattern.parts[1].parts:
        after = branch.parts[0] if branch.form == ";!" else branch
        both = Small(";", (left, after))
        branches.append(Small(";!", (both,), negated=branch.negated) if branch.form == ";!" else both)
    return Small("|", tuple(branches))


def _chosen(bound: Bound, matches: dict[Bound, Flags], choices: dict[str, str]) -> Flags:
    """The streams on which a match has the right event for each choice."""
    chosen = matches[bound]
    for place, step in bound:
        which = choices.get(str(step))
        rest = [other for other in bound if other[1] != step]
        for other in range(LENGTH) if which else ():
            if (other < place) == (which == "FIRST") and other != place:
                rival = tuple(sorted([*rest, (other, step)]))
                if rival in matches:
                    chosen = chosen & ~matches[rival]
    return chosen


def _known(last: int, chosen: Flags) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The time at which it is known that a match is chosen, on each stream; after the end of the streams: never."""
    known = np.full(chosen.size, LENGTH, np.int64)
    for time in range(LATEST, last - 1, -1):
        alike = chosen.reshape(len(KINDS) ** (time + 1), -1)
        known[np.repeat(alike.all(axis=1), alike.shape[1])] = time
    return known


# ── patterns ──


def random_pattern(chance: random.Random) -> Small:
    """A pattern with FIRST or LAST, and perhaps with negations at its end or at that of a branch."""
    branches = [_edged(chance, chance.choice((1, 1, 2))) for _ in range(chance.choice((1, 1, 2)))]
    if len(branches) == 2:
        return Small("|", tuple(branches))
    if chance.random() < 0.3:
        return Small(";", (_inner(chance, 0), Small("|", (_edged(chance, 0), _edged(chance, 0)))))
    return branches[0]


def _edged(chance: random.Random, operators: int) -> Small:
    inner = _inner(chance, operators)
    return Small(";!", (inner,), negated=chance.choice("abx")) if chance.random() < 0.5 else inner


def _inner(chance: random.Random, operators: int) -> Small:
    if not operators:
        return Small("", kind=chance.choice("aab"), chosen=chance.choice(("", "LAST", "LAST", "FIRST")))
    form = chance.choice((";", ";", ";", "&", "|", "?"))
    if form == "?":
        return Small(";", (_inner(chance, operators - 1), Small("?", (_inner(chance, 0),))))
    left = chance.randrange(operators)
    return Small(form, (_inner(chance, left), _inner(chance, operators - 1 - left)))

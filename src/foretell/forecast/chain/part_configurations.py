"""A whole from its parts, where its own machine is too large (P-ToPSS 5.2.3).

The parts are those of plan.nfa.decomposition: of each, a word says after every event where its partial matches stand.
From words come configurations and completions, of which a chain for each part is learned; and from the waiting times of
these chains that of the whole. The partial matches that have come furthest speak: the segment they are at has to end,
and then each one after it from its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.forecast.chain.waiting_times import MATCHED, All, First, Part, Then, Tree, combined
from foretell.machine.observe.observer import Sides
from foretell.plan.nfa.decomposition import DONE, Decomposition, Segment

_DONE = np.uint64(DONE)
#: Of a configuration: all sides of its `&` are done. Then the whole has just matched, and waits for any of them again.
_ALL = np.uint64(DONE >> 1)


def followed(sides: Sides, process: Ints, last: Words) -> tuple[Words, Flags]:
    """[event, part]: the configuration of each part after each event, and whether the event completed the part.

    `last` has the words of each process before its first event here; it is brought up to date.

    A side of `&` is complete when it is done. While it stays so, what is learned is when all sides are next complete.
    """
    words, parts = sides.words, sides.parts
    before = before_it(words, process, last)
    configuration, matched = words.copy(), np.zeros(words.shape, np.bool_)
    for number, segment in enumerate(parts.segments):
        mine = slice(segment.first, segment.stop)
        done, was_done = words[:, mine] & _DONE != 0, before[:, mine] & _DONE != 0
        final = number == len(parts.segments) - 1
        if segment.every:
            tag = np.where(_all_done(parts, segment, words), _ALL, np.uint64(0))
            configuration[:, mine] |= tag[:, None]
            if final:
                whole = sides.ended[:, mine].any(axis=1)
            else:
                whole = words[:, segment.stop :].any(axis=1) & ~before[:, segment.stop :].any(axis=1)
            matched[:, mine] = np.asarray(whole)[:, None] | (done & ~was_done)
        else:
            matched[:, mine] = sides.ended[:, mine] if final else done & ~was_done
    return configuration, matched


def before_it(column: NDArray[Any], process: Ints, last: NDArray[Any]) -> NDArray[Any]:
    """Of each event what stood in the row before of its process. `last` has what stood last before all of them, and is
    brought up to date."""
    by = np.argsort(process, kind="stable")
    before = np.empty_like(column)
    first = np.ones(len(by), np.bool_)
    first[1:] = process[by][1:] != process[by][:-1]
    before[by[1:]] = column[by[:-1]]
    before[by[first]] = last[process[by[first]]]
    last[process] = column  # the last of a process stays
    return before


def _needed(parts: Decomposition, segment: Segment) -> list[int]:
    """The parts without which a segment does not end: a side that can be empty is none."""
    return [part for part in range(segment.first, segment.stop) if parts.entries[part] != DONE]


def _all_done(parts: Decomposition, segment: Segment, words: Words) -> Flags:
    return np.asarray((words[..., _needed(parts, segment)] & _DONE != 0).all(axis=-1))


def whole(parts: Decomposition, words: Words, now: Sequence[Floats], entered: Sequence[Floats]) -> Floats:
    """P(match within k) of the whole, given where the parts stand: `now` are the waiting times of the parts as they
    stand, `entered` those when their segment begins."""
    standing = words & ~_DONE
    at = max((n for n, s in enumerate(parts.segments) if standing[s.first : s.stop].any()), default=0)
    later = [_tree(parts, segment, entered) for segment in parts.segments[at + 1 :]]
    segment = parts.segments[at]
    if segment.every and _all_done(parts, segment, words):
        return combined(Then((Part(now[_needed(parts, segment)[0]]), *later)))
    if segment.every:
        now = [MATCHED.cdf if word & _DONE else one for word, one in zip(words, now, strict=True)]
    return combined(Then((_tree(parts, segment, now), *later)))


def _tree(parts: Decomposition, segment: Segment, waiting: Sequence[Floats]) -> Tree:
    if segment.every:
        return All(tuple(Part(waiting[part]) for part in _needed(parts, segment)))
    return First(tuple(Part(waiting[part]) for part in range(segment.first, segment.stop)))

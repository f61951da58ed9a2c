"""The parts of a pattern whose NFA is too large for one chain (P-ToPSS 5.2.3): their configurations, and the waiting
time of the whole from those of the parts.

The parts are those of plan.nfa.decomposition. After every event each part has a word, the bits of its partial matches.
Words give configurations and completions, from which a chain for each part is learned. The waiting time of the whole
is that of its most advanced partial matches: their segment has to end, then each later segment from its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.forecast.chain.waiting_times import (
    MATCHED,
    AllParts,
    AnyPart,
    PartsInSequence,
    PartWaitingTime,
    WaitingTimeTree,
    combined_cdf,
)
from foretell.machine.observe.observer import ObservedParts
from foretell.plan.nfa.decomposition import DONE, Decomposition, Segment

_DONE = np.uint64(DONE)
#: Bit of a configuration: all sides of its `&` are done. The whole has then just matched and waits for a side again.
_ALL_DONE = np.uint64(DONE >> 1)


def part_configurations(observed: ObservedParts, process: Ints, last: Words) -> tuple[Words, Flags]:
    """[event, part]: the configuration of each part after each event, and whether the event completed the part.

    `last` has the words of each process before its first event here, and is updated.

    A side of `&` is complete when it is done. While it stays so, the chain learns when all sides are next complete.
    """
    words, parts = observed.words, observed.decomposition
    before = previous_by_process(words, process, last)
    configuration, matched = words.copy(), np.zeros(words.shape, np.bool_)
    for number, segment in enumerate(parts.segments):
        members = slice(segment.first, segment.stop)
        done, was_done = words[:, members] & _DONE != 0, before[:, members] & _DONE != 0
        is_last = number == len(parts.segments) - 1
        if segment.every:
            tag = np.where(_all_done(parts, segment, words), _ALL_DONE, np.uint64(0))
            configuration[:, members] |= tag[:, None]
            if is_last:
                completed = observed.ended[:, members].any(axis=1)
            else:
                completed = words[:, segment.stop :].any(axis=1) & ~before[:, segment.stop :].any(axis=1)
            matched[:, members] = np.asarray(completed)[:, None] | (done & ~was_done)
        else:
            matched[:, members] = observed.ended[:, members] if is_last else done & ~was_done
    return configuration, matched


def previous_by_process(column: NDArray[Any], process: Ints, last: NDArray[Any]) -> NDArray[Any]:
    """For each event the value in the previous row of its process. `last` has the value of each process before the
    first row, and is updated."""
    order = np.argsort(process, kind="stable")
    before = np.empty_like(column)
    first = np.ones(len(order), np.bool_)
    first[1:] = process[order][1:] != process[order][:-1]
    before[order[1:]] = column[order[:-1]]
    before[order[first]] = last[process[order[first]]]
    last[process] = column  # of repeated indices the last one is assigned
    return before


def _needed(parts: Decomposition, segment: Segment) -> list[int]:
    """The parts that a segment needs to end: all but sides that may be empty."""
    return [part for part in range(segment.first, segment.stop) if parts.entries[part] != DONE]


def _all_done(parts: Decomposition, segment: Segment, words: Words) -> Flags:
    return np.asarray((words[..., _needed(parts, segment)] & _DONE != 0).all(axis=-1))


def whole_waiting_time(parts: Decomposition, words: Words, now: Sequence[Floats], entered: Sequence[Floats]) -> Floats:
    """P(match within k) of the whole. `now` has the waiting time of each part given its word, `entered` the one when
    its segment begins."""
    waiting = words & ~_DONE
    current = max((n for n, s in enumerate(parts.segments) if waiting[s.first : s.stop].any()), default=0)
    later = [_segment_tree(parts, segment, entered) for segment in parts.segments[current + 1 :]]
    segment = parts.segments[current]
    if segment.every and _all_done(parts, segment, words):
        return combined_cdf(PartsInSequence((PartWaitingTime(now[_needed(parts, segment)[0]]), *later)))
    if segment.every:
        now = [MATCHED.cdf if word & _DONE else cdf for word, cdf in zip(words, now, strict=True)]
    return combined_cdf(PartsInSequence((_segment_tree(parts, segment, now), *later)))


def _segment_tree(parts: Decomposition, segment: Segment, cdfs: Sequence[Floats]) -> WaitingTimeTree:
    if segment.every:
        return AllParts(tuple(PartWaitingTime(cdfs[part]) for part in _needed(parts, segment)))
    return AnyPart(tuple(PartWaitingTime(cdfs[part]) for part in range(segment.first, segment.stop)))

"""Containment of subscriptions against brute force: no wrong yes and no wrong no over small patterns and short streams.

A no is always right: its witness has been tried by the reference evaluator. Where brute force finds no difference, the
witness of a no must be longer than its streams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from foretell.check.answer import Answer, Truth
from foretell.check.automata.containment import contained
from foretell.check.deadline import Deadline
from foretell.language.check import check
from foretell.language.parser import parse
from tests.check.patterns import STREAM, Sample, ends, selection_samples, small_samples, streams

LENGTH = 5


def compare(samples: Sequence[Sample], length: int) -> Counter[Truth]:
    given = streams(length)
    checked = [sample.checked() for sample in samples]
    found = [ends(sample, given) for sample in samples]
    truths: Counter[Truth] = Counter()
    for (left, left_program), ours in zip(checked, found, strict=True):
        for (right, right_program), theirs in zip(checked, found, strict=True):
            answer = contained(left, right, left_program, right_program, Deadline(10))
            pair = f"{left.tree.pattern}\n{right.tree.pattern}\n{answer}"
            if ours <= theirs:
                longer = answer.witness is not None and len(answer.witness.events) > length
                assert answer.truth is not Truth.NO or longer, pair
            else:
                assert answer.truth is not Truth.YES, pair
                if answer.truth is Truth.NO:
                    assert answer.witness is not None
                    assert len(answer.witness.events) == shortest_difference(ours - theirs), pair
            truths[answer.truth] += 1
    return truths


def shortest_difference(places: frozenset[tuple[int, int]]) -> int:
    return min(place for _, place in places) + 1


def test_small_patterns() -> None:
    random = Random(20)
    samples = [*small_samples(0), *small_samples(1), *random.sample(list(small_samples(2)), 30)]
    truths = compare(samples, 4)
    assert truths[Truth.UNKNOWN] == 0
    assert truths[Truth.YES] > 300
    assert truths[Truth.NO] > 1_000


def test_selections() -> None:
    truths = compare([*small_samples(1), *selection_samples()], 4)
    assert truths[Truth.UNKNOWN] < truths[Truth.YES]


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_pairs() -> None:
    samples = [*small_samples(0), *small_samples(1), *small_samples(2), *selection_samples()]
    truths = compare(samples, LENGTH)
    assert truths[Truth.YES] > 10_000


def answer(left: str, right: str, *, stream: str = STREAM) -> Answer:
    program = check(parse(f"{stream} SUBSCRIBE l FROM s {left}; SUBSCRIBE r FROM s {right};"))
    ours, theirs = program.statements
    return contained(ours, theirs, program, program, Deadline(10))

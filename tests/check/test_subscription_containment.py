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
from foretell.check.automata.containment import contained, equivalent
from foretell.check.automata.event_scope import event_scope
from foretell.check.automata.inclusion import InclusionSearch
from foretell.check.automata.subscription_language import languages
from foretell.check.deadline import Deadline
from foretell.language.check import check
from foretell.language.parser import parse
from tests.check.patterns import STREAM, Sample, ends, quick_ends, selection_samples, small_samples, streams
from tests.exhaustive.meaning import Streams

LENGTH = 5


def compare(samples: Sequence[Sample], length: int) -> Counter[Truth]:
    checked = [sample.checked() for sample in samples]
    found = known_ends(samples, length)
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


def known_ends(samples: Sequence[Sample], length: int) -> list[frozenset[tuple[int, int]]]:
    """Where patterns end; every 25th as the reference evaluator has it."""
    given, quick = streams(length), Streams(streams(length))
    found = [ends(s, given) if s.pattern is None else quick_ends(s, quick) for s in samples]
    assert all(ends(s, given) == places for s, places in [*zip(samples, found, strict=True)][::25])
    return found


def shortest_difference(places: frozenset[tuple[int, int]]) -> int:
    return min(place for _, place in places) + 1


def test_small_patterns() -> None:
    random = Random(20)
    samples = [*small_samples(0), *small_samples(1), *random.sample(list(small_samples(2)), 24)]
    truths = compare(samples, 4)
    assert truths[Truth.UNKNOWN] == 0
    assert truths[Truth.YES] > 200
    assert truths[Truth.NO] > 1_000


def test_selections() -> None:
    truths = compare([*[*small_samples(1)][::3], *selection_samples()], 4)
    assert truths[Truth.UNKNOWN] < truths[Truth.YES]


def compare_languages(samples: Sequence[Sample], length: int) -> Counter[Truth]:
    """All pairs by their languages over one alphabet, each made once, and some of them as `contained` answers."""
    checked = [sample.checked() for sample in samples]
    _, program = checked[0]
    found = known_ends(samples, length)
    own = languages([statement for statement, _ in checked], event_scope(checked[0][0], program))
    truths: Counter[Truth] = Counter()
    for number, (left, ours) in enumerate(zip(own, found, strict=True)):
        for other, (right, theirs) in enumerate(zip(own, found, strict=True)):
            difference = InclusionSearch(left.at_least, right.at_most, left.all_letters, Deadline(60)).counterexample()
            pair = f"{samples[number].text}\n{samples[other].text}\n{difference}"
            if difference is None:
                assert ours <= theirs, pair
            elif left.is_exact and right.is_exact:
                shortest = length + 1 if ours <= theirs else shortest_difference(ours - theirs)
                assert min(len(difference), length + 1) == shortest, pair
            truths[Truth.YES if difference is None else Truth.NO] += 1
    compare(samples[:: len(samples) // 40], length)
    return truths


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_pairs() -> None:
    samples = [*small_samples(0), *small_samples(1), *small_samples(2), *selection_samples()]
    truths = compare_languages(samples, LENGTH)
    assert truths[Truth.YES] > 10_000


def answer(left: str, right: str, *, stream: str = STREAM) -> Answer:
    program = check(parse(f"{stream} SUBSCRIBE l FROM s {left}; SUBSCRIBE r FROM s {right};"))
    ours, theirs = program.statements
    return contained(ours, theirs, program, program, Deadline(10))


@pytest.mark.parametrize(
    ("left", "right", "truth"),
    [
        # windows
        ("MATCH a ; b DEFINE a AS kind = 'a'", "MATCH a ; b", "yes"),
        ("MATCH a , b WITHIN 3", "MATCH a ; b WITHIN 5", "yes"),
        ("MATCH a , b WITHIN 5", "MATCH a ; b WITHIN 3", "no"),
        ("MATCH a , b", "MATCH a ; b WITHIN 3", "no"),
        ("MATCH a , b", "MATCH a+ WITHIN 3", "yes"),
        ("MATCH a ; b ; c WITHIN 4", "MATCH a ; b WITHIN 4", "yes"),
        # lanes: the right sees events of other lanes between those of the left
        ("PER lane, kind MATCH a , b", "PER lane MATCH a ; b", "yes"),
        ("PER lane, kind MATCH a , b", "PER lane MATCH a , b", "yes"),
        ("PER lane, kind MATCH a , b DEFINE a AS time > 0", "PER lane MATCH a , b DEFINE a AS time > 0", "cannot tell"),
        ("PER lane MATCH a ; b", "PER lane, kind MATCH a ; b", "cannot tell"),
        # clauses that remove matches
        ("MATCH a ; b AFTER MATCH CONSUME", "MATCH a ; b", "yes"),
        ("MATCH a ; b", "MATCH a ; b AFTER MATCH CONSUME", "no"),
        ("MATCH a ; b HAVING duration > 3", "MATCH a ; b", "yes"),
        ("MATCH a ; b HAVING duration > 3", "MATCH c ; d HAVING duration > 3", "yes"),
        ("MATCH a ; b AFTER MATCH SKIP TO LAST b", "MATCH c ; d AFTER MATCH SKIP TO LAST d", "yes"),
        ("MATCH a ; b AFTER MATCH SKIP TO LAST b", "MATCH c ; d AFTER MATCH SKIP TO LAST c", "cannot tell"),
        # negations at the edge, which depend on time
        ("MATCH a ; !b DEFINE b AS kind = 'b' WITHIN 5", "MATCH a ; !b DEFINE b AS kind = 'b' WITHIN 5", "yes"),
        ("MATCH a ; !b WITHIN 5", "MATCH a ; !b DEFINE b AS kind = 'b' WITHIN 5", "yes"),
        ("MATCH a ; !b DEFINE b AS kind = 'b' WITHIN 5", "MATCH a ; !b WITHIN 5", "cannot tell"),
        ("MATCH !b WITHIN 5", "MATCH !b WITHIN 5", "yes"),
        # variables: two on the left are not one on the right
        (
            "MATCH a ; b DEFINE a AS kind = $x, b AS kind = $y",
            "MATCH a ; b DEFINE a, b AS kind = $x",
            "no",
        ),
        ("MATCH a ; b DEFINE a, b AS kind = $x", "MATCH c ; d DEFINE c AS kind = $p, d AS kind = $q", "yes"),
        ("MATCH a ; b DEFINE a AS lane = $x, b AS lane > $x", "MATCH a ; b DEFINE a AS time = $x, b AS lane > $x",
         "cannot tell"),
        # ends of the domain
        ("MATCH a DEFINE a AS lane > 9223372036854775807", "MATCH b DEFINE b AS kind = 'never'", "yes"),
    ],
)  # fmt: skip
def test_clauses(left: str, right: str, truth: str) -> None:
    assert answer(left, right).truth is Truth(truth)


def test_results_of_statements() -> None:
    """Not every sequence of results can come: a no is never certain. Results last, so that windows do not compare."""
    text = f"""{STREAM} SUBSCRIBE pairs FROM s MATCH x ; y RETURN y.kind AS kind;
    SUBSCRIBE l FROM pairs MATCH a , b WITHIN 3; SUBSCRIBE r FROM pairs MATCH a ; b;
    SUBSCRIBE w FROM pairs MATCH a ; b WITHIN 3;"""
    program = check(parse(text))
    _, next_, later, window = program.statements
    assert contained(next_, later, program, program, Deadline(10)).truth is Truth.YES
    assert contained(later, next_, program, program, Deadline(10)).truth is Truth.UNKNOWN
    assert contained(next_, window, program, program, Deadline(10)).truth is Truth.UNKNOWN


def test_equivalence() -> None:
    program = check(parse(f"{STREAM} SUBSCRIBE l FROM s MATCH a , b | c ; d; SUBSCRIBE r FROM s MATCH x ; y;"))
    ours, theirs = program.statements
    assert equivalent(ours, theirs, program, program, Deadline(10)).truth is Truth.YES


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_pairs_of_three_operators() -> None:
    compare_languages([*small_samples(1), *Random(21).sample(list(small_samples(3)), 400)], LENGTH)

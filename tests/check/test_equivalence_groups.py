"""Groups of equivalent statements: those that brute force finds, by the keys of statements alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

import pytest

from foretell.check.automata.containment import equivalent
from foretell.check.automata.equivalence_groups import equivalent_groups, statement_key
from foretell.check.deadline import Deadline
from foretell.language.check import check
from foretell.language.parser import parse
from tests.check.patterns import Sample, quick_ends, small_samples, streams
from tests.check.test_correlator_containment import shortest_difference
from tests.check.test_correlator_questions import correlator, random_expression
from tests.correlate.expressions import small_expressions
from tests.exhaustive.meaning import Streams

STREAM = "STREAM s (k STRING, n INT, x FLOAT, b BOOL, t INT) TIME t;"


def groups(*statements: str) -> list[list[str]]:
    text = STREAM + "".join(
        f"{'CORRELATE' if ' DO ' in clauses else 'SUBSCRIBE'} q{number} FROM s {clauses};"
        for number, clauses in enumerate(statements)
    )
    return [[s.name for s in group] for group in equivalent_groups(check(parse(text)), Deadline(60))]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("n > 5", "n >= 6", True),
        ("n > 5.5", "n >= 6", True),
        ("x > 5", "x >= 6", False),
        ("k = 'a' OR k = 'b'", "k IN ('b', 'a')", True),
        ("NOT k <> 'a'", "k = 'a'", True),
        ("k = 'a' AND (n > 3 OR n <= 3 OR n IS NULL)", "k = 'a'", True),
        ("k = 'a' AND (n > 3 OR n <= 3)", "k = 'a'", False),
        ("b", "b = TRUE", True),
        ("NOT b", "b IS NULL OR b = FALSE", False),
        ("n BETWEEN 2 AND 4", "n > 1 AND n < 5", True),
        ("n BETWEEN 2 AND 4", "n IN (2, 3, 4)", True),
        ("x BETWEEN 2 AND 4", "x IN (2, 3, 4)", False),
        ("k > 'a'", "k >= 'a' AND k <> 'a'", True),
        ("n = 1 AND n = 2", "k = 'a' AND k = 'b'", True),
        ("n = 9007199254740993.0", "n = 9007199254740992", False),  # several INTs equal that FLOAT
        ("n > x", "x < n", False),  # the texts differ, and not every value is tried
    ],
)
def test_conditions(left: str, right: str, same: bool) -> None:
    found = groups(f"MATCH a ; b DEFINE a AS {left}", f"MATCH c ; d DEFINE c AS {right}")
    assert found == ([["q0", "q1"]] if same else [])


def test_other_clauses_count() -> None:
    pair = "MATCH a ; b DEFINE a AS n > 1, b AS n > a.n"
    renamed = "MATCH c ; d DEFINE c AS n > 1, d AS n > c.n"
    assert groups(pair, renamed, f"{pair} WITHIN 3", f"{renamed} WITHIN 3", f"{pair} AFTER MATCH CONSUME") == [
        ["q0", "q1"],
        ["q2", "q3"],
    ]
    assert groups("MATCH a , b", "PER k MATCH a , b", "MATCH a , b WITHIN 3", "PER k MATCH b , a") == [["q1", "q3"]]


def partition(names: Sequence[Hashable]) -> list[int]:
    first: dict[Hashable, int] = {}
    return [first.setdefault(name, number) for number, name in enumerate(names)]


def patterns_agree(samples: Sequence[Sample], length: int) -> None:
    """Statements with equal keys notify at the same events. Where others do, longer streams tell them apart."""
    given = Streams(streams(length))
    checked = [sample.checked() for sample in samples]
    keys = partition([statement_key(statement, program, Deadline(60)) for statement, program in checked])
    found = partition([quick_ends(sample, given) for sample in samples])
    pairs = {(key, places): number for number, (key, places) in enumerate(zip(keys, found, strict=True))}
    assert len({key for key, _ in pairs}) == len(pairs), "statements with equal keys differ"
    for (_, places), number in pairs.items():
        if number != places and keys[number] != keys[places]:
            (left, program), (right, other_program) = checked[number], checked[places]
            answer = equivalent(left, right, program, other_program, Deadline(60))
            assert answer.witness is not None
            assert len(answer.witness.events) > length


def test_small_patterns() -> None:
    patterns_agree([*small_samples(0), *small_samples(1), *Random(3).sample(list(small_samples(2)), 60)], 4)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_small_patterns() -> None:
    patterns_agree([*small_samples(0), *small_samples(1), *small_samples(2)], 5)


def test_small_correlators() -> None:
    wholes = [*[*small_expressions()][::120], *map(random_expression, range(8))]
    statements, program = correlator(*wholes)
    keys = partition([statement_key(statement, program, Deadline(60)) for statement in statements])
    for number, left in enumerate(wholes):
        for other, right in enumerate(wholes):
            same = shortest_difference(left, right, same=True) is None
            assert (keys[number] == keys[other]) is same, f"{left}\n{right}"


def test_many_statements_take_little_time() -> None:
    """Two statements of each kind, among many with values of their own."""
    clauses = [
        f"MATCH a ; b DEFINE a AS k = 'u{n % 500}' AND n {'>= 1' if n < 500 else '> 0'}, b AS x < {n % 500}.5"
        for n in range(1_000)
    ]
    assert sorted(groups(*clauses)) == sorted([f"q{n}", f"q{n + 500}"] for n in range(500))

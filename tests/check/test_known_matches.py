"""Matches carried over to statements with other constants: guesses that the reference evaluator confirms."""

from __future__ import annotations

import time

import pytest

import foretell as ft
from foretell.check.conditions.constant_transfer import ConstantTransfer, shape_of
from foretell.check.deadline import Deadline
from foretell.check.subscriptions.known_matches import KnownMatches
from foretell.check.subscriptions.match_search import MatchSearch
from foretell.language.checked import CheckedProgram, CheckedSubscription
from tests.check.large_programs import large_program

STREAM = "STREAM s (k STRING, x INT, y FLOAT, t INT) TIME t;"


def programs(*texts: str) -> list[tuple[CheckedSubscription, CheckedProgram]]:
    found = []
    for text in texts:
        program = ft.parse(f"{STREAM} SUBSCRIBE m FROM s {text};").checked()
        (statement,) = program.statements
        assert isinstance(statement, CheckedSubscription)
        found.append((statement, program))
    return found


def guesses(first: str, second: str) -> int:
    """The number of guesses for the second statement from a match of the first."""
    (statement, program), (other, _) = programs(first, second)
    known = KnownMatches()
    assert MatchSearch(statement, program, known).match(Deadline(20)).steps
    return len(list(known.guesses(other)))


def test_statements_of_one_shape() -> None:
    assert guesses("MATCH a DEFINE a AS x > 1 AND k = 'u'", "MATCH a DEFINE a AS x > 9 AND k = 'v'")
    assert guesses("MATCH a ; b DEFINE b AS x > a.x WITHIN 5", "MATCH a ; b DEFINE b AS x > a.x WITHIN 500")
    assert not guesses("MATCH a DEFINE a AS x > 1", "MATCH a DEFINE a AS x < 1")
    assert not guesses("MATCH a DEFINE a AS x > 1", "MATCH a DEFINE a AS y > 1")
    assert not guesses("MATCH a{2}", "MATCH a{3}")


def test_values_keep_their_distance_from_constants() -> None:
    transfer = ConstantTransfer((100, 5.5, "u"), (700, 1.5, "w"))
    assert [transfer.scalar(v) for v in (101, 5.75, "u", "v", None, True, 0, 1)] == [
        701,
        1.75,
        "w",
        "v",
        None,
        True,
        0,
        1,
    ]
    assert transfer.scalar(550.5) == 1050.5  # near to the product
    assert transfer.scalar(101, 16) == 716
    assert shape_of(("a", 1)).constants == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("MATCH a DEFINE a AS x > 1 AND x < 5", "MATCH a DEFINE a AS x > 5 AND x < 5"),
        (
            "MATCH a , b DEFINE a AS x > 1, b AS x > a.x AND x < 9",
            "MATCH a , b DEFINE a AS x > 9, b AS x > a.x AND x < 9",
        ),
        ("MATCH a ; b @(t(b) - t(a) > 3) WITHIN 5", "MATCH a ; b @(t(b) - t(a) > 8) WITHIN 5"),
        ("MATCH a DEFINE a AS k > 'u' AND k < 'w'", "MATCH a DEFINE a AS k > 'w' AND k < 'w'"),
    ],
)
def test_a_guess_does_not_hide_a_contradiction(first: str, second: str) -> None:
    both = f"{STREAM} SUBSCRIBE m FROM s {first}; SUBSCRIBE n FROM s {second};"
    found = ft.check(both).findings
    assert [finding.statement for finding in found] == ["n"]


def test_a_large_program_has_the_findings_of_its_statements() -> None:
    report = ft.check(large_program(300))
    assert [finding.statement for finding in report.findings] == ["s99", "s199", "s299"]
    assert {finding.code for finding in report.findings} == {"contradicting-steps"}
    assert (report.unasked, report.undecided) == ((), ())


@pytest.mark.soak
def test_ten_thousand_statements_take_less_than_a_minute() -> None:
    since = time.process_time()
    report = ft.check(large_program(10_000), seconds=600)
    assert time.process_time() - since < 60
    assert len(report.findings) == 100
    assert (report.unasked, report.undecided) == ((), ())

"""Statements that are too large, too deep or too odd: an answer or "cannot tell" in time, and no other error."""

from __future__ import annotations

import time

import pytest

from foretell.check.deadline import Deadline
from foretell.check.subscriptions.findings import subscription_findings
from foretell.language.checked import CheckedSubscription
from foretell.language.parser import DEEPEST
from foretell.language.subscriptions import parse

STREAM = "STREAM s (v INT, u INT, w FLOAT, n STRING, f BOOL, time TIMESTAMP) TIME time;"


def _codes(statement: str, seconds: float = 10.0) -> dict[str, bool]:
    """The codes of the findings, and whether they are certain; within the time that is given, and a little more."""
    program = parse(f"{STREAM} SUBSCRIBE m FROM {statement};").checked()
    (checked,) = program.statements
    assert isinstance(checked, CheckedSubscription)
    start = time.monotonic()
    found = {finding.code: finding.certain for finding in subscription_findings(checked, program, Deadline(seconds))}
    assert time.monotonic() - start < seconds + 5
    return found


def _nested(depth: int, open_with: str, inner: str, close_with: str) -> str:
    return open_with * depth + inner + close_with * depth


@pytest.mark.parametrize(
    "condition",
    [
        _nested(DEEPEST - 20, "NOT (", "v > 1", ")"),
        _nested(DEEPEST - 20, "CASE WHEN f THEN ", "v > 1", " END"),
        _nested(DEEPEST - 20, "abs(", "w", ")") + " < 1",
        " OR ".join(f"v = {number}" for number in range(DEEPEST - 20)),
        " AND ".join(f"v <> {number}" for number in range(DEEPEST - 20)),
        f"v IN ({', '.join(map(str, range(10_000)))})",
        f"n NOT IN ({', '.join(repr(str(number)) for number in range(3_000))}) AND v + 1 > u",
        "regexp_like(n, '^(a+|b)+$') AND n LIKE '%b%b%b%b%'",
        "length(n) > 100000",
        "pow(v, u) = ln(w) AND v * u * w > 5 AND v / u < w",
        "substr(n, v, u) = substr(n, u, v) AND contains(n, substr(n, 2))",
        "year(time) = 2024 AND month(time) = 2 AND day(time) = 30",
    ],
)
def test_large_conditions(condition: str) -> None:
    found = _codes(f"s MATCH a , b DEFINE a AS {condition}, b AS v > a.v")
    assert all(code == "always-true" or not certain for code, certain in found.items())


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1000000} , b",
        "a{2,}<;> , (b{3,} | c)+",
        "a[1000000] ; b",
        " ; ".join(f"a{number}" for number in range(300)) + " ; b",
        " & ".join(f"a{number}" for number in range(9)) + " & b",
        " ; ".join(f"a{number}?" for number in range(25)) + " ; b",
        "(" + " | ".join(f"a{number}" for number in range(60)) + ") , b",
        _nested(20, "(", "a", "+ , c)").replace("c", "c{}").format(*range(20)) + "+ ; b",
    ],
)
def test_large_patterns(pattern: str) -> None:
    found = _codes(f"s MATCH {pattern} DEFINE b AS v > prev.v AND w > prev.w")
    assert not any(certain for code, certain in found.items() if code != "indistinguishable-steps")


def test_contradictions_in_large_repetitions_are_found() -> None:
    assert _codes("s MATCH a{1000000} DEFINE a AS v > prev.v AND v < prev.v") == {"contradiction": True}
    codes = _codes("s MATCH a{1000000} , b DEFINE a AS v = $k AND v > 5, b AS v = $k AND v < 5")
    assert codes == {"contradicting-steps": True}


def test_time_is_over_at_once() -> None:
    assert all(not certain for certain in _codes("s MATCH a , b DEFINE b AS v > a.v", 0.0).values())


KINDS = (
    "PER n MATCH a ; b DEFINE a AS n = 'denied' AND v > {0}, b AS n = 'denied' AND v < {0} WITHIN {1} min",
    "MATCH a ; b ; c @(t(c) - t(a) < {1} min) ; d DEFINE a, b, c AS n = $x AND v = {0}, d AS n = $x",
    "PER n MATCH a , b+ DEFINE a AS w > {0}, b AS w > prev.w WITHIN 1 hours HAVING count(b) > 2",
    "MATCH a ; !c ; b DEFINE a AS w > {0} AND w < 10000, b AS w > 1.05 * a.w, c AS n = 'x{0}' WITHIN 1 hours",
    "MATCH a & (b | c) DEFINE a AS n LIKE 'x{0}%', b AS w BETWEEN {0} AND 20000, c AS n IN ('1', '{0}')",
)


def _seconds(statements: int) -> float:
    """The time of the check of many ordinary statements, without that of the first, which loads the solver."""
    texts = (KINDS[number % len(KINDS)].format(number % 5000, number % 50 + 1) for number in range(statements))
    text = "\n".join(f"SUBSCRIBE m{number} FROM s {text};" for number, text in enumerate(texts))
    program = parse(f"{STREAM}\n{text}").checked()
    subscriptions = [statement for statement in program.statements if isinstance(statement, CheckedSubscription)]
    list(subscription_findings(subscriptions[2], program, Deadline(10)))
    start = time.process_time()
    for statement in subscriptions:
        assert list(subscription_findings(statement, program, Deadline(10))) == []
    return time.process_time() - start


def test_many_statements() -> None:
    """Ten thousand take less than a minute (docs/results.md has the figures)."""
    assert _seconds(500) < 6


@pytest.mark.soak
def test_ten_thousand_statements() -> None:
    assert _seconds(10_000) < 60

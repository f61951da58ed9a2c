"""Streams that nothing reads, equal statements, steps that nothing distinguishes."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.check.deadline import Deadline
from foretell.check.redundancy import (
    duplicate_statements,
    equivalent_statements,
    indistinct_steps,
    unused_streams,
)

STREAM = "STREAM s (k STRING, x INT, t INT) TIME t;\n"


def duplicates(*statements: str) -> list[str]:
    program = ft.parse(STREAM + "\n".join(statements)).checked()
    return [finding.message for finding in duplicate_statements(program)]


def indistinct(statement: str) -> list[str]:
    program = ft.parse(STREAM + statement).checked()
    return [finding.message for own in program.statements for finding in indistinct_steps(own)]


def test_streams_that_nothing_reads() -> None:
    text = STREAM + "STREAM r (x INT) TIME t; SUBSCRIBE m FROM s MATCH a;"
    (finding,) = unused_streams(ft.parse(text).program)
    assert (finding.code, finding.statement, finding.place.line) == ("unused-stream", "r", 2)
    correlated = STREAM + "CORRELATE m FROM s DO a DEFINE a AS x > 1;"
    assert list(unused_streams(ft.parse(correlated).program)) == []
    # A file of declarations is for others.
    assert list(unused_streams(ft.parse(STREAM).program)) == []


M = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5;"


@pytest.mark.parametrize(
    "other",
    [
        "SUBSCRIBE n FROM s MATCH a , b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5;",
        "subscribe n from s match p, q define q as x > p.x, p as k = 'u' and x > 1 within 5;",
        "SUBSCRIBE n FROM s MATCH a @(k = 'u') , b DEFINE a AS x > 1, b AS x > a.x WITHIN 5;",
    ],
)
def test_equal_statements(other: str) -> None:
    assert duplicates(M, other) == ["'n' is the same statement as 'm', line 2"]


@pytest.mark.parametrize(
    "other",
    [
        "SUBSCRIBE n FROM s MATCH a , b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 6;",
        "SUBSCRIBE n FROM s MATCH a ; b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5;",
        "SUBSCRIBE n FROM s MATCH b , a DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5;",
        "SUBSCRIBE n FROM s PER k MATCH a , b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5;",
        "SUBSCRIBE n FROM s MATCH a , b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5 RETURN a.x AS y;",
        "SUBSCRIBE n FROM s MATCH a , b DEFINE a AS x > 1 AND k = 'u', b AS x > a.x WITHIN 5 AFTER MATCH CONSUME;",
        "SUBSCRIBE n FROM s MATCH a , b DEFINE a AS x > TRUE AND k = 'u', b AS x > a.x WITHIN 5;".replace(
            "TRUE", "1.0"
        ),
    ],
)
def test_statements_that_differ(other: str) -> None:
    assert duplicates(M, other) == []


def test_equal_correlators_and_sides() -> None:
    one = "CORRELATE m FROM s DO push('x'){select{a, b}} DEFINE a AS x > 1, b AS x > 2;"
    two = "CORRELATE n FROM s DO push('x'){select{b, a}} DEFINE b AS x > 1, a AS x > 2;"
    assert duplicates(one, two) == ["'n' is the same statement as 'm', line 2"]
    left = "SUBSCRIBE m FROM s MATCH (a , b) & c DEFINE c AS x > 1 WITHIN 5;"
    right = "SUBSCRIBE n FROM s MATCH c & (a , b) DEFINE c AS x > 1 WITHIN 5;"
    # Their sides are in another order, and so are the numbers of their steps: nobody looks for that.
    assert duplicates(left, right) == []


def test_duplicates_of_duplicates_name_the_first() -> None:
    texts = [M, M.replace("SUBSCRIBE m", "SUBSCRIBE n"), M.replace("SUBSCRIBE m", "SUBSCRIBE o")]
    assert [text.partition("as ")[2] for text in duplicates(*texts)] == ["'m', line 2"] * 2


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("MATCH a , b DEFINE a AS x > 1, b AS x > 2", "MATCH a , b DEFINE a AS x >= 2, b AS NOT x <= 2", True),
        ("MATCH a DEFINE a AS x > 1 OR x > 3", "MATCH a DEFINE a AS x > 1", True),
        ("MATCH a DEFINE a AS x > 1", "MATCH a DEFINE a AS x > 2", False),
        ("MATCH a DEFINE a AS x > 1 RETURN a.x AS y", "MATCH a DEFINE a AS x >= 2", False),
        ("MATCH a DEFINE a AS x > 1", "MATCH b DEFINE b AS x >= 2", False),  # their notifications name other steps
    ],
)
def test_equivalent_statements(left: str, right: str, same: bool) -> None:
    program = ft.parse(f"{STREAM}SUBSCRIBE m FROM s {left}; SUBSCRIBE n FROM s {right};").checked()
    found = [finding.message for finding in equivalent_statements(program, Deadline(20))]
    assert found == (["'n' notifies at the same events as 'm', line 2"] if same else [])


def test_equal_statements_are_not_reported_twice() -> None:
    text = f"{STREAM}SUBSCRIBE m FROM s MATCH a DEFINE a AS x > 1; SUBSCRIBE n FROM s MATCH a DEFINE a AS x > 1;"
    assert [finding.code for finding in ft.check(text).findings] == ["duplicate-statement"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("MATCH a & b", "nothing distinguishes 'b' from 'a': each match is reported again with the two exchanged"),
        (
            "MATCH a & b ; c DEFINE a, b AS x > 1, c AS x > a.x + b.x",
            "",  # a.x + b.x is not b.x + a.x to this check
        ),
        (
            "MATCH (a & b) ; c DEFINE a AS x > 1, b AS x > 1, c AS x > a.x AND x > b.x",
            "nothing distinguishes 'b' from 'a': each match is reported again with the two exchanged",
        ),
        (
            "MATCH (a , b) & (c , d) DEFINE a, c AS x > 1, b AS x > a.x, d AS x > c.x",
            "nothing distinguishes 'c' and 'd' from 'a' and 'b': each match is reported again with the two exchanged",
        ),
        ("MATCH c ; (a | b) DEFINE a, b AS x > 1", "nothing distinguishes 'b' from 'a': one of the branches is enough"),
        ("MATCH a & b AFTER MATCH CONSUME", ""),
        ("MATCH a & b DEFINE b AS x > 1", ""),
        ("MATCH a & b DEFINE b AS x > a.x", ""),
        ("MATCH (a & b) ; c DEFINE c AS x > a.x", ""),
        ("MATCH a & b RETURN a.x AS p, b.x AS q", ""),
        ("MATCH a & b+", ""),
        ("MATCH a , b ; c", ""),
    ],
)
def test_indistinct_steps(statement: str, message: str) -> None:
    assert indistinct(f"SUBSCRIBE m FROM s {statement};") == ([message] if message else [])


@pytest.mark.parametrize("pattern", ["a & b", "a & b & c", "(a , b) & (c , d)", "x ; (a & b)"])
def test_indistinct_sides_are_reported_twice(pattern: str) -> None:
    assert indistinct(f"SUBSCRIBE m FROM s MATCH {pattern};")
    rows = [{"t": n, "k": "a", "x": 1} for n in range(6)]
    found = ft.run(f"SUBSCRIBE m FROM s MATCH {pattern};", {"s": rows}, time={"s": "t"}, engine="reference")
    bound = [frozenset(n.events.values()) for n in found]
    assert all(bound.count(events) > 1 for events in bound)


def test_equal_parts_of_a_correlator() -> None:
    parts = "accumulate{a, sequential{b, c}, sequential{a, c}}"
    equal = f"CORRELATE m FROM s DO push('x'){{{parts}}} DEFINE a, b AS x > 1, c AS x > 2;"
    assert indistinct(equal) == ["this part is the same as an earlier one, at 2:58: both end at the same event"]
    assert indistinct(equal.replace("a, b AS x > 1", "a AS x > 1, b AS x > 3")) == []
    one_after_the_other = "CORRELATE m FROM s DO push('x'){sequential{a, b}} DEFINE a, b AS x > 1;"
    assert indistinct(one_after_the_other) == []

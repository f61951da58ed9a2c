"""The growth of matches against counts, and the findings and notes on costs."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import pytest

import foretell as ft
from foretell.check.costs.growth import growth_of
from foretell.check.costs.notes import cost_notes
from foretell.check.costs.statement_costs import cost_findings
from foretell.check.finding import Finding
from foretell.language.checked import CheckedProgram, CheckedSubscription

STREAM = "STREAM s (k STRING, x INT, t INT) TIME t ID n;"


def checked(text: str) -> CheckedProgram:
    return ft.parse(STREAM + text).checked()


def findings(text: str) -> list[Finding]:
    return [finding for statement in checked(text).statements for finding in cost_findings(statement)]


def notes(text: str) -> list[Finding]:
    program = checked(text)
    return [note for statement in program.statements for note in cost_notes(statement, program, {})]


def matches(pattern: str, events: int) -> int:
    """The number of matches where every event satisfies every step."""
    rows = [{"t": n, "n": n, "k": "a", "x": 1} for n in range(events)]
    return len(ft.run(f"SUBSCRIBE m FROM s MATCH {pattern};", {"s": rows}, time={"s": "t"}, engine="reference"))


def growth(pattern: str) -> int | None:
    (statement,) = checked(f"SUBSCRIBE m FROM s MATCH {pattern};").statements
    assert isinstance(statement, CheckedSubscription)
    found = growth_of(statement.pattern)
    return None if found.cause is not None else found.degree


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "a , b",
        "a ; b",
        "a ; b ; c",
        "a , b ; c",
        "a ; b , c",
        "a ;{x = 1} b ; c",
        "a+ , b",
        "a{2,3} , b",
        "a{2} ; b",
        "a ; b{2}",
        "a & b",
        "a , (b & c)",
        "a | (b ; c)",
        "a ; (b | c , d)",
        "(a , b)+",
        "a ; (b , c)+<,>",
        "a+ ;{x = 1} b",
        "a? ; b",
        "FIRST a ; b",
        "a ; LAST b ; c",
        "a[2] ; b",
    ],
)
def test_degrees_are_those_of_counts(pattern: str) -> None:
    """Doubling the events multiplies the matches by two to the power."""
    few, many = matches(pattern, 10), matches(pattern, 20)
    degree = growth(pattern)
    assert degree is not None
    assert degree - 0.5 < log2(many / few) < degree + 0.75


@pytest.mark.parametrize(
    "pattern", ["a+ ; b", "a ; b+", "(a ; b)+<,> , c", "a ; b{2,}", "a ; (b , c)+ ; d", "(a & b)+"]
)
def test_exponential_growth(pattern: str) -> None:
    assert growth(pattern) is None
    counts = [matches(pattern, events) for events in (4, 6, 8, 10)]
    ratios = [later / earlier for earlier, later in pairwise(counts)]
    assert min(ratios) > 1.9  # each two events, again and again


def test_explosive_matches() -> None:
    (found,) = findings("SUBSCRIBE m FROM s MATCH a ; b+ DEFINE b AS x > 1;")
    assert (found.code, found.statement, found.place.column) == ("explosive-matches", "m", 76)
    assert found.message == (
        "'b' repeats under `;`, so every selection of its events is a match: of 20 events a million"
    )
    assert [f.code for f in findings("SUBSCRIBE m FROM s MATCH a ; b ; c;")] == ["explosive-matches"]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH a ; b+ WITHIN 60",  # a note
        "MATCH a ; b+<,>",
        "MATCH a ; b+ DEFINE b AS x = prev.x + 1",
        "MATCH a ; b",
        "PER k MATCH a ; b ; c",
        "MATCH a ; b ; c DEFINE b AS x > 1",
        "MATCH a ; b ; c DEFINE c AS x > a.x AND x > b.x",
        "MATCH a , b , c",
        "MATCH a{3,} , b",
    ],
)
def test_sensible_statements_are_no_findings(text: str) -> None:
    assert findings(f"SUBSCRIBE m FROM s {text};") == []


def test_a_pattern_that_the_engine_refuses() -> None:
    steps = " & ".join(f"(a{n} ; b{n}+<,> ; c{n})" for n in range(9))
    (found,) = findings(f"SUBSCRIBE m FROM s MATCH {steps} WITHIN 60;")
    assert found.code == "large-automaton"
    assert "needs more than 3,054 edges" in found.message
    with pytest.raises(ft.LanguageError) as error:
        ft.run(STREAM + f"SUBSCRIBE m FROM s MATCH {steps} WITHIN 60;", {"s": [{"t": 1, "n": 1, "k": "a", "x": 1}]})
    assert error.value.message == found.message


def test_partial_matches_that_wait_for_ever() -> None:
    noted = {note.code: note for note in notes("SUBSCRIBE m FROM s MATCH a , b ; c DEFINE b AS x > 1, c AS x = b.x;")}
    assert noted["unbounded-state"].message == (
        "partial matches with 'b' wait for 'c' for ever: memory grows with each of them"
    )
    assert noted["unbounded-state"].hint == "add WITHIN"
    timed = notes("SUBSCRIBE m FROM s MATCH a ; b @(t(b) - t(a) < 5) DEFINE b AS x = a.x;")
    assert [note.hint for note in timed if note.code == "unbounded-state"] == [
        "add WITHIN: the time condition between 'a' and 'b' ends matches, but frees no memory"
    ]
    for bounded in ("MATCH a ; b WITHIN 60", "MATCH a , b", "MATCH a ;{x = 1} b", "MATCH a+ , b"):
        assert "unbounded-state" not in {note.code for note in notes(f"SUBSCRIBE m FROM s {bounded};")}


def test_matches_that_multiply() -> None:
    (note,) = [n for n in notes("SUBSCRIBE m FROM s MATCH a ; b ; c WITHIN 60;") if n.code == "many-matches"]
    assert note.message == "matches multiply with the cube of the events of a window that satisfy the steps"
    (note,) = [n for n in notes("SUBSCRIBE m FROM s MATCH a ; b+ WITHIN 60;") if n.code == "many-matches"]
    assert "every selection of its events within the window" in note.message


def test_lanes_that_stay() -> None:
    text = "STREAM r (k STRING) TIME t; SUBSCRIBE m FROM r PER k MATCH a , b;"
    (note,) = [n for n in notes(text) if n.code == "kept-lanes"]
    assert note.hint == "declare it: STREAM r (...) TIME t ID attribute"
    assert notes("SUBSCRIBE m FROM s PER k MATCH a , b;") == []


def test_rows_and_matches_without_an_index() -> None:
    rows = "SUBSCRIBE m FOR EACH t FROM s MATCH a , b DEFINE a AS x > :low, b AS x > :high"
    assert "unindexed-rows" in {note.code for note in notes(f"{rows} AFTER MATCH CONSUME;")}
    assert "unindexed-rows" not in {note.code for note in notes(f"{rows};")}
    assert notes("SUBSCRIBE m FOR EACH t FROM s MATCH a , b DEFINE a AS x > :low;") == []
    unkeyed = "SUBSCRIBE m FROM s MATCH a ;{x > a.x} b WITHIN 60;"
    keyed = "SUBSCRIBE m FROM s MATCH a ;{x = a.x} b WITHIN 60;"
    assert [note.code for note in notes(unkeyed)] == ["unindexed-matches"]
    assert [note.code for note in notes(keyed)] == ["slow-kernel"]  # PER x would be better still


def test_a_correlator_that_runs_concurrently() -> None:
    small = "CORRELATE m FROM s DO repeat{push('x'){a}} DEFINE a AS x > 1;"
    assert notes(small) == []
    large = "CORRELATE m FROM s DO push('x'){repeat(100000){a}} DEFINE a AS x > 1;"
    assert [note.code for note in notes(large)] == ["many-states"]

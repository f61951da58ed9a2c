"""The findings about correlators: codes, places, witnesses, and limits that end in an answer."""

from __future__ import annotations

import re
import time

import pytest

import foretell as ft
from foretell.check.automata.findings import correlator_findings
from foretell.check.comparison import Relation
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.language.check import check
from foretell.language.checked import CheckedCorrelator
from foretell.language.parser import parse

STREAM = "STREAM s (k STRING, n INT, t INT) TIME t;"
CONDITIONS = {
    "a": "k = 'a'",
    "b": "k = 'b'",
    "c": "k = 'c'",
    "all": "k IS NULL OR k IS NOT NULL",
    "never": "n > 5 AND n < 6",
    "odd": "n % 2 = 1 AND n % 2 = 0",
    "low": "n < 5",
    "mid": "n > 3 AND n < 9",
    "high": "n > 7",
}


def findings(expression: str, seconds: float = 20.0) -> list[Finding]:
    bare = re.sub("'.*?'", "", expression)
    used = [step for step in CONDITIONS if re.search(rf"\b{step}\b", bare)]
    define = ", ".join(f"{step} AS {CONDITIONS[step]}" for step in used)
    program = check(parse(f"{STREAM}\nCORRELATE m FROM s DO\n{expression}\nDEFINE {define};"))
    (statement,) = program.statements
    assert isinstance(statement, CheckedCorrelator)
    return list(correlator_findings(statement, program, Deadline(seconds)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("repeat{do{push('x'){accumulate{a, b}}} unless{c}}", []),
        ("repeat{push('x'){all}}", ["trivial 2:11"]),
        ("push('x'){a}", ["not-live 2:11"]),
        ("do{repeat{push('x'){a}}} unless{b}", ["not-live 2:11"]),
        ("repeat{sequential{a, b}}", ["vacuous 2:11"]),
        ("repeat{push('x'){never}}", ["step-never-holds 4:8", "vacuous 2:11"]),
        ("repeat{push('x'){odd}}", ["step-never-holds 4:8", "vacuous 2:11"]),
        ("repeat{push('x'){accumulate{repeat{a}, b}}}", ["vacuous 2:11", "part-never-completes 3:29"]),
        ("repeat{select{push('x'){a}, push('y'){fail{b}}}}", ["token-never-comes 3:34"]),
        (
            "parallel{repeat{push('x'){a}}, sequential{repeat{a}, push('y'){b}}}",
            ["part-never-completes 3:43", "token-never-comes 3:59"],
        ),
        ("repeat{do{repeat{push('x'){a}}} unless{parallel{b}}}", ["part-never-completes 3:49"]),
        ("repeat{do{repeat{push('x'){a}}} unless{b}}", []),
        ("in(low) do{repeat{push('x'){a}}} in(high) do{repeat{push('y'){b}}}", []),
        ("in(low) do{repeat{push('x'){a}}} in(mid) do{repeat{push('y'){b}}}", ["guards-overlap 3:37"]),
        (
            "in(low) do{repeat{push('x'){a}}} in(never) do{repeat{push('y'){b}}}",
            ["step-never-holds 4:36", "part-never-starts 3:47", "token-never-comes 3:59"],
        ),
    ],
)
def test_findings(expression: str, expected: list[str]) -> None:
    found = findings(expression)
    codes = [f"{f.code} {f.place.line}:{f.place.column}" for f in found]
    assert codes == expected
    assert all(f.certain for f in found)


def test_messages() -> None:
    (over,) = findings("do{repeat{push('x'){a}}} unless{b}")
    assert over.message == "after 1 event 'm' can emit no token any more: it has completed"
    assert over.hint == "put repeat{...} around the expression to start it again"
    assert over.witness is not None
    assert [event.attributes["k"] for event in over.witness.events] == ["b"]
    (overlap,) = findings("in(low) do{repeat{push('x'){a}}} in(mid) do{repeat{push('y'){b}}}")
    assert overlap.message == (
        "an event can satisfy the guards 'low' and 'mid': each such event leaves the active mode for the other one"
    )
    assert overlap.witness is not None
    assert overlap.witness.events[0].attributes["n"] == 4
    found = findings("in(low) do{push('x'){a}} in(mid) do{push('y'){b}} in(high) do{push('z'){b}}")
    entered = "the mode of '{}', which is written first, is entered unless it is active"
    assert [f.message for f in found] == [
        f"an event can satisfy the guards 'low' and 'mid': {entered.format('low')}",
        f"an event can satisfy the guards 'mid' and 'high': {entered.format('mid')}",
    ]


@pytest.mark.parametrize(
    ("expression", "codes"),
    [
        ("repeat{push('x'){repeat(1000000){a}}}", []),
        ("repeat(1000000){push('x'){a}}", []),
        ("repeat{push('x'){repeat(1000000){sequential{repeat{a}, b}}}}", ["vacuous", "part-never-completes"]),
        ("parallel{" + ", ".join(f"repeat{{push('t{n}'){{repeat({50 + n}){{a}}}}}}" for n in range(9)) + "}",
         ["not-decided"]),
        ("repeat{push('x'){" + "fail{" * 130 + "a" + "}" * 130 + "}}", []),
        ("parallel{" + ", ".join(["repeat{push('x'){sequential{a, b, c}}}"] * 60) + "}", []),
    ],
)  # fmt: skip
def test_large_expressions_take_little_time(expression: str, codes: list[str]) -> None:
    began = time.process_time()
    found = findings(expression)
    assert time.process_time() - began < 10
    assert [f.code for f in found] == codes
    assert all(f.message.startswith("cannot tell") for f in found if not f.certain)


def test_an_expression_nested_1000_deep_is_refused() -> None:
    with pytest.raises(ft.ForetellError, match="nested more than 150 levels deep"):
        findings("repeat{push('x'){" + "fail{" * 1_000 + "a" + "}" * 1_000 + "}}")


def test_a_check_ends_with_its_deadline() -> None:
    began = time.monotonic()
    found = findings("repeat{push('x'){repeat(200){accumulate{repeat(150){a}, repeat(130){b}, repeat(170){c}}}}}", 0.2)
    assert time.monotonic() - began < 10
    assert [f.code for f in found] in ([], ["not-decided"])


@pytest.mark.parametrize(
    ("second", "codes"),
    [
        ("k = :second", []),
        ("k = :second AND k IS NULL", ["vacuous", "part-never-completes", "step-never-holds"]),
    ],
)
def test_for_each_correlators_are_checked_for_any_values_of_their_rows(second: str, codes: list[str]) -> None:
    report = ft.check(f"""
        CORRELATE m FOR EACH pairs FROM s DO repeat{{push('both'){{accumulate{{a, b}}}}}}
        DEFINE a AS k = :first, b AS {second};
    """)
    assert [finding.code for finding in report.findings] == codes


@pytest.mark.parametrize(
    ("table", "expression", "relation"),
    [
        ("pairs", "accumulate{a, b}", Relation.EQUIVALENT),
        ("pairs", "sequential{a, b}", Relation.UNKNOWN),
        ("others", "accumulate{a, b}", Relation.UNKNOWN),
    ],
)
def test_for_each_correlators_are_compared_by_their_texts(table: str, expression: str, relation: Relation) -> None:
    text = "CORRELATE m FOR EACH {} FROM s DO repeat{{push('x'){{{}}}}} DEFINE a AS k = :first, b AS k = :second;"
    report = ft.check(text.format(table, expression), against=text.format("pairs", "accumulate{a, b}"))
    assert [comparison.relation for comparison in report.comparisons] == [relation]


def test_correlators_that_forecast_in_different_ways_are_not_equivalent() -> None:
    text = "CORRELATE m FROM s DO repeat{push('x'){a}} DEFINE a AS k = 1 FORECAST OF 'x' WITHIN 9 EVENTS ABOVE 0.7;"
    (comparison,) = ft.check(text, against=text.replace("0.7", "0.8")).comparisons
    assert (comparison.relation, comparison.reason) == (Relation.UNKNOWN, "the statements forecast in different ways")

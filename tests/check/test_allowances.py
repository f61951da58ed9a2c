"""Allowances: where `-- check: allow CODE` stands, and what it silences."""

from __future__ import annotations

import pytest

from foretell.check.codes import CODES
from foretell.check.finding import Finding
from foretell.check.suppressions import allowances_of
from foretell.errors import Place
from foretell.language.parser import parse


def found(line: int, statement: str = "m", code: str = "vacuous", end_line: int = 0) -> Finding:
    return Finding(code, statement, "a message", Place(line, 1, 2, end_line))


def remaining(text: str, *findings: Finding) -> list[int]:
    """The lines of the findings that a text does not silence."""
    allowances = allowances_of(text, parse(text).statements)
    assert allowances.mistakes == ()
    return [finding.place.line for finding in allowances.silence(findings).remaining]


TEXT = """\
STREAM s (x INT) TIME t;
SUBSCRIBE m FROM s
MATCH a , b
DEFINE a AS x > 1,
       b AS x > 2;
SUBSCRIBE n FROM s MATCH a;
"""

ALL = [found(line, "n" if line == 6 else "m") for line in range(2, 7)]


def with_line(number: int, line: str) -> str:
    """The text with one more line before a line."""
    lines = TEXT.splitlines()
    return "\n".join([*lines[: number - 1], line, *lines[number - 1 :]])


def with_end(number: int, end: str) -> str:
    """The text with a line that goes on."""
    lines = TEXT.splitlines()
    return "\n".join([*lines[: number - 1], f"{lines[number - 1]} {end}", *lines[number:]])


def test_nothing_is_silenced_without_an_allowance() -> None:
    assert remaining(TEXT, *ALL) == [2, 3, 4, 5, 6]


def test_at_the_end_of_a_line_it_is_about_the_line() -> None:
    assert remaining(with_end(4, "-- check: allow vacuous"), *ALL) == [2, 3, 5, 6]
    # Also of the first line of a statement, and of its last.
    assert remaining(with_end(2, "-- check: allow vacuous"), *ALL) == [3, 4, 5, 6]
    assert remaining(with_end(6, "-- check: allow vacuous"), *ALL) == [2, 3, 4, 5]


def test_before_a_statement_it_is_about_the_statement() -> None:
    text = with_line(2, "-- check: allow vacuous")
    moved = [found(line, "n" if line == 7 else "m") for line in range(3, 8)]
    assert remaining(text, *moved) == [7]
    # Also findings without a place.
    assert remaining(text, Finding("vacuous", "m", "a message"), Finding("vacuous", "n", "a message")) == [0]


def test_before_another_line_it_is_about_that_line() -> None:
    text = with_line(4, "  -- check: allow vacuous")
    moved = [found(line) for line in (2, 3, 5, 6)]
    assert remaining(text, *moved) == [2, 3, 6]


def test_other_comments_and_empty_lines_may_stand_between() -> None:
    text = with_line(2, "-- check: allow vacuous\n\n-- a word about m\n-- check: allow trivial")
    both = [found(7), found(8, code="trivial"), found(10, "n")]
    assert remaining(text, *both) == [10]


def test_the_keyword_of_a_statement_may_stand_on_another_line_than_its_name() -> None:
    text = "-- check: allow vacuous\nSUBSCRIBE\n -- m\n m FROM s MATCH a;"
    assert remaining(text, found(4)) == []


def test_two_statements_of_one_line_are_both_meant() -> None:
    text = "-- check: allow vacuous\nSUBSCRIBE m FROM s MATCH a; SUBSCRIBE n FROM s MATCH a;"
    assert remaining(text, found(2), found(2, "n")) == []


def test_a_finding_of_several_lines_is_met_on_each() -> None:
    assert remaining(with_end(5, "-- check: allow vacuous"), found(3, end_line=5), found(3, end_line=4)) == [3]


def test_other_codes_are_not_silenced() -> None:
    assert remaining(with_end(4, "-- check: allow trivial"), *ALL) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "comment",
    [
        "-- check: allow vacuous, trivial",
        "-- check: allow vacuous trivial",
        "--check:allow vacuous,trivial",
        "-- Check: ALLOW vacuous , trivial",
        "-- check: allow vacuous, trivial -- the sensor is not there yet, trivially",
    ],
)
def test_several_codes_and_a_reason(comment: str) -> None:
    assert remaining(with_end(4, comment), found(4), found(4, code="trivial")) == []


@pytest.mark.parametrize(
    "text",
    [
        "SUBSCRIBE m FROM s MATCH a DEFINE a AS k = '-- check: allow vacuous';",
        'SUBSCRIBE m FROM s MATCH a DEFINE a AS "-- check: allow vacuous" = 1;',
        "SUBSCRIBE m FROM s MATCH a DEFINE a AS k = 'it''s -- check: allow vacuous';",
        "SUBSCRIBE m FROM s MATCH a; -- see check: allow vacuous",
        "SUBSCRIBE m FROM s MATCH a; -- check: allows vacuous",
    ],
)
def test_strings_names_and_other_comments_are_no_allowances(text: str) -> None:
    assert remaining(text, found(1)) == [1]


def test_a_string_before_an_allowance_on_the_same_line() -> None:
    text = "SUBSCRIBE m FROM s MATCH a DEFINE a AS k = 'x -- y'; -- check: allow vacuous"
    assert remaining(text, found(1)) == []


def test_a_line_with_nothing_but_a_string_is_no_comment() -> None:
    text = "SUBSCRIBE m FROM s MATCH a DEFINE a AS k =\n'x' -- check: allow vacuous\n;"
    assert remaining(text, found(2), found(3)) == [3]


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    text = "\ufeff-- check: allow vacuous\r\nSUBSCRIBE m FROM s\r\nMATCH a; -- check: allow trivial\r\n"
    assert remaining(text, found(2), found(3, code="trivial")) == []


def test_mistakes() -> None:
    text = """\
-- check: allow vacuos
SUBSCRIBE m FROM s MATCH a; -- check: allow unused-allowance, trivial
-- check: allow
"""
    allowances = allowances_of(text, parse(text).statements)
    shown = [(f.code, f.place.line, f.place.column, f.place.end_column, f.message) for f in allowances.mistakes]
    assert shown == [
        ("unknown-code", 1, 17, 23, "there is no code 'vacuos' to allow"),
        ("unknown-code", 2, 45, 61, "'unused-allowance' cannot be allowed"),
        ("unknown-code", 3, 1, 16, "this allows nothing: it names no code"),
    ]
    assert allowances.mistakes[0].hint == "did you mean 'vacuous'?"
    assert [allowed.code for allowed in allowances.codes] == ["trivial"]


def test_an_allowance_that_silences_nothing() -> None:
    text = with_end(4, "-- check: allow vacuous, trivial")
    allowances = allowances_of(text, parse(text).statements)
    silenced = allowances.silence([found(4)])
    (unused,) = allowances.unused(silenced.used, lambda allowed: True)
    assert (unused.code, unused.place) == ("unused-allowance", Place(4, 45, 52))
    assert unused.message == "this allows 'trivial', which is not found here"
    assert list(allowances.unused(silenced.used, lambda allowed: False)) == []


def test_an_allowance_at_the_end_of_the_text_is_about_nothing() -> None:
    text = TEXT + "-- check: allow vacuous"
    allowances = allowances_of(text, parse(text).statements)
    assert allowances.silence(ALL).remaining == tuple(ALL)
    assert len(list(allowances.unused(frozenset(), lambda allowed: True))) == 1


def test_codes_are_words() -> None:
    for name, code in CODES.items():
        assert name == code.name
        assert name.replace("-", "").islower()

"""What is printed parses to the same tree, whatever the tree."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.parser import parse
from foretell.language.printer import expression_text, pattern_text, program_text
from tests.language import strategies

thorough = settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def _matching(pattern: tree.Pattern) -> tree.Program:
    return tree.Program((tree.Subscription("m", ("s",), pattern),))


def _defining(condition: tree.Expression, *, step: str = "a") -> tree.Program:
    definitions = (tree.Definition((step,), condition),)
    return tree.Program((tree.Subscription("m", ("s",), tree.Step(step), definitions=definitions),))


def _correlating(correlation: tree.Correlation) -> tree.Program:
    return tree.Program((tree.Correlator("m", ("s",), correlation),))


def _survives(program: tree.Program) -> bool:
    """It parses to the same tree, and that is printed the same again."""
    text = program_text(program)
    again = parse(text)
    return again == program and program_text(again) == text


def test_every_tree_survives() -> None:
    drawn: list[tuple[SearchStrategy[Any], Callable[[Any], tree.Program]]] = [
        (strategies.programs, lambda program: program),
        (strategies.expressions, _defining),
        (strategies.patterns, _matching),
        (strategies.correlations, _correlating),
    ]
    seen: set[type[tree.Node]] = set()
    for strategy, in_program in drawn:

        @thorough
        @given(strategy.map(in_program))
        def survives(program: tree.Program) -> None:
            assert _survives(program)
            seen.update(type(node) for node in program.walk())

        survives()
    kinds = {kind for _, kind in inspect.getmembers(tree, inspect.isclass) if issubclass(kind, tree.Node)}
    assert seen == {kind for kind in kinds if not kind.__subclasses__()}


def test_the_keywords_are_those_of_the_grammar() -> None:
    grammar = files("foretell.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    assert {word.lower() for word in re.findall('"([A-Z]+)"i', grammar)} <= set(strategies.KEYWORDS)


@pytest.mark.parametrize("name", [*strategies.KEYWORDS, *map(str.upper, strategies.KEYWORDS), "ſ", "İN", "ıs", "nuLL"])
def test_keywords_can_be_names(name: str) -> None:
    event = tree.Attribute(tree.This(), name)
    definitions = (tree.Definition((name, name), tree.Binary("AND", event, tree.TimeOf(tree.BoundEvent(name)))),)
    pattern = tree.sequence((tree.SequencePart(tree.Step(name)), tree.SequencePart(tree.Step(name), tree.Later())))
    losing = tree.Losing((tree.LosingItem(0.1, (name, name)),), 0.5)
    subscription = tree.Subscription(
        name,
        (name, name),
        pattern,
        name,
        (name, name),
        definitions,
        after=tree.AfterMatch(tree.Policy.SKIP_TO_LAST, name),
        returns=(tree.Returned(tree.Attribute(tree.BoundEvent(name), name), name),),
        losing=losing,
    )
    correlation = tree.Modes((tree.Mode(name, tree.On(name)),))
    stream = tree.Stream(name, (tree.Declared(name, Type.INT),), name, name, name)
    correlator = tree.Correlator(name, (name,), tree.Accumulate((tree.On(name), correlation)), (name,), definitions)
    assert _survives(tree.Program((stream, subscription, correlator, stream)))


@pytest.mark.parametrize(
    "name",
    ["odd name", 'with "quotes"', '"', "größe", "名前", "1st", "a-b", "a.b", "two\nlines", "--", ";", "'", "$x", " "],
)
def test_odd_names_survive(name: str) -> None:
    assert _survives(_defining(tree.Attribute(tree.BoundEvent(name), name), step=name))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-1, "-1"),
        (2**63 - 1, "9223372036854775807"),
        (-(2**63) + 1, "-9223372036854775807"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e22, "1e+22"),
        (1e-300, "1e-300"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (True, "TRUE"),
        (None, "NULL"),
        ("", "''"),
        ("it's", "'it''s'"),
        ("''", "''''''"),
        ("two\nlines -- no comment", "'two\nlines -- no comment'"),
        ('"', "'\"'"),
    ],
)
def test_literals(value: bool | int | float | str | None, text: str) -> None:
    literal = tree.Literal(value)
    assert expression_text(literal) == text
    assert _survives(_defining(literal))


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a - b - c",
        "(a + b) * c",
        "a / (b * c) % d",
        "a - -1",
        "-(-a)",
        "-(a + b)",
        "-1 * -a",
        "a + b = c * d",
        "price + 1 > price * 2",
        "NOT NOT a",
        "NOT (a AND b) OR c",
        "NOT a AND b",
        "a AND (b AND c)",
        "(a OR b) AND c",
        "NOT a = b",
        "(NOT a) = b",
        "(a = b) = c",
        "a BETWEEN b + 1 AND (c AND d) AND e",
        "(a BETWEEN b AND c) IS NOT NULL",
        "a NOT IN (b OR c, -1) AND a NOT LIKE '%x' AND a NOT BETWEEN 1 AND 2",
        "5 min + -1.5 hours < 250 ms",
        "TIMESTAMP '2007-02-14T12:38:10Z' > TIMESTAMP '0001-01-01T00:00:00.000001Z'",
        'prev.price = "prev".price',
        'stream = "stream" AND a.stream = a."stream" AND duration > "duration"',
        "t(first(b)) - t(last(b)) + t(prev) - t(b) > first(b).stream",
        "contains(lower(a), 'x') AND coalesce(a, b, NULL) AND count(b) > sum(b.count)",
        "$v = :limit",
    ],
)
def test_expressions_are_printed_as_people_write_them(text: str) -> None:
    (statement,) = parse(f"SUBSCRIBE m FROM s MATCH a HAVING {text}").statements
    assert isinstance(statement, tree.Subscription)
    assert statement.having is not None
    assert expression_text(statement.having) == text


@pytest.mark.parametrize(
    "text",
    [
        "a ; b , c ;{x = a.x} d",
        "a ; (b ; c)",
        "a & b | c & (d | e) & (f ; g)",
        "(a & b) ; (c | d)",
        "(a ; b) | (!c ; d) | e",
        "!x ; a ; !y ; !z ;{x > 1} b ; !w @(t(w) > t(b)) @(TRUE)",
        "!x ; !y",
        "(a ; !b) ; c",
        "a? , b* , c+ , d{2} , e{2,} , f{2,3}",
        "a+<,> ; b+<;> ; (c , d)+<;{x = 1}>",
        "((a+){2} , b)*",
        "a+ @(x = 1) ; (a @(x = 1))+",
        "FIRST a @(x = 1) @(y = 2) ; LAST b ; c[3] @(x = 1)",
        '"first" ; "not" ; next ; time ; id ; s ; min',
    ],
)
def test_patterns_are_printed_as_people_write_them(text: str) -> None:
    (statement,) = parse(f"SUBSCRIBE m FROM s MATCH {text}").statements
    assert isinstance(statement, tree.Subscription)
    assert pattern_text(statement.pattern) == text


def test_nothing_is_printed_as_nothing() -> None:
    assert program_text(tree.Program(())) == ""
    assert _survives(tree.Program(()))


def test_minus_before_true_is_not_a_number() -> None:
    negated = tree.Unary("-", tree.Literal(True))
    assert _survives(_defining(negated))

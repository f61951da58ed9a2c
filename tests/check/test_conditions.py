"""Conditions as formulas against the reference evaluator: an event that meets a condition refutes "unsatisfiable"."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
import z3

from foretell.check.answer import Truth
from foretell.check.conditions.facts import Facts
from foretell.check.conditions.regular_expressions import found_anywhere
from foretell.check.conditions.solver import ConditionSolver, EventAnswer
from foretell.check.conditions.texts import SequenceTexts
from foretell.check.deadline import Deadline
from foretell.events.event import Event, base_key
from foretell.events.regular_expressions import matching
from foretell.events.types import Scalar
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import parse
from foretell.reference.expressions import Frame, holds
from tests.properties.patterns import Chance, Maker

COLUMNS = "v INT, u INT, w FLOAT, x FLOAT, n STRING, kind STRING, g STRING, f BOOL, at TIMESTAMP, time INT"
STREAM = f"STREAM s ({COLUMNS}) TIME time;"


def _checked(*conditions: str) -> tuple[CheckedSubscription, CheckedProgram]:
    steps = [f"e{number}" for number in range(len(conditions))]
    defined = ", ".join(f"{step} AS {condition}" for step, condition in zip(steps, conditions, strict=True))
    program = parse(f"{STREAM}\nSUBSCRIBE m FROM s MATCH {' ; '.join(steps)} DEFINE {defined};").checked()
    (statement,) = program.statements
    assert isinstance(statement, CheckedSubscription)
    return statement, program


def _answer(holding: str, *failing: str) -> EventAnswer:
    statement, program = _checked(holding, *failing)
    first, *others = (step.conditions for step in statement.steps.values())
    solver = ConditionSolver(statement, program)
    return solver.satisfiable(first, [_conjunction(conditions) for conditions in others], Deadline(10))


def _conjunction(conditions: Sequence[tree.Expression]) -> tree.Expression:
    whole, *rest = conditions
    for condition in rest:
        whole = tree.Binary("AND", whole, condition)
    return whole


@pytest.mark.parametrize(
    "condition",
    [
        "v > 1 AND v < 2",
        "v = NULL",
        "v IS NULL AND v > 1",
        "n = 'a' AND n <> 'a'",
        "n IN ('a', 'b') AND n NOT IN ('b', 'a', 'c')",
        "v NOT IN (1, NULL)",
        "w BETWEEN 2 AND 1",
        "v % 2 = 1 AND v % 2 = 0",
        "starts_with(n, 'ab') AND n = 'b'",
        "contains(n, 'xy') AND length(n) < 2",
        "n LIKE 'a%' AND n LIKE 'b%'",
        "lower(n) = 'ABC'",
        "w > 1.05 * x AND w < x AND x > 0",
        "sqrt(w) < -1",
        "hour(at) = 25",
        "month(at) > 12",
        "round(w) = 3 AND w < 2",
        "abs(v) < 0",
        "v / u > 1 AND u = 0",
        "CASE WHEN f THEN v > 5 ELSE v > 7 END AND v < 3",
        "coalesce(v, 1) = 2 AND v IS NULL",
        "NOT (v > 1 OR v <= 1 OR v IS NULL)",
        "at > TIMESTAMP '2024-05-01' AND at < TIMESTAMP '2023-05-01'",
        "at - TIMESTAMP '2024-05-01' > 1 hours AND at < TIMESTAMP '2024-05-01'",
        "v * 2 = 7",
        "v + 1 > 9223372036854775807",
        "n > 'b' AND n < 'a'",
        "stream = 'another'",
        "f AND NOT f",
        "regexp_like(n, '^[a-c]+$') AND n LIKE '%d%'",
        "regexp_like(n, '^x') AND NOT starts_with(n, 'x')",
        "year(at) = 2024 AND at < TIMESTAMP '2023-06-01'",
        "(v + 0.0) / 1 > v",
    ],
)
def test_no_event_meets_a_contradiction(condition: str) -> None:
    assert _answer(condition).truth is Truth.NO


@pytest.mark.parametrize(
    "condition",
    [
        "v > 1 AND v < 3",
        "w > 1 AND w < 2",
        "n LIKE 'a%b' AND length(n) = 4",
        "n > 'a' AND n < 'b'",
        "w = 0.1 AND x = w + 0.2",
        "v / u > 3 AND u < 0",
        "sqrt(w) = 3",
        "hour(at) = 13 AND weekday(at) = 2",
        "lower(n) = 'abc'",
        "substr(n, 2, 1) = 'b'",
        "v = 9223372036854775807",
        "n = 'größe' AND length(n) = 5",
        "v IS NULL AND u = 1",
        "v * u = 12 AND v > u AND u > 1",
        "CASE WHEN f THEN v > 1 WHEN w > 1 THEN NULL ELSE v = 1 END",
        "floor(w) = 2 AND ceil(w) = 3",
        "regexp_like(n, '^(ab|cd){2,3}[^a-z]\\d$') AND length(n) = 8",
        "regexp_like(n, 'x.y|^z') AND contains(n, 'q')",
        "year(at) = 2024",
        "month(at, 'Asia/Tokyo') = 2 AND year(at, 'Asia/Tokyo') = 1999",
    ],
)
def test_an_event_meets_a_condition(condition: str) -> None:
    """The reference evaluator has confirmed the event."""
    answer = _answer(condition)
    assert answer.truth is Truth.YES
    assert answer.event is not None


def test_failing_is_false_or_null() -> None:
    assert _answer("v > 5", "v > 1").truth is Truth.NO
    answer = _answer("u = 1", "v > 1", "v <= 1")
    assert answer.event is not None
    assert answer.event.attributes["v"] is None


def test_implication() -> None:
    statement, program = _checked("v > 5", "v > 1", "v > prev.v", "v >= prev.v")
    solver = ConditionSolver(statement, program)
    first, second, third, fourth = (step.conditions[0] for step in statement.steps.values())
    assert solver.implies(first, second, Deadline(10)) is Truth.YES
    assert solver.implies(second, first, Deadline(10)) is Truth.NO
    assert solver.implies(third, fourth, Deadline(10)) is Truth.YES
    assert solver.implies(fourth, third, Deadline(10)) is Truth.UNKNOWN


def test_implication_between_statements_with_other_names() -> None:
    left, program = _checked("v > e1.v AND v > 2", "v = 1")
    right = parse(f"{STREAM}\nSUBSCRIBE o FROM s MATCH p ; q DEFINE p AS v >= q.v;").checked().statements[0]
    assert isinstance(right, CheckedSubscription)
    solver = ConditionSolver(left, program)
    stronger, weaker = _conjunction(left.steps["e0"].conditions), right.steps["p"].conditions[0]
    assert solver.implies(stronger, weaker, Deadline(10), {"q": "e1"}) is Truth.YES
    assert solver.implies(stronger, weaker, Deadline(10)) is Truth.UNKNOWN


# ── regular expressions ──

PIECES = ("a", "b", ".", "[a-c]", "[^b]", "\\d", "\\.", "(a|bc)", "(?:b)", "\\W", "x", "[.x-z]", "-")
TEXTS = ("", "a", "b", "abc", "a.b", "bcbc", "x1y", "aaab", "\n", "zz-", "a\nb", "ab" * 3, "größe", "B", "1.2")


@pytest.mark.parametrize("seed", range(3))
def test_regular_expressions_mean_what_re2_means(seed: int) -> None:
    chance, known = random.Random(seed), 0
    for _ in range(60):
        quantified = [
            chance.choice(PIECES) + chance.choice(("", "", "*", "+", "?", "{2}", "{1,2}", "{1,}")) for _ in "abc"
        ]
        branches = [quantified[:2], quantified[2:]] if chance.random() < 0.3 else [quantified]
        pattern = "|".join(chance.choice(("", "^")) + "".join(b) + chance.choice(("", "$")) for b in branches)
        language = found_anywhere(pattern)
        if language is None:
            continue
        known += 1
        for text in TEXTS:
            literal = SequenceTexts([], Facts()).literal(text)
            found = z3.is_true(z3.simplify(z3.InRe(literal, language)))
            assert found == matching([text], pattern)[0], f"{pattern!r} {text!r}"
    assert known > 30


@pytest.mark.parametrize(
    "pattern", ["(?i)a", r"\bx", r"\pL", "a{1000}", "(" * 100 + ")" * 100, "a**", "[[:alpha:]]", "a^b"]
)
def test_other_regular_expressions_are_not_known(pattern: str) -> None:
    assert found_anywhere(pattern) is None


# ── random conditions ──


def _events(chance: random.Random, count: int) -> list[Mapping[str, Scalar]]:
    pools: dict[str, Sequence[Scalar]] = {
        "v": (None, 0, 1, 2, 3, -7, 2**62),
        "u": (None, 0, 1, 5),
        "w": (None, 0.0, 0.5, 1.5, 2.5, -0.1, 1e300, 3.0),
        "x": (None, 1.0, 0.1),
        "n": (None, "", "a", "ab", "b", "Abc", "größe", "xaby"),
        "kind": (None, "a", "b", "c"),
        "g": ("a", "A", None),
        "f": (None, True, False),
        "at": (None, 0, 1_714_521_603_999_999, 1_714_521_605_000_000),
    }
    return [{name: chance.choice(pool) for name, pool in pools.items()} | {"time": 1} for _ in range(count)]


def _condition(chance: random.Random) -> str:
    maker = Maker(Chance(chance.randint), "INT", 5, table=False)
    parts = [maker.static() if chance.random() < 0.8 else maker.kind() for _ in range(chance.randint(1, 4))]
    parts = [f"NOT ({part})" if chance.random() < 0.2 else f"({part})" for part in parts]
    return (
        "".join(f"{chance.choice((' AND ', ' AND ', ' OR '))}{part}" for part in parts)
        .removeprefix(" AND ")
        .removeprefix(" OR ")
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_conditions_agree_with_the_reference_evaluator(seed: int) -> None:
    chance = random.Random(seed)
    answers = []
    for _ in range(40):
        holding, failing = _condition(chance), _condition(chance)
        statement, program = _checked(holding, failing)
        first, second = (_conjunction(step.conditions) for step in statement.steps.values())
        answer = ConditionSolver(statement, program).satisfiable((first,), (second,), Deadline(5))
        answers.append(answer.truth)
        frame = Frame(statement.attributes, statement.time)
        for number, attributes in enumerate(_events(chance, 150)):
            event = Event("s", attributes, 1, 1, base_key(1, None, 0, number))
            own = Frame(frame.types, frame.time, this=event)
            if holds(first, own) and not holds(second, own):
                assert answer.truth is not Truth.NO, f"{holding}\nnot {failing}\n{attributes}"
    assert answers.count(Truth.YES) > 10
    assert answers.count(Truth.NO) > 0

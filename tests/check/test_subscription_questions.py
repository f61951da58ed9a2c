"""Is a subscription vacuous, trivial, live? Against the reference evaluator on all short streams."""

from __future__ import annotations

import pytest

from foretell.check.answer import Truth
from foretell.check.automata.subscription_language import SubscriptionQuestions
from foretell.language.check import check
from foretell.language.checked import CheckedSubscription
from foretell.language.parser import parse
from tests.check.patterns import Sample, ends, quick_ends, selection_samples, small_samples, streams
from tests.exhaustive.meaning import Streams

STREAM = "STREAM s (k STRING, n INT, t INT) TIME t;"
LENGTH = 4


def questions(sample: Sample) -> SubscriptionQuestions:
    return SubscriptionQuestions(*sample.checked())


def agree(sample: Sample) -> None:
    """The answers, and the length of a witness."""
    given = streams(LENGTH)
    found = quick_ends(sample, Streams(given))
    vacuous, trivial = questions(sample).vacuous(), questions(sample).trivial()
    assert vacuous.truth is (Truth.NO if found else Truth.YES), sample.text
    if found:
        assert vacuous.witness is not None
        assert len(vacuous.witness.events) == min(place for _, place in found) + 1
    everywhere = len(found) == len(given) * LENGTH
    assert trivial.truth is (Truth.YES if everywhere else Truth.NO), sample.text
    assert questions(sample).live().truth is (Truth.YES if found else Truth.NO)


def test_small_patterns() -> None:
    samples = [*small_samples(0), *small_samples(1), *[*small_samples(2)][::25]]
    for sample in samples:
        agree(sample)


def test_selections() -> None:
    for sample in selection_samples():
        found = ends(sample, streams(LENGTH))
        answer = questions(sample).vacuous()
        assert answer.truth is not (Truth.YES if found else Truth.NO), sample.text


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_small_patterns() -> None:
    for sample in small_samples(2):
        agree(sample)


def subscription(clauses: str) -> SubscriptionQuestions:
    program = check(parse(f"{STREAM} SUBSCRIBE m FROM s {clauses};"))
    (statement,) = program.statements
    assert isinstance(statement, CheckedSubscription)
    return SubscriptionQuestions(statement, program)


@pytest.mark.parametrize(
    ("clauses", "vacuous", "trivial"),
    [
        ("MATCH a", "no", "yes"),
        ("MATCH a AFTER MATCH CONSUME", "no", "yes"),
        ("MATCH a AFTER MATCH LONGEST", "no", "cannot tell"),
        ("MATCH a+ WITHIN 3", "no", "yes"),
        ("MATCH a HAVING duration > 0", "cannot tell", "cannot tell"),
        ("MATCH a | b DEFINE a AS n > 3, b AS n <= 3", "no", "no"),
        ("MATCH a | b | c DEFINE a AS n > 3, b AS n <= 3, c AS n IS NULL", "no", "yes"),
        ("MATCH a DEFINE a AS n > 3 AND n < 4", "yes", "no"),
        ("MATCH a ; !b ; c DEFINE b AS n > 3, c AS n = 1", "no", "no"),
        ("MATCH a ; b DEFINE b AS n > 3 AND n < a.n", "cannot tell", "no"),
        ("MATCH a ; !b DEFINE b AS n > 3 WITHIN 5", "cannot tell", "cannot tell"),
        ("MATCH !b WITHIN 5", "cannot tell", "cannot tell"),
        ("MATCH a{1000000}", "cannot tell", "cannot tell"),
        ("MATCH a[3] ; b", "cannot tell", "cannot tell"),
        ("MATCH a DEFINE a AS n = $v", "no", "no"),
    ],
)
def test_clauses(clauses: str, vacuous: str, trivial: str) -> None:
    found = subscription(clauses)
    assert found.vacuous().truth is Truth(vacuous)
    assert found.trivial().truth is Truth(trivial)


def test_many_steps_are_no_question_of_minutes() -> None:
    """A deep pattern, a wide one, and many conditions: an answer or the reason why there is none."""
    deep = "(" * 100 + "a" + "+)" * 100 + "+"
    wide = " & ".join(f"a{n}" for n in range(30))
    many = ", ".join(f"a{n} AS n > {n} AND k = 'u{n}'" for n in range(60))
    for clauses in (
        f"MATCH {deep}",
        f"MATCH {wide}",
        f"MATCH {' ; '.join(f'a{n}' for n in range(60))} DEFINE {many}",
    ):
        answer = subscription(clauses).vacuous()
        assert answer.truth is Truth.NO or answer.reason


def test_an_open_stream_has_attributes_of_any_type() -> None:
    program = check(parse("SUBSCRIBE m FROM s MATCH a , b DEFINE a AS n > 5, b AS n < 6;"))
    (statement,) = program.statements
    assert isinstance(statement, CheckedSubscription)
    assert SubscriptionQuestions(statement, program).vacuous().truth is Truth.NO


def test_the_reference_evaluator_is_not_asked_for_all_combinations_of_many_events() -> None:
    """It would try 2^40 of them."""
    chain = subscription(f"MATCH {' ; '.join(f'a{n}' for n in range(40))}")
    assert chain.vacuous().truth is Truth.UNKNOWN
    assert "too many combinations" in chain.vacuous().reason
    strict = subscription(f"MATCH {' , '.join(f'a{n}' for n in range(30))}")
    assert strict.vacuous().truth is Truth.NO
    assert subscription("MATCH a{400}").vacuous().truth is Truth.UNKNOWN

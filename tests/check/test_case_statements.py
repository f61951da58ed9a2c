"""The statements of all cases of the language: questions end with an answer, and each statement equals itself."""

from __future__ import annotations

from collections import Counter

import foretell as ft
from foretell.check.answer import Truth
from foretell.check.automata.containment import contained
from foretell.check.automata.correlator_questions import CorrelatorQuestions
from foretell.check.automata.equivalence_groups import statement_key
from foretell.check.automata.findings import correlator_findings
from foretell.check.automata.subscription_language import SubscriptionQuestions
from foretell.check.deadline import Deadline
from foretell.language.check import check
from foretell.language.checked import CheckedCorrelator, CheckedProgram
from foretell.language.parser import parse
from tests.case_files import cases


def programs() -> list[CheckedProgram]:
    found = []
    for text in dict.fromkeys(case.text for case in cases() if not case.tables and case.error is None):
        try:
            found.append(check(parse(text)))
        except ft.ForetellError:
            continue  # it needs the schema of its data
    return found


def test_every_statement_is_contained_in_itself() -> None:
    truths: Counter[Truth] = Counter()
    for program in programs():
        for statement in program.statements:
            answer = contained(statement, statement, program, program, Deadline(5))
            assert answer.truth is not Truth.NO, statement.tree
            truths[answer.truth] += 1
    assert truths[Truth.YES] > 10 * truths[Truth.UNKNOWN]


def test_questions_end_with_an_answer() -> None:
    for program in programs():
        for statement in program.statements:
            hash(statement_key(statement, program, Deadline(5)))
            if isinstance(statement, CheckedCorrelator):
                questions = CorrelatorQuestions(statement, program, Deadline(5))
                answers = [questions.vacuous(), questions.trivial(), questions.live()]
                assert all(finding.message for finding in correlator_findings(statement, program, Deadline(5)))
            else:
                own = SubscriptionQuestions(statement, program)
                answers = [own.vacuous(), own.trivial(), own.live()]
            assert all(answer.reason for answer in answers), statement.tree


def test_cases_notify_what_a_vacuous_statement_could_not() -> None:
    """No statement that notifies in its case is called vacuous."""
    for case in cases():
        if case.tables or case.error is not None or not case.expect:
            continue
        try:
            program = check(parse(case.text))
        except ft.ForetellError:
            continue
        notified = {row["subscription"] for row in case.expect}
        for statement in program.statements:
            if statement.name not in notified:
                continue
            if isinstance(statement, CheckedCorrelator):
                answer = CorrelatorQuestions(statement, program, Deadline(5)).vacuous()
            else:
                answer = SubscriptionQuestions(statement, program).vacuous()
            assert answer.truth is not Truth.YES, case.text

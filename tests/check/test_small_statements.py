"""Checks against brute force: small patterns with small conditions on all short streams."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from foretell.check.answer import Truth
from foretell.check.deadline import Deadline
from foretell.check.subscriptions.match_search import MatchSearch
from foretell.check.subscriptions.plain_statements import plain_live_steps
from foretell.errors import LanguageError
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import parse
from tests.check.small_statements import SIMULTANEOUS, STREAM, all_notifications, small_statement
from tests.exhaustive.small import patterns

AT_ONCE = 40


def _is_valid(text: str) -> bool:
    """Whether a statement is valid: a negated step may compare with a variable that no step binds."""
    try:
        parse(f"{STREAM}\n{text}").checked()
    except LanguageError:
        return False
    return True


def _checks(seed: int, statements: int, least_impossible: int) -> None:
    """No proof of impossibility where brute force finds a match, and no doubt where it finds one."""
    chance = random.Random(seed)
    declared = SIMULTANEOUS if seed % 4 == 3 else STREAM
    everything = [pattern for operators in range(3) for pattern in patterns(operators)]
    answers: Counter[str] = Counter()
    for _ in range(statements // AT_ONCE):
        drawn = (small_statement(p, f"m{n}", chance) for n, p in enumerate(chance.sample(everything, AT_ONCE)))
        texts = list(filter(_is_valid, drawn))
        bound: dict[str, set[str]] = {f"m{n}": set() for n in range(AT_ONCE)}
        for notification in all_notifications("\n".join(texts), declared):
            found = (step for step, events in notification.events.items() if events not in (None, []))
            bound[notification.subscription].update(found)
        program = parse(f"{declared}\n" + "\n".join(texts)).checked()
        for statement, text in zip(program.statements, texts, strict=True):
            assert isinstance(statement, CheckedSubscription)
            search, plain = MatchSearch(statement, program), plain_live_steps(statement, program)
            for step in statement.positive:
                answer = search.match(Deadline(10), step).answer
                answers[answer.truth.value] += 1
                if step in bound[statement.name] or step in plain:
                    assert answer.truth is Truth.YES, f"{text}\n{step}: {answer}"
    assert answers["no"] >= least_impossible, answers
    assert answers["cannot tell"] * 20 < answers["no"], answers


@pytest.mark.parametrize("seed", range(4))
def test_answers_agree_with_brute_force(seed: int) -> None:
    _checks(seed, 80, 10)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 130))
def test_answers_agree_with_brute_force_on_many(seed: int) -> None:
    _checks(seed, 400, 50)

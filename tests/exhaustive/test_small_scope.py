"""The compiled engine against the reference where everything is small: few operators, few events, all of them.

Many patterns are statements of one program and many streams are lanes of one input, so one run of each engine answers
for thousands of pairs. `make test` takes the same sample every time; `make soak` takes them all.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.both import Both, told
from tests.exhaustive.small import LONGEST, Small, as_lanes, patterns, statement, streams

MOST_OPERATORS = 3
UNTIL = 100
POLICIES = ("CONSUME", "SKIP PAST LAST", "SKIP TO NEXT", "SKIP TO FIRST {step}", "SKIP TO LAST {step}")


def _agree(texts: list[str], some: list[str]) -> None:
    """Both engines say the same of each pattern on each stream. If not, the first pair that differs is shown alone."""
    both = Both("\n".join(texts), {"s": as_lanes(some)}, time={"s": "time"}, until=UNTIL)
    if told(both.embedded()) == told(both.reference()):
        return
    for text in texts:
        for one in some:
            single = Both(text, {"s": as_lanes([one])}, time={"s": "time"}, until=UNTIL) if one else both
            assert told(single.embedded()) == told(single.reference()), f"{text}\non {one}"
    pytest.fail("each pair agrees alone, but not all together")


def _texts(some: list[Small]) -> list[str]:
    return [statement(one, f"p{i}", flat=i % 2 == 0) for i, one in enumerate(some)]


def _samples(operators: int, *, rounds: int, each: int, lanes: int) -> Iterator[tuple[list[Small], list[str]]]:
    chance = random.Random(operators)
    everything, all_streams = patterns(operators), streams()
    for _ in range(rounds):
        some = chance.sample(everything, min(each, len(everything)))
        yield some, chance.sample(all_streams, lanes)


def test_all_is_there() -> None:
    assert [len(patterns(n)) for n in range(MOST_OPERATORS + 1)] == [1, 28, 1536, 124612]
    assert len(streams()) == sum(4**n for n in range(LONGEST + 1))


@pytest.mark.parametrize("operators", [0, 1])
def test_one_operator_on_every_third_stream(operators: int) -> None:
    texts = [
        statement(p, f"p{i}_{int(flat)}", flat=flat)
        for i, p in enumerate(patterns(operators))
        for flat in (False, True)
    ]
    _agree(texts, streams()[::3])


@pytest.mark.parametrize("operators", [2, 3])
def test_a_sample_of_two_and_three_operators(operators: int) -> None:
    for some, lanes in _samples(operators, rounds=10 * operators, each=40, lanes=40):
        _agree(_texts(some), lanes)


def test_after_match() -> None:
    texts: list[str] = []
    for number, pattern in enumerate(p for n in (1, 2) for p in patterns(n)[:: 40 if n == 2 else 1]):
        step = f"{next(pattern.kinds())}1"
        for policy in POLICIES:
            if "{step}" in policy and pattern.form == "!;":
                continue
            after = f" AFTER MATCH {policy.format(step=step)}"
            texts.append(statement(pattern, f"p{len(texts)}", flat=number % 2 == 0, after=after))
    _agree(texts, streams()[::97])


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("operators", range(MOST_OPERATORS + 1))
def test_everything(operators: int) -> None:
    everything, all_streams = patterns(operators), streams()
    for first in range(0, len(everything), 40):
        _agree(_texts(list(everything[first : first + 40])), all_streams)

"""The compiled engine where everything is small: patterns of up to three operators on all streams of up to six events.

Many patterns are statements of one program and all streams are lanes of one input, so one run of the engine answers for
very many pairs. What it must say is in foretell.reference, and for all streams at once in tests.exhaustive.meaning;
these two are compared as well. `make test` takes the same sample of patterns every time; `make soak` takes them all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from foretell.engine.planning import start_runtime
from foretell.events.notification import Notification
from foretell.machine.matches.results import ResultBatch
from tests.engine_pair import EnginePair, told
from tests.exhaustive.meaning import BITS, Codes, Streams, meaning
from tests.exhaustive.small import LONGEST, Small, as_lanes, patterns, statement, streams

MOST_OPERATORS = 3
UNTIL = 100
POLICIES = ("CONSUME", "SKIP PAST LAST", "SKIP TO NEXT", "SKIP TO FIRST {step}", "SKIP TO LAST {step}")
AT_ONCE = 40
SLICES = 64


def _both(texts: list[str], some: list[str]) -> EnginePair:
    return EnginePair("\n".join(texts), {"s": as_lanes(some)}, time={"s": "time"}, until=UNTIL)


def _text(pattern: Small, number: int) -> str:
    """Every second one without the parentheses that change nothing, the others with a window."""
    return statement(pattern, f"p{number}", flat=number % 2 == 0)


def _meant(pattern: Small, number: int, some: Streams) -> Codes:
    return meaning(pattern, some, window=pattern.needs_window or number % 2 == 1)


def _told(one: ResultBatch) -> Codes:
    """What the engine found, as `meaning` puts it."""
    matches = one.matches
    assert matches is not None
    if not len(matches):
        return np.zeros(0, np.int64)
    codes = np.zeros(len(matches), np.int64)
    places = matches.buffer.values(lambda segment: segment.number, matches.position)
    np.add.at(codes, matches.match, (matches.step + 1) << (BITS * places))
    lanes = np.array([key["lane"] for key in one.keys], np.int64)[one.lane]
    return np.sort((lanes << (BITS * LONGEST)) + codes)


def _told_by_reference(found: Sequence[Notification]) -> Codes:
    codes = []
    for one in found:
        assert one.key is not None
        code = int(str(one.key["lane"])) << (BITS * LONGEST)
        for step, (_, events) in enumerate(one.events.items(), 1):
            some = events if isinstance(events, list) else [] if events is None else [events]
            code += sum(step << (BITS * int(str(at))) for at in some)
        codes.append(code)
    return np.sort(np.array(codes, np.int64))


def _engine_finds_all(everything: Sequence[Small]) -> None:
    """On all streams. What is not as it should be is shown with the first stream it differs on."""
    all_streams = streams()
    some = Streams(all_streams)
    for first in range(0, len(everything), AT_ONCE):
        part = everything[first : first + AT_ONCE]
        texts = [_text(pattern, number) for number, pattern in enumerate(part)]
        both = _both(texts, all_streams)
        told = {one.schema.name: one for one in start_runtime(both.checked).process(both.loaded, UNTIL)}
        for number in range(len(part)):
            one = told.get(f"p{number}")
            expected, found = _meant(part[number], number, some), np.zeros(0, np.int64) if one is None else _told(one)
            if not np.array_equal(expected, found):
                different = int(np.setxor1d(expected, found)[0]) >> (BITS * LONGEST)
                pytest.fail(f"{texts[number]}\non '{all_streams[different]}'")


def test_all_is_there() -> None:
    assert [len(patterns(n)) for n in range(MOST_OPERATORS + 1)] == [1, 28, 1536, 124584]
    assert len(streams()) == sum(4**n for n in range(LONGEST + 1)) == 5461


@pytest.mark.parametrize(("operators", "every"), [(0, 1), (1, 1), (2, 7), (3, 500)])
def test_the_engine_finds_all(operators: int, every: int) -> None:
    _engine_finds_all(patterns(operators)[operators::every])


@pytest.mark.parametrize(("operators", "count"), [(0, 1), (1, 28), (2, 150), (3, 250)])
def test_the_reference_means_the_same(operators: int, count: int) -> None:
    chance = random.Random(operators)
    for number, pattern in enumerate(chance.sample(patterns(operators), count)):
        some = chance.sample(streams()[1:], 80)
        both = _both([_text(pattern, number)], some)
        expected = _meant(pattern, number, Streams(some))
        assert np.array_equal(_told_by_reference(both.reference()), expected), _text(pattern, number)


def test_after_match() -> None:
    """And the rows themselves, against the reference."""
    texts: list[str] = []
    for number, pattern in enumerate(p for n in (1, 2) for p in patterns(n)[:: 40 if n == 2 else 1]):
        step = f"{next(pattern.kinds())}1"
        for policy in POLICIES:
            if "{step}" in policy and pattern.form == "!;":
                continue
            after = f" AFTER MATCH {policy.format(step=step)}"
            texts.append(statement(pattern, f"p{len(texts)}", flat=number % 2 == 0, after=after))
    both = _both(texts, streams()[::97])
    assert told(both.embedded()) == told(both.reference())


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(SLICES))
def test_the_engine_finds_all_of_everything(part: int) -> None:
    everything = [pattern for n in range(MOST_OPERATORS + 1) for pattern in patterns(n)]
    _engine_finds_all(everything[part::SLICES])

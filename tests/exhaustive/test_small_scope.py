"""The compiled engine where everything is small: patterns of up to three operators on all streams of up to six events.

Many patterns are statements of one program and all streams are lanes of one input, so one run of the engine answers for
very many pairs. The expected matches come from tests.exhaustive.meaning, which is itself compared with the reference
evaluator. `make test` takes the same sample of patterns every time; `make soak` takes them all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import foretell as ft
from foretell.engine.planning import start_runtime
from foretell.events.notification import Notification
from foretell.machine.matches.results import ResultBatch
from tests.engine_pair import EnginePair, comparable_rows
from tests.exhaustive import choices
from tests.exhaustive.meaning import BITS, Codes, Streams, meaning
from tests.exhaustive.small import LONGEST, Small, as_lanes, patterns, statement, streams

MOST_OPERATORS = 3
UNTIL = 100
POLICIES = ("CONSUME", "LONGEST", "SKIP PAST LAST", "SKIP TO NEXT", "SKIP TO FIRST {step}", "SKIP TO LAST {step}")
AT_ONCE = 40
SLICES = 64


def _pair(texts: list[str], lanes: list[str]) -> EnginePair:
    return EnginePair("\n".join(texts), {"s": as_lanes(lanes)}, time={"s": "time"}, until=UNTIL)


def _text(pattern: Small, number: int) -> str:
    """The statement of a pattern: every second one without redundant parentheses, the others with a window."""
    return statement(pattern, f"p{number}", flat=number % 2 == 0)


def _expected_codes(pattern: Small, number: int, all_streams: Streams) -> Codes:
    return meaning(pattern, all_streams, window=pattern.needs_window or number % 2 == 1)


def _engine_codes(batch: ResultBatch) -> Codes:
    """The matches of the engine as codes, as `meaning` gives them."""
    matches = batch.matches
    assert matches is not None
    if not len(matches):
        return np.zeros(0, np.int64)
    codes = np.zeros(len(matches), np.int64)
    places = matches.buffer.values(lambda segment: segment.number, matches.position)
    np.add.at(codes, matches.match, (matches.step + 1) << (BITS * places))
    lanes = np.array([key["lane"] for key in batch.keys], np.int64)[batch.lane]
    return np.sort((lanes << (BITS * LONGEST)) + codes)


def _reference_codes(notifications: Sequence[Notification]) -> Codes:
    codes = []
    for notification in notifications:
        assert notification.key is not None
        code = int(str(notification.key["lane"])) << (BITS * LONGEST)
        for step, (_, events) in enumerate(notification.events.items(), 1):
            bound = events if isinstance(events, list) else [] if events is None else [events]
            code += sum(step << (BITS * int(str(at))) for at in bound)
        codes.append(code)
    return np.sort(np.array(codes, np.int64))


def _engine_finds_all(everything: Sequence[Small]) -> None:
    """Compares the engine with the oracle on all streams; a failure shows the first stream that differs."""
    all_streams = streams()
    oracle_streams = Streams(all_streams)
    for first in range(0, len(everything), AT_ONCE):
        part = everything[first : first + AT_ONCE]
        texts = [_text(pattern, number) for number, pattern in enumerate(part)]
        pair = _pair(texts, all_streams)
        codes: dict[str, list[Codes]] = {}
        for batch in start_runtime(pair.checked).process(pair.loaded, UNTIL):
            codes.setdefault(batch.schema.name, []).append(_engine_codes(batch))
        for number, pattern in enumerate(part):
            expected = _expected_codes(pattern, number, oracle_streams)
            found = np.sort(np.concatenate([np.zeros(0, np.int64), *codes.get(f"p{number}", ())]))
            if not np.array_equal(expected, found):
                different = int(np.setxor1d(expected, found)[0]) >> (BITS * LONGEST)
                pytest.fail(f"{texts[number]}\non '{all_streams[different]}'")


def test_all_is_there() -> None:
    assert [len(patterns(n)) for n in range(MOST_OPERATORS + 1)] == [1, 28, 1536, 124584]
    assert len(streams()) == sum(4**n for n in range(LONGEST + 1)) == 5461


@pytest.mark.parametrize(("operators", "every"), [(0, 1), (1, 1), (2, 7), (3, 500)])
def test_the_engine_finds_all(operators: int, every: int) -> None:
    _engine_finds_all(patterns(operators)[operators::every])


@pytest.mark.parametrize(("operators", "count"), [(0, 1), (1, 28), (2, 100), (3, 150)])
def test_the_reference_means_the_same(operators: int, count: int) -> None:
    chance = random.Random(operators)
    for number, pattern in enumerate(chance.sample(patterns(operators), count)):
        sample = chance.sample(streams()[1:], 80)
        pair = _pair([_text(pattern, number)], sample)
        expected = _expected_codes(pattern, number, Streams(sample))
        assert np.array_equal(_reference_codes(pair.reference()), expected), _text(pattern, number)


def test_after_match() -> None:
    """And the rows themselves, against the reference."""
    texts: list[str] = []
    for number, pattern in enumerate(p for n in (1, 2) for p in patterns(n)[:: 40 if n == 2 else 1]):
        step = f"{next(pattern.kinds())}1"
        for policy in POLICIES:
            if "{step}" in policy and pattern.form == "!;":
                continue
            after = f" AFTER MATCH {policy.format(step=step)}"
            flat = number % 2 == 0 and policy != "LONGEST"
            texts.append(statement(pattern, f"p{len(texts)}", flat=flat, after=after))
    pair = _pair(texts, streams()[::151])
    assert comparable_rows(pair.embedded()) == comparable_rows(pair.reference())


def _longest(pattern: Small, number: int, lanes: list[str]) -> EnginePair:
    """A pattern with LONGEST, every second one without a window where it needs none."""
    texts = [statement(pattern, "p", flat=flat, after=" AFTER MATCH LONGEST") for flat in (number % 2 == 0, False)]
    try:
        return _pair(texts[:1], lanes)
    except ft.ForetellError as error:
        if error.code != "needs-within":
            raise
        return _pair(texts[1:], lanes)


@pytest.mark.parametrize(("operators", "every"), [(1, 1), (2, 40), (3, 4000)])
def test_longest(operators: int, every: int) -> None:
    """Whole, and each event of a lane in a batch of its own, after which the engine asks what may still come."""
    for number, pattern in enumerate(patterns(operators)[operators::every]):
        pair = _longest(pattern, number, streams()[number % 31 :: 31])
        expected = comparable_rows(pair.reference())
        assert comparable_rows(pair.embedded()) == expected, pair.text
        times = pair.loaded["s"].table["time"].to_pylist()
        one_by_one = pair.embedded_in_batches(pair.cut_at(times.index(time) for time in set(times)))
        assert Counter(comparable_rows(one_by_one)) == Counter(expected), pair.text


# ── FIRST, LAST and negations at the end ──


def _choices_are_told(seed: int, every: int) -> None:
    """Compares a pattern with the oracle on all streams, and with the reference on some of them."""
    pattern = choices.random_pattern(random.Random(seed))
    text = statement(pattern, "p", flat=False)
    streams_given = choices.all_streams()
    try:
        pair = EnginePair(text, {"s": as_lanes(streams_given)}, time={"s": "time"}, until=UNTIL)
    except ft.ForetellError:
        return  # a LAST that is never known
    expected = choices.expected_matches(pattern, Streams(streams_given))
    found = [notified for notified in map(_as_expected, pair.embedded()) if notified.end <= choices.LATEST]
    assert sorted(found) == expected, text
    lanes = streams_given[seed % every :: every]
    reference = EnginePair(text, {"s": as_lanes(lanes)}, time={"s": "time"}, until=UNTIL).reference()
    found = [notified for notified in map(_as_expected, reference) if notified.end <= choices.LATEST]
    found = [replace(notified, stream=notified.stream * every + seed % every) for notified in found]
    assert sorted(found) == [notified for notified in expected if notified.stream % every == seed % every], text


def _as_expected(notification: Notification) -> choices.ExpectedMatch:
    assert notification.key is not None
    bound = [(int(str(at)), n) for n, at in enumerate(notification.events.values(), 1) if at is not None]
    return choices.ExpectedMatch(int(str(notification.key["lane"])), tuple(sorted(bound)), int(notification.end))


@pytest.mark.parametrize("part", range(2))
def test_choices_are_told_when_they_are_known(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        _choices_are_told(seed, every=83)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(16))
def test_choices_are_told_when_they_are_known_for_long(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        _choices_are_told(seed, every=41)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(SLICES))
def test_the_engine_finds_all_of_everything(part: int) -> None:
    everything = [pattern for n in range(MOST_OPERATORS + 1) for pattern in patterns(n)]
    _engine_finds_all(everything[part::SLICES])

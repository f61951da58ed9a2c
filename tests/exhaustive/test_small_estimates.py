"""LOSING over all short streams: the compiled engine gives the rows of the reference evaluator for every small pattern.

The streams of a pattern are the lanes of one input, so that each pattern runs once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, product
from random import Random

import pytest

import foretell as ft
from foretell.events.delays.scores import Score
from foretell.language.estimate_scorer import EstimateScorer
from tests.recover.estimate_programs import exponential
from tests.recover.test_estimates import rows

STREAM = "STREAM s (time INT, lane INT, v INT) TIME time;"
OPERATORS = [";", ",", "; !n ;", ";{v = 1} "]
POLICIES = ["", "AFTER MATCH CONSUME", "AFTER MATCH SKIP PAST LAST", "AFTER MATCH SKIP TO NEXT"]
POLICIES += ["AFTER MATCH SKIP TO FIRST b"]
WINDOWS = ["", "WITHIN 2"]


def statements(steps: str) -> Iterator[tuple[str, list[str]]]:
    """Every pattern of these steps with every set of steps that may be lost, in every window, under every AFTER MATCH;
    with all steps of the pattern in order."""
    for operators, window in product(product(OPERATORS, repeat=len(steps) - 1), WINDOWS):
        middle = "".join(f" {operator} {step}" for operator, step in zip(operators, steps[1:], strict=True))
        if middle.count("!n") > 1:
            continue
        for before, after in (("", ""), ("!n ; ", ""), ("", " ; !n")):
            pattern = f"{before}{steps[0]}{middle}{after}"
            if pattern.count("!n") > 1 or (not window and (before or after)):
                continue
            order = [name.strip("!") for name in pattern.replace(",", " ").replace(";{v = 1}", " ").split()]
            order = [name for name in order if name != ";"]
            for lossy, policy in product(subsets(order), POLICIES):
                defined = [f"{step} AS v = {number}" for number, step in enumerate(steps)]
                defined += [f"n AS v = {len(steps) - 1}"] if "n" in order else []
                losing = f"LOSING 0.3 OF {', '.join(lossy)} ABOVE 0.01"
                clauses = f"MATCH {pattern} DEFINE {', '.join(defined)} {window} {policy} {losing}"
                yield f"SUBSCRIBE m FROM s PER lane {clauses};", order


def subsets(steps: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(steps, size) for size in range(1, len(steps) + 1))


def lanes(letters: int, length: int) -> list[dict[str, int]]:
    """All streams of that length, a lane each, with an event at each time."""
    streams = list(product(range(letters), repeat=length))
    return [
        {"time": time, "lane": lane, "v": stream[time]} for time in range(length) for lane, stream in enumerate(streams)
    ]


def model(order: Sequence[str]) -> Mapping[str, object]:
    after = {step: {other: exponential(1.0, 0.8) for other in order[:n]} for n, step in enumerate(order) if n}
    before = {step: {other: exponential(2.0, 0.7) for other in order[n + 1 :]} for n, step in enumerate(order[:-1])}
    return {"subscriptions": {"m": {"after": after, "before": before}}}


@pytest.fixture
def known_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Score matches of equal lengths once: the reference evaluator scores each by itself."""
    exact, known = EstimateScorer.scored, dict[object, tuple[float, Score]]()

    def scored(scorer: EstimateScorer, times: Mapping[str, float], span: float) -> tuple[float, Score]:
        first = min(times.values())
        lengths = tuple((step, time - first) for step, time in times.items())
        key = scorer.subscription.tree, scorer.lost, lengths, span
        if key not in known:
            known[key] = exact(scorer, times, span)
        return known[key]

    monkeypatch.setattr(EstimateScorer, "scored", scored)


def agree(text: str, order: Sequence[str], events: list[dict[str, int]]) -> Counter[str]:
    runs = [
        ft.run(STREAM + text, {"s": events}, model=model(order), until=events[-1]["time"] + 9, engine=engine)
        for engine in ("embedded", "reference")
    ]
    found, expected = map(rows, runs)
    assert found == expected, text
    return Counter(row[1] for row in expected)


def test_a_sample(known_scores: None) -> None:
    kinds: Counter[str] = Counter()
    sample = Random(14)
    for text, order in [*sample.sample(list(statements("ab")), 8), *sample.sample(list(statements("abc")), 4)]:
        kinds += agree(text, order, lanes(2 if len(order) < 3 else 3, 4))
    assert kinds["estimate"] > 100
    assert kinds["withdrawn"] > 10
    assert kinds["match"] > 10


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("steps", ["ab", "abc"])
def test_all(known_scores: None, steps: str) -> None:
    for text, order in statements(steps):
        agree(text, order, lanes(3, 5 if steps == "ab" else 4))

"""The probabilities of estimates are those of the simulated model: random statements, models and events."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from random import Random

import numpy as np
import pytest

from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.scores import Score
from foretell.events.estimate_detail import CONFIDENCE
from foretell.language.checked import CheckedSubscription
from foretell.language.estimate_scorer import EstimateScorer
from foretell.language.subscriptions import parse
from tests.recover.generative_model import GenerativeModel, random_delay

STREAM = "STREAM s (time FLOAT, kind STRING) TIME time;"

#: What the integrals and tables of both may differ by, besides chance.
ROUNDING = 1e-3


def drawn(random: Random) -> GenerativeModel:
    """A sequence with one to three hidden steps, negated or lost, some of them at an edge."""
    positive = list("abcd")[: random.randint(2, 4)]
    present = random.sample(positive, random.randint(1, len(positive)))
    hidden = [step for step in positive if step not in present]
    order, negated = list(positive), set[str]()
    if len(hidden) < 3 and (not hidden or random.random() < 0.5):
        place = random.randint(0, len(order))
        order.insert(place, "n")
        negated.add("n")
    pairs = list(combinations(order, 2))
    times = np.cumsum([random.uniform(0.3, 4) for _ in order])
    events = {step: float(time) for step, time in zip(order, times, strict=True) if step in present}
    span = max(events.values()) - min(events.values())
    losses = {step: random.choice([0.1, 0.3, 0.6]) for step in order}
    after, before = ({pair: random_delay(random) for pair in pairs} for _ in range(2))
    model = GenerativeModel(order, negated, losses, after, before, span + random.uniform(0.5, 8), events)
    if hidden and random.random() < 0.4:
        step, other = random.choice(hidden), random.choice(present)
        far = random.uniform(0.5, 3)
        later = order.index(step) > order.index(other)
        at = events[other]
        model.bounds[step] = (at, at + far) if later else (at - far, at)
    return model


def scorer_of(model: GenerativeModel) -> EstimateScorer:
    pattern = " ; ".join(f"!{step}" if step in model.negated else step for step in model.order)
    conditions = {step: f"kind = '{step}'" for step in model.order}
    for step, bound in model.bounds.items():
        other = next(s for s, at in model.events.items() if at in bound)
        earlier, later = (other, step) if bound[0] == model.events[other] else (step, other)
        named = model.order[max(model.order.index(step), model.order.index(other))]
        conditions[named] += f" AND t({later}) - t({earlier}) <= {bound[1] - bound[0]!r}"
    defined = ", ".join(f"{step} AS {condition}" for step, condition in conditions.items())
    losses = ", ".join(f"{loss} OF {step}" for step, loss in model.loss.items())
    text = (
        f"{STREAM} SUBSCRIBE m FROM s MATCH {pattern} DEFINE {defined} WITHIN {model.within!r} LOSING {losses} ABOVE 0;"
    )
    (checked,) = (s for s in parse(text).checked().statements if isinstance(s, CheckedSubscription))
    lost = frozenset(step for step in model.order if step not in model.negated and step not in model.events)
    return EstimateScorer(checked, lost, DelayModel.of(model.description))


def compared(seeds: Iterable[int]) -> int:
    """How many of the programs could be compared."""
    count = 0
    for seed in seeds:
        model = drawn(Random(seed))
        scorer = scorer_of(model)
        span = max(model.events.values()) - min(model.events.values())
        expected, score = scorer.scored(model.events, span)
        simulated = model.probability(np.random.default_rng(seed))
        if simulated is None or score is not Score.BOTH_ENDS:
            continue
        found, error = simulated
        assert found == pytest.approx(expected, abs=5 * error + ROUNDING), (seed, model)
        count += 1
    return count


def intervals_compared(seeds: Iterable[int]) -> int:
    """How many ends of intervals could be compared."""
    count = 0
    for seed in seeds:
        model = drawn(Random(seed))
        scorer = scorer_of(model)
        span = max(model.events.values()) - min(model.events.values())
        detail = scorer.detail(model.events, span)[0]
        if detail.score != Score.BOTH_ENDS.value or not all(gap.factor for gap in detail.gaps):
            continue  # where an estimate is impossible there is no interval to compare
        intervals = {lost.step: (lost.low, lost.high) for lost in detail.lost}
        for found in model.shares(intervals, np.random.default_rng(seed)):
            if not np.isnan(found.share):
                assert found.share == pytest.approx((1 - CONFIDENCE) / 2, abs=5 * found.error + ROUNDING), (seed, model)
                count += 1
    return count


def test_intervals_of_random_models() -> None:
    assert intervals_compared(range(12)) >= 10


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_intervals_of_random_models_for_long() -> None:
    assert intervals_compared(range(1_000, 2_000)) >= 500


def test_random_models() -> None:
    assert compared(range(8)) >= 5


@pytest.mark.parametrize("seed", [15, 33, 101])
def test_a_loss_at_one_end_and_a_negation_at_the_other(seed: int) -> None:
    """The window of the negated step ends with what is lost."""
    model = drawn(Random(seed))
    assert model.negated & {model.order[0], model.order[-1]}
    assert compared([seed])


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_models_for_long() -> None:
    assert compared(range(1_000, 3_000)) >= 1_000

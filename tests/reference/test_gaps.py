"""The probabilities of gaps: against simulation of what their definition says, and against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.events.delay_distributions import DelayDistribution
from foretell.reference.gap_probability import Gap, HiddenStep, Link


def exponential(mean: float, share: float = 1.0, loss: float = 0.1) -> HiddenStep:
    return HiddenStep(DelayDistribution.of({"distribution": "exponential", "mean": mean, "share": share}), loss)


def test_one_negated_step() -> None:
    came = 1 - math.exp(-1.5)
    assert Gap(3.0, (), (exponential(2.0),)).probability() == pytest.approx((1 - came) / (0.1 * came + 1 - came))


def test_one_lost_step() -> None:
    came = 0.7 * (1 - math.exp(-1.5))
    gap = Gap(3.0, (Link(exponential(2.0, 0.7)),))
    assert gap.probability() == pytest.approx(0.1 * came / (0.1 * came + 1 - came))
    assert gap.published() == pytest.approx(0.1 * came)


def test_two_lost_steps_convolve() -> None:
    length, loss = 3.0, 0.1
    item = 1 - math.exp(-length)
    both = 1 - (0.5 * math.exp(-length) - math.exp(-length / 2)) / (0.5 - 1)
    unseen = (1 - item) + loss * (item - both) + loss**2 * both
    gap = Gap(length, (Link(exponential(1.0)), Link(exponential(2.0))))
    assert gap.probability() == pytest.approx(loss**2 * both / unseen, rel=1e-6)


means = st.floats(0.3, 4.0)
hidden = st.builds(exponential, means, st.floats(0.2, 1.0), st.floats(0.05, 0.9))
gaps = st.builds(
    Gap,
    st.floats(0.2, 6.0),
    st.lists(st.builds(Link, hidden, st.lists(hidden, max_size=2).map(tuple)), max_size=2).map(tuple),
    st.lists(hidden, max_size=2).map(tuple),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(gaps)
def test_agrees_with_simulation(gap: Gap) -> None:
    happened, unseen, tries = simulate(gap, 400_000)
    expected = gap.probability()
    assert 0 <= expected <= 1
    if unseen > 500:
        spread = math.sqrt(max(expected * (1 - expected), 1 / unseen) / unseen)
        assert happened / unseen == pytest.approx(expected, abs=5 * spread)
    assert tries == 400_000


def simulate(gap: Gap, tries: int) -> tuple[int, int, int]:
    """How often all positives happened, none of the negated ones, and nothing was seen; how often nothing was seen."""
    rng = np.random.default_rng(7)

    def delay(hidden: HiddenStep) -> np.ndarray:
        mean = hidden.delay.parameters["mean"]
        assert isinstance(mean, float)
        came = rng.random(tries) < hidden.delay.share
        return np.where(came, rng.exponential(mean, tries), np.inf)

    def seen(hidden: HiddenStep, happened: np.ndarray) -> np.ndarray:
        return happened & (rng.random(tries) >= hidden.loss)

    clock = np.zeros(tries)
    going = np.ones(tries, bool)
    noticed = np.zeros(tries, bool)
    broken = np.zeros(tries, bool)
    for link in gap.links:
        arrival = clock + delay(link.positive)
        came = going & (arrival <= gap.length)
        until = np.where(came, arrival, gap.length)
        for negated in link.negated:
            # Seen backwards, the negated step counts only where the positive one it belongs to happened.
            counts = came if gap.backwards else going
            happened = counts & (delay(negated) <= until - clock)
            broken |= happened
            noticed |= seen(negated, happened)
        noticed |= seen(link.positive, came)
        clock, going = np.where(came, arrival, clock), came
    for negated in gap.negated:
        happened = going & (delay(negated) <= gap.length - clock)
        broken |= happened
        noticed |= seen(negated, happened)
    return int(np.sum(going & ~broken & ~noticed)), int(np.sum(~noticed)), tries

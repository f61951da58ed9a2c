"""The running sample: exact while it has all events, without bias afterwards, and old events lose weight."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.filter.profile_tree.ageing_sample import MOST_OF_A_BATCH, AgeingSample


def added(sample: AgeingSample, values: np.ndarray) -> None:
    keys = np.asarray(values, np.int64).reshape(1, -1)
    sample.add(keys, keys < 0)


def probability(sample: AgeingSample, value: int) -> float:
    attribute = sample.distribution().attributes[0]
    return float(attribute.probability(np.array([value]), np.array([value]))[0])


def test_a_sample_of_all_events_is_exact() -> None:
    sample = AgeingSample(1, size=10)
    for values in ([1, 2], [2, -1], [2]):
        added(sample, np.array(values))
    attribute = sample.distribution().attributes[0]
    assert attribute.keys.tolist() == [1, 2]
    assert np.diff(attribute.cumulative) == pytest.approx([0.2, 0.6])
    assert attribute.null == pytest.approx(0.2)


def test_an_event_a_half_life_ago_counts_half() -> None:
    sample = AgeingSample(1, size=10, half_life=2)
    added(sample, np.array([1, 0, 2]))
    assert probability(sample, 1) / probability(sample, 2) == pytest.approx(0.5)


@pytest.mark.parametrize("batch", [100, 20 * MOST_OF_A_BATCH])
def test_samples_have_the_probabilities_of_all_events(batch: int) -> None:
    """On average over 40 samples: within four standard errors."""
    found = []
    for seed in range(40):
        sample = AgeingSample(1, size=200, seed=seed)
        for begin in range(0, 20 * MOST_OF_A_BATCH, batch):
            added(sample, np.arange(begin, begin + batch) % 4 == 0)
        assert len(sample) == 200
        found.append(probability(sample, 1))
    assert np.mean(found) == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / (40 * 200)))


def test_a_sample_follows_the_events() -> None:
    sample = AgeingSample(1, size=500, half_life=2000)
    for value in (1, 2):
        for _ in range(100):
            added(sample, np.full(200, value))
    # 20,000 events of 2 are ten half-lives.
    assert probability(sample, 2) > 0.99
    decayed = [AgeingSample(1, size=500, half_life=20_000, seed=seed) for seed in range(20)]
    for each in decayed:
        for value in (1, 2):
            for _ in range(100):
                added(each, np.full(200, value))
    assert np.mean([probability(each, 2) for each in decayed]) == pytest.approx(2 / 3, abs=0.02)


def test_halves_have_different_events() -> None:
    sample = AgeingSample(1, size=100)
    added(sample, np.arange(100))
    first, second = sample.halves()
    assert sorted([*first.keys[0].tolist(), *second.keys[0].tolist()]) == list(range(100))
    assert first.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(("size", "half_life"), [(0, 1.0), (1, 0.0), (1, float("nan"))])
def test_sizes_and_half_lives_that_make_no_sample(size: int, half_life: float) -> None:
    with pytest.raises(ValueError, match="a sample needs a size and a half-life above 0"):
        AgeingSample(1, size=size, half_life=half_life)

"""The generator of P-ToPSS section 6 follows the distributions that the paper states."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.bench.workloads.planted_patterns import PlantedStream, composites, planted


def kinds(stream: PlantedStream) -> list[int]:
    found: list[int] = stream.events["kind"].to_numpy().tolist()
    return found


def test_the_defaults_of_the_paper() -> None:
    planted = composites()
    assert planted.kinds.shape == (1000, 10)
    assert set(np.unique(planted.kinds)) == set(range(50))
    assert set(planted.later.sum(axis=1)) == {2}
    # Each of the nine operators is `;` as often as any other.
    assert np.abs(planted.later.mean(axis=0) - 2 / 9).max() < 0.05


@pytest.mark.parametrize("gaussian", [False, True])
def test_quotas_are_met_exactly(gaussian: bool) -> None:
    group = composites(50, seed=3)
    stream = planted(group, partial=7, full=4, gaussian=gaussian, seed=4)
    full = stream.length == 10
    assert np.bincount(stream.subscription[full], minlength=50).tolist() == [4] * 50
    assert np.bincount(stream.subscription[~full], minlength=50).tolist() == [7] * 50
    assert stream.length.min() == 1


def test_what_is_planted_stands_there_and_all_else_is_irrelevant() -> None:
    group = composites(20, length=5, pool=8, seed=1)
    stream = planted(group, partial=5, full=5, irrelevant=10, seed=2)
    found = np.array(kinds(stream))
    covered = np.zeros(len(found), bool)
    for start, subscription, length in zip(stream.start, stream.subscription, stream.length):
        assert found[start : start + length].tolist() == group.kinds[subscription, :length].tolist()
        assert not covered[start : start + length].any()
        covered[start : start + length] = True
    assert (found[~covered] >= 8).all()
    assert (found[covered] < 8).all()


def test_irrelevant_runs_come_with_probability_one_half() -> None:
    stream = planted(composites(100, seed=1), irrelevant=100, seed=5)
    ends = np.concatenate([[0], (stream.start + stream.length)[:-1]])
    gaps = stream.start - ends
    # As many runs as heads before tails: none in a half of the cases, one on average, of 50.5 events.
    assert (gaps == 0).mean() == pytest.approx(0.5, abs=0.03)
    assert gaps.mean() == pytest.approx(50.5, rel=0.05)


def test_subscriptions_are_drawn_among_those_whose_quota_is_not_met() -> None:
    """While all have quota left, each is alike likely at every place, so that the first draws are independent."""
    repeated = [
        stream.subscription[0] == stream.subscription[1]
        for stream in (planted(composites(4, seed=1), partial=2, full=2, seed=k) for k in range(2000))
    ]
    # Drawing among what is left to plant would give 3/15 in place of 1/4.
    assert np.mean(repeated) == pytest.approx(1 / 4, abs=0.03)


def test_gaussian_subscriptions_have_fewer_distinct_events() -> None:
    def commonest(gaussian: bool) -> float:
        counts = np.bincount(composites(gaussian=gaussian, seed=1).kinds.ravel(), minlength=50)
        return float(np.sort(counts)[::-1][:10].sum() / counts.sum())

    assert commonest(False) < 0.25
    assert commonest(True) > 0.4


def test_gaussian_streams_have_shorter_partial_matches() -> None:
    group = composites(200, seed=1)

    def mean(gaussian: bool) -> float:
        length = planted(group, gaussian=gaussian, seed=1).length
        return float(length[length < 10].mean())

    assert mean(False) == pytest.approx(5.0, abs=0.1)
    assert mean(True) < 4


def test_seeds_reproduce_and_differ() -> None:
    group = composites(10, seed=1)
    assert np.array_equal(group.kinds, composites(10, seed=1).kinds)
    assert not np.array_equal(group.kinds, composites(10, seed=2).kinds)
    assert kinds(planted(group, seed=1)) == kinds(planted(group, seed=1)) != kinds(planted(group, seed=2))


def test_a_sample_like_the_papers_figure() -> None:
    """Fig. 8: a partial and a full match of `a , b ; c` and a few others between."""
    group = composites(1, length=3, pool=3, waits=1, seed=0)
    stream = planted(group, partial=2, full=2, irrelevant=3, seed=0)
    a, b, c = group.kinds[0].tolist()
    assert sorted(stream.length.tolist())[-2:] == [3, 3]
    for start, length in zip(stream.start, stream.length):
        assert kinds(stream)[start : start + length] == [a, b, c][:length]


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_engine_finds_every_planted_match(gaussian: bool) -> None:
    group = composites(20, pool=20, gaussian=gaussian, seed=7)
    stream = planted(group, partial=5, full=5, irrelevant=20, gaussian=gaussian, seed=8)
    found = ft.run(group.text(within=9), {"events": stream.events}, engine="embedded")
    ends = {(n.subscription, n.end) for n in found}
    wanted = {
        (f"cs{s}", int(start) + 9)
        for s, start, length in zip(stream.subscription, stream.start, stream.length)
        if length == 10
    }
    assert len(wanted) == 20 * 5
    assert wanted <= ends


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="waits: expected 0 to 2"):
        composites(1, length=3, waits=3)


def test_nothing_planted_is_no_stream() -> None:
    assert planted(composites(3), partial=0, full=0).events.num_rows == 0

"""Combining waiting times: against the joint machine of independent parts, and by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.arrays import Floats
from foretell.forecast.chain.first_passage import MarkovChain, waiting_time_cdf
from foretell.forecast.chain.waiting_times import (
    MATCHED,
    AllParts,
    AnyPart,
    PartsInSequence,
    PartWaitingTime,
    WaitingTimeTree,
    combined_cdf,
)
from tests.forecast.test_first_passage import CHAINS, chain_of, random_chain
from tests.learn.traces import quick

EVENTS = 15


def part(seed: int, states: int = 3) -> PartWaitingTime:
    return PartWaitingTime(waiting_time_cdf(random_chain(states, seed), EVENTS)[0])


LEAVES = st.builds(part, st.integers(0, 10_000))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda kind, parts: kind(tuple(parts)),
        st.sampled_from([AllParts, AnyPart, PartsInSequence]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@quick
@given(TREES)
def test_a_whole_has_a_waiting_time_too(tree: WaitingTimeTree) -> None:
    found = combined_cdf(tree)
    assert np.all((found >= 0) & (found <= 1))
    assert np.all(np.diff(found) >= -1e-12)


def drawn(tree: WaitingTimeTree, random: np.random.Generator, size: int) -> Floats:
    """Waiting times by chance; those beyond the horizon are infinite."""
    if isinstance(tree, PartWaitingTime):
        times = np.searchsorted(tree.cdf, random.random(size)).astype(float)
        return np.where(times < len(tree.cdf), times, np.inf)
    times = np.array([drawn(part_chain, random, size) for part_chain in tree.parts])
    if isinstance(tree, AllParts):
        return times.max(axis=0)
    return times.min(axis=0) if isinstance(tree, AnyPart) else times.sum(axis=0)


@quick
@given(TREES, st.integers(0, 2**32 - 1))
def test_as_when_it_is_drawn(tree: WaitingTimeTree, seed: int) -> None:
    size = 4_000
    times = drawn(tree, np.random.default_rng(seed), size)
    found = combined_cdf(tree)
    for n in range(EVENTS + 1):
        error = np.sqrt(found[n] * (1 - found[n]) / size)
        assert abs((times <= n).mean() - found[n]) <= 5 * error + 2 / size


@quick
@given(CHAINS, CHAINS)
def test_two_machines_side_by_side_are_one(a: MarkovChain, b: MarkovChain) -> None:
    """Two independent chains as one machine over pairs, in which what has matched stays so."""

    def closed(chain: MarkovChain) -> Floats:
        moves, match = chain.moves, chain.match
        rows = np.hstack([moves, match[:, None]])
        return np.vstack([rows, np.append(np.zeros(len(match)), 1.0)])

    left, right = closed(a), closed(b)
    done_left, done_right = len(left) - 1, len(right) - 1
    joint = np.kron(left, right)
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right))]
    for combination, all_or_any in ((AllParts, all), (AnyPart, any)):
        done = np.array([all_or_any((i == done_left, j == done_right)) for i, j in pairs])
        chain = chain_of(joint[np.ix_(~done, ~done)], joint[~done][:, done].sum(axis=1))
        parts = tuple(PartWaitingTime(waiting_time_cdf(part_chain, EVENTS)[0]) for part_chain in (a, b))
        assert combined_cdf(combination(parts)) == pytest.approx(waiting_time_cdf(chain, EVENTS)[0])


@quick
@given(CHAINS, CHAINS)
def test_one_machine_after_another_is_one(a: MarkovChain, b: MarkovChain) -> None:
    """The master's sum over p + q = n is the machine that goes on with the second where the first ends."""
    first, second = (len(part_chain.match) for part_chain in (a, b))
    moves = np.zeros((first + second, first + second))
    moves[:first, :first], moves[first:, first:] = a.moves, b.moves
    moves[:first, first] = a.match
    match = np.append(np.zeros(first), b.match)
    parts = tuple(PartWaitingTime(waiting_time_cdf(part_chain, EVENTS)[0]) for part_chain in (a, b))
    assert combined_cdf(PartsInSequence(parts)) == pytest.approx(waiting_time_cdf(chain_of(moves, match), EVENTS)[0])


def test_the_figure_5_of_the_paper() -> None:
    """(X & Y), then the rest: the sum over p of X and Y both within p, and the master in the other n - p."""
    x, y, rest = part(1), part(2), part(3)
    both = x.cdf * y.cdf
    exactly = np.diff(both, prepend=0.0)
    expected = [sum(exactly[p] * rest.cdf[n - p] for p in range(n + 1)) for n in range(EVENTS + 1)]
    assert combined_cdf(PartsInSequence((AllParts((x, y)), rest))) == pytest.approx(np.array(expected))


def test_what_has_matched_does_not_wait() -> None:
    part_chain = part(4)
    assert combined_cdf(AllParts((MATCHED, part_chain))) == pytest.approx(part_chain.cdf)
    assert combined_cdf(PartsInSequence((MATCHED, part_chain))) == pytest.approx(part_chain.cdf)
    assert combined_cdf(AnyPart((MATCHED, part_chain))).tolist() == [1.0] * (EVENTS + 1)
    with pytest.raises(ValueError, match="needs parts"):
        combined_cdf(AllParts(()))


def test_all_states_at_once() -> None:
    chain = random_chain(4, 7)
    cdf = waiting_time_cdf(chain, EVENTS)
    together = combined_cdf(PartsInSequence((PartWaitingTime(cdf), PartWaitingTime(cdf[::-1]))))
    for i in range(4):
        assert together[i] == pytest.approx(
            combined_cdf(PartsInSequence((PartWaitingTime(cdf[i]), PartWaitingTime(cdf[3 - i]))))
        )

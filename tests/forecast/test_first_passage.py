"""First passage: chains whose answer is known, chains that are played out, and what must hold of every chain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from foretell.forecast.chain.first_passage import MarkovChain, match_probability, shortest_interval, waiting_time_cdf
from foretell.learn.statistics import Statistics
from tests.learn.traces import quick, walk


def chain_of(moves: ArrayLike, match: ArrayLike) -> MarkovChain:
    return MarkovChain(np.asarray(moves, float), np.asarray(match, float), np.ones(np.shape(match), np.bool_))


def random_chain(states: int, seed: int) -> MarkovChain:
    """Rows with some zeros, as machines have."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(states + 1, 0.3), states)
    return chain_of(weights[:, :states], weights[:, states])


CHAINS = st.builds(random_chain, st.integers(1, 8), st.integers(0, 2**32 - 1))


# ── answers known in closed form ──


@pytest.mark.parametrize("events", [1, 2, 50, 3000])
def test_one_state_is_geometric(events: int) -> None:
    chain = chain_of([[0.97]], [0.03])
    assert match_probability(chain, events) == pytest.approx([1 - 0.97**events])


def run_of_heads(length: int, heads: float) -> MarkovChain:
    """State i: the last i tosses were heads."""
    moves = np.zeros((length, length))
    moves[:, 0] = 1 - heads
    moves[np.arange(length - 1), np.arange(1, length)] = heads
    match = np.zeros(length)
    match[-1] = heads
    return chain_of(moves, match)


@pytest.mark.parametrize(("length", "heads"), [(2, 0.5), (3, 0.3), (5, 0.8)])
def test_a_run_of_heads(length: int, heads: float) -> None:
    """de Moivre's recurrence for a run within n tosses."""
    never = [1.0] * length + [1 - heads**length]
    for n in range(length + 1, 41):
        never.append(never[n - 1] - (1 - heads) * heads**length * never[n - length - 1])
    found = waiting_time_cdf(run_of_heads(length, heads), 40)[0]
    assert found == pytest.approx(1 - np.array(never))


def test_gamblers_ruin() -> None:
    """From i of 10 with even odds, the bank is broken in the end with i / 10."""
    size = 9
    moves = np.diag(np.full(size - 1, 0.5), 1) + np.diag(np.full(size - 1, 0.5), -1)
    match = np.zeros(size)
    match[-1] = 0.5  # to 10; to 0 leads nowhere
    assert match_probability(chain_of(moves, match), 100_000) == pytest.approx(np.arange(1, 10) / 10)


@pytest.mark.parametrize("pattern", ["abc", "aab", "aba", "abab"])
def test_a_word_among_random_letters(pattern: str) -> None:
    """The automaton of Knuth, Morris and Pratt, against all words there are."""
    law = {"a": 0.5, "b": 0.3, "c": 0.2}
    size = len(pattern)
    moves, match = np.zeros((size, size)), np.zeros(size)
    for state, (letter, chance) in product(range(size), law.items()):
        seen = pattern[:state] + letter
        if seen == pattern:
            match[state] += chance
        else:
            longest = next(k for k in range(min(len(seen), size - 1), -1, -1) if seen.endswith(pattern[:k]))
            moves[state, longest] += chance
    found = waiting_time_cdf(chain_of(moves, match), 7)[0]
    for n in range(8):
        words = ["".join(word) for word in product(law, repeat=n)]
        expected = sum(np.prod([law[letter] for letter in word]) for word in words if pattern in word)
        assert found[n] == pytest.approx(expected)


# ── every chain ──


@quick
@given(CHAINS, st.integers(0, 60))
def test_probabilities_rise_within_0_and_1(chain: MarkovChain, events: int) -> None:
    cdf = waiting_time_cdf(chain, events)
    assert np.all((cdf >= 0) & (cdf <= 1))
    assert np.all(np.diff(cdf, axis=-1) >= 0)
    assert match_probability(chain, events) == pytest.approx(cdf[:, -1])


def played_out(chain: MarkovChain, seed: int, walks: int, events: int) -> None:
    """Many walks of the very chain: the shares are within five standard errors."""
    random = np.random.default_rng(seed)
    cumulated = np.cumsum(np.hstack([chain.moves, chain.match[:, None]]), axis=1)
    size = len(chain.match)
    state = np.zeros(walks, int)
    done = np.zeros(walks, bool)
    expected = waiting_time_cdf(chain, events)[0]
    for n in range(1, events + 1):
        chosen = (random.random(walks)[:, None] > cumulated[np.where(done, 0, state)]).sum(axis=1).clip(max=size)
        done |= chosen == size
        state = np.where(done, 0, chosen)
        error = np.sqrt(expected[n] * (1 - expected[n]) / walks)
        assert abs(done.mean() - expected[n]) <= 5 * error + 2 / walks


@quick
@given(CHAINS, st.integers(0, 2**32 - 1))
def test_as_when_it_is_played_out(chain: MarkovChain, seed: int) -> None:
    played_out(chain, seed, walks=4_000, events=12)


@pytest.mark.soak
def test_as_when_it_is_played_out_for_long() -> None:
    for seed in range(100):
        played_out(random_chain(1 + seed % 40, seed), seed, walks=30_000, events=40)


@quick
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4), st.integers(1, 6), st.integers(0, 30))
def test_many_chains_at_once_are_each_alone(seeds: list[int], states: int, events: int) -> None:
    alone = [random_chain(states, seed) for seed in seeds]
    together = MarkovChain(*(np.stack([getattr(c, name) for c in alone]) for name in ("moves", "match", "known")))
    assert match_probability(together, events) == pytest.approx(np.stack([match_probability(c, events) for c in alone]))
    assert match_probability(together, 5000) == pytest.approx(np.stack([match_probability(c, 5000) for c in alone]))
    assert waiting_time_cdf(together, events) == pytest.approx(np.stack([waiting_time_cdf(c, events) for c in alone]))


def test_a_large_sparse_chain_is_as_the_dense_one() -> None:
    chain = run_of_heads(300, 0.99)
    plain = np.zeros(300)
    for _ in range(400):
        plain = chain.match + chain.moves @ plain
    assert waiting_time_cdf(chain, 400)[:, -1] == pytest.approx(plain)
    assert match_probability(chain, 400) == pytest.approx(plain)
    assert match_probability(chain, 100) == pytest.approx(waiting_time_cdf(chain, 100)[:, -1])


# ── what is believed ──


def test_a_state_seen_too_rarely_has_no_forecast() -> None:
    counts, matched = np.array([[20.0, 20.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), np.array([10.0, 0.0, 0.0])
    found = match_probability(MarkovChain.of(counts, matched), 2)
    assert found[0] == pytest.approx(0.2 + 0.4 * 0.2)
    assert np.isnan(found[1:]).all()
    assert match_probability(MarkovChain.of(counts, matched, enough=0), 1)[1] == 0.0
    assert np.isnan(match_probability(MarkovChain.of(counts, matched, enough=0), 1)[2])
    assert np.isnan(waiting_time_cdf(MarkovChain.of(counts, matched), 3)[1:]).all()


def test_what_is_learned_of_a_chain_is_the_chain() -> None:
    true = chain_of([[0.7, 0.3, 0.0], [0.5, 0.1, 0.3], [0.2, 0.0, 0.2]], [0.0, 0.1, 0.6])
    statistics = Statistics.of(walk(true.moves, true.match, 4_000, processes=50))
    learned = MarkovChain.of(statistics.counts, statistics.matched)
    assert match_probability(learned, 8) == pytest.approx(match_probability(true, 8), abs=0.01)


# ── intervals ──


@quick
@given(CHAINS, st.integers(1, 40), st.floats(0.01, 1.0))
def test_the_interval_is_the_shortest(chain: MarkovChain, events: int, confidence: float) -> None:
    cdf = waiting_time_cdf(chain, events)
    starts, ends = shortest_interval(cdf, confidence)
    for item, start, end in zip(cdf, starts, ends):
        enough = [
            (last - first + 1, first)
            for first in range(1, events + 1)
            for last in range(first, events + 1)
            if item[last] - item[first - 1] >= confidence - 1e-12
        ]
        if not enough:
            assert (start, end) == (0, 0)
        else:
            assert (end - start + 1, start) == min(enough)


def test_an_interval_of_what_is_not_known() -> None:
    start, end = shortest_interval(np.array([[np.nan, np.nan], [0.0, 1.0]]), 0.9)
    assert (start.tolist(), end.tolist()) == ([0, 1], [0, 1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        shortest_interval(np.zeros((1, 3)), 1.5)

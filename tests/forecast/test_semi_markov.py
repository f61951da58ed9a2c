"""First passage within a duration: laws whose answer is known, chains that are played out, what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, stats

from foretell.arrays import Floats
from foretell.forecast.chain.first_passage import shortest_interval
from foretell.forecast.chain.semi_markov import SemiMarkovTable, SojournDistribution
from foretell.learn.histogram import BINS, EDGES, bin_of
from foretell.learn.sojourns import CENSORED, MATCH, Sojourns
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Trace
from tests.learn.traces import made, quick, traces


def sojourns(edges: dict[tuple[int, int], tuple[float, object]], states: int, weight: float = 1e6) -> Sojourns:
    """From exact laws: an edge has a share and the law of its time, or a time that it always takes."""
    source, target = (np.array(column, np.int64) for column in zip(*edges))
    bins, least, most = np.zeros((len(edges), BINS)), np.zeros(len(edges)), np.full(len(edges), EDGES[-2])
    for e, (share, law) in enumerate(edges.values()):
        if isinstance(law, float):
            bins[e, bin_of(np.array([law]))] = share * weight
            least[e] = most[e] = law
        else:
            bins[e] = share * weight * np.diff(law.cdf(EDGES))  # type: ignore[attr-defined]
    return Sojourns(np.arange(states, dtype=np.uint64), source, target, bins, np.zeros(len(edges)), least, most)


def exponential(rates: Floats, matching: Floats) -> Sojourns:
    """A Markov chain in continuous time."""
    total = rates.sum(axis=1) + matching
    edges: dict[tuple[int, int], tuple[float, object]] = {}
    for i, j in np.argwhere(rates > 0).tolist():
        edges[i, j] = rates[i, j] / total[i], stats.expon(scale=1 / total[i])
    for i in np.flatnonzero(matching).tolist():
        edges[i, MATCH] = matching[i] / total[i], stats.expon(scale=1 / total[i])
    return sojourns(edges, len(rates))


RATES, MATCHING = np.array([[0.0, 1.0, 0.2], [0.5, 0.0, 1.0], [0.1, 0.3, 0.0]]), np.array([0.0, 0.1, 2.0])


@pytest.mark.parametrize("horizon", [0.05, 0.7, 3.0, 20.0])
def test_exponential_sojourns_are_a_markov_chain_in_continuous_time(horizon: float) -> None:
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = RATES, MATCHING
    generator -= np.diag(generator.sum(axis=1))
    found = SemiMarkovTable.of(exponential(RATES, MATCHING), horizon)
    assert found.table[:, 0] == pytest.approx(linalg.expm(generator * horizon)[:3, 3], abs=2e-3)
    # An exponential sojourn does not know its age.
    young = found.ages < 2.0
    assert np.ptp(found.table[:, young], axis=1).max() < 4e-3


@pytest.mark.parametrize(
    ("horizon", "expected"), [(4.9, [0.0, 0.0]), (5.5, [0.0, 1.0]), (7.9, [0.0, 1.0]), (8.1, [1, 1])]
)
def test_delays_that_are_always_the_same(horizon: float, expected: list[float]) -> None:
    found = SemiMarkovTable.of(sojourns({(0, 1): (1.0, 3.0), (1, MATCH): (1.0, 5.0)}, 2), horizon)
    assert found.table[:, 0] == pytest.approx(expected)


def test_what_is_left_of_a_sojourn() -> None:
    """Of two hours three quarters have passed: a match within the half hour is certain, before it was not to be."""
    found = SemiMarkovTable.of(sojourns({(0, MATCH): (1.0, 7200.0)}, 1), 2400.0)
    state = np.zeros(3, np.uint64)
    assert found.waiting_time_cdf(state, np.array([0.0, 4000.0, 5400.0]))[:, -1] == pytest.approx([0.0, 0.0, 1.0])
    aged = SemiMarkovTable.of(
        sojourns({(0, MATCH): (0.5, stats.uniform(0, 10)), (0, 1): (0.5, stats.uniform(0, 10))}, 2), 2.0
    )
    # Of those that last 4, a third ends within 2, half of them with a match; nothing is known after state 1.
    assert aged.waiting_time_cdf(np.array([0], np.uint64), np.array([4.0]))[:, -1] == pytest.approx([1 / 6], abs=0.01)


def test_configurations_never_seen() -> None:
    found = SemiMarkovTable.of(sojourns({(0, 1): (1.0, 1.0), (1, MATCH): (1.0, 1.0)}, 2), 3.0)
    asked = found.waiting_time_cdf(np.array([0, 1, 2, 3], np.uint64), np.zeros(4))[:, -1]
    assert asked[:2] == pytest.approx([1.0, 1.0])
    assert np.isnan(asked[2:]).all()


def test_the_chance_of_another_way_sinks_with_age() -> None:
    """Quick ends are other ends; what lasts will match (the reason why an age is worth knowing)."""
    learned = sojourns({(0, 1): (0.5, stats.uniform(0, 1)), (0, MATCH): (0.5, stats.uniform(10, 2))}, 2)
    found = SemiMarkovTable.of(learned, 20.0)
    assert found.waiting_time_cdf(np.zeros(2, np.uint64), np.array([0.0, 2.0]))[:, -1] == pytest.approx(
        [0.5, 1.0], abs=1e-6
    )


def test_what_had_not_ended_counts() -> None:
    """Exponential times seen for a random while: half of them unended, and the law is found all the same."""
    random = np.random.default_rng(0)
    size = 40_000
    took, watched = random.exponential(10.0, size), random.exponential(10.0, size)
    ended = took <= watched
    process = np.arange(size)
    trace = Trace(
        process=np.concatenate([process, process[ended]]),
        ordinal=np.concatenate([np.zeros(size, int), np.ones(ended.sum(), int)]),
        time=np.concatenate([np.zeros(size), took[ended]]),
        state=np.concatenate([np.ones(size, np.uint64), np.zeros(ended.sum(), np.uint64)]),
        matched=np.concatenate([np.zeros(size, bool), np.ones(ended.sum(), bool)]),
        starts=False,
        last_time=watched,
    )
    learned = Statistics.of(trace, max_lanes=0).sojourns
    assert set(learned.target.tolist()) == {MATCH, CENSORED}
    found = SemiMarkovTable.of(learned, 5.0)
    assert found.table[1, 0] == pytest.approx(1 - np.exp(-0.5), abs=0.015)
    ignoring = SemiMarkovTable.of(
        Sojourns(
            learned.states,
            *(
                column[learned.target == MATCH]
                for column in (learned.source, learned.target, learned.bins, learned.total, learned.least, learned.most)
            ),
        ),
        5.0,
    )
    assert ignoring.table[1, 0] > 0.5  # twice the rate


@pytest.mark.parametrize("seed", range(3))
def test_as_when_it_is_played_out(seed: int) -> None:
    """Gamma and Weibull sojourns, learned from one part of the play and asked of another."""
    random = np.random.default_rng(seed)
    states, walks, horizon = 3, 10_000, 4.0
    shares = random.dirichlet(np.full(states + 1, 0.7), states)
    shape, scale = random.uniform(0.7, 5, (states, states + 1)), random.uniform(0.2, 1.0, (states, states + 1))

    def played(begin: int, length: int) -> tuple[Floats, Floats, Floats]:
        state, clock = np.full(walks, begin), np.zeros(walks)
        columns: tuple[list[Floats], ...] = ([state.copy()], [clock.copy()], [np.zeros(walks, bool)])
        for _ in range(length):
            chosen = (random.random(walks)[:, None] > np.cumsum(shares[state], axis=1)).sum(axis=1).clip(max=states)
            clock = clock + random.gamma(shape[state, chosen]) * scale[state, chosen]
            matched = chosen == states
            state = np.where(matched, begin, chosen)
            for column, value in zip(columns, (state, clock, matched)):
                column.append(value.copy())
        return tuple(np.array(column) for column in columns)  # type: ignore[return-value]

    state, clock, matched = played(0, 20)
    rows = np.arange(state.size)
    learned = Statistics.of(
        made(
            process=rows % walks,
            ordinal=rows // walks,
            time=clock.ravel(),
            state=state.ravel(),
            matched=matched.ravel(),
            starts=False,
        ),
        max_lanes=0,
    )
    found = SemiMarkovTable.of(learned.sojourns, horizon)
    for begin in range(states):
        _, clock, matched = played(begin, 40)
        first = np.where(matched.any(axis=0), clock[matched.argmax(axis=0), np.arange(walks)], np.inf)
        assert found.table[begin, 0] == pytest.approx((first <= horizon).mean(), abs=0.02)


@quick
@given(traces(), st.sampled_from([0.1, 1.0, 40.0]))
def test_probabilities_lie_within_0_and_1_and_rise(trace: Trace, horizon: float) -> None:
    learned = Statistics.of(trace).sojourns
    shorter, longer = (SemiMarkovTable.of(learned, h, enough=0) for h in (horizon, 2 * horizon))
    for found in (shorter, longer):
        known = found.table[~np.isnan(found.table)]
        assert np.all((known >= 0) & (known <= 1))
    believed = ~np.isnan(longer.table[:, 0])
    cdf = longer.waiting_time_cdf(longer.states, np.zeros(len(longer.states)))
    assert np.isnan(cdf[~believed]).all()
    waiting = cdf[believed]
    assert np.all(np.diff(waiting, axis=1) >= -1e-9)
    assert waiting[:, -1] == pytest.approx(longer.table[believed, 0])
    half = waiting[:, waiting.shape[1] // 2]
    assert half == pytest.approx(shorter.table[believed, 0], abs=0.2)


def test_the_waiting_time_in_steps() -> None:
    found = SemiMarkovTable.of(sojourns({(0, MATCH): (1.0, stats.uniform(4, 2))}, 1), 9.6)
    start, end = shortest_interval(found.waiting_time_cdf(found.states, np.array([0.0])), 0.9)
    assert (float(start[0]) - 1) * 0.1 == pytest.approx(4.1, abs=0.2)
    assert float(end[0]) * 0.1 == pytest.approx(5.9, abs=0.2)
    start, end = shortest_interval(found.waiting_time_cdf(found.states, np.array([2**2.25])), 0.9)
    assert start[0] == 1
    assert float(end[0]) * 0.1 == pytest.approx(0.9 * (6 - 2**2.25), abs=0.2)


def test_sojourns_without_any_length_come_to_an_end() -> None:
    found = SemiMarkovTable.of(sojourns({(0, 1): (1.0, 0.0), (1, 0): (1.0, 0.0)}, 2), 1.0)
    assert found.table[:, 0].tolist() == [0.0, 0.0]
    found = SemiMarkovTable.of(sojourns({(0, 1): (1.0, 0.0), (1, 0): (0.9, 0.0), (1, MATCH): (0.1, 0.0)}, 2), 1.0)
    assert found.table[:, 0] == pytest.approx([1.0, 1.0], abs=1e-5)


def test_too_few_sojourns_give_no_forecast() -> None:
    learned = sojourns({(0, MATCH): (1.0, 1.0)}, 1, weight=20.0)
    assert np.isnan(SemiMarkovTable.of(learned, 2.0).table).all()
    assert SemiMarkovTable.of(learned, 2.0, enough=20.0).table[0, 0] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="finite duration above 0"):
        SemiMarkovTable.of(learned, 0.0)


def test_a_law_is_its_curve_and_its_area() -> None:
    law = SojournDistribution.of(np.diff(stats.expon.cdf(EDGES)), 0.0, EDGES[-2])
    time = np.array([0.0, 0.01, 0.5, 1.0, 3.0])
    reached, area = law(time)
    assert reached == pytest.approx(stats.expon.cdf(time), abs=1e-3)
    assert area == pytest.approx(time - stats.expon.cdf(time), abs=1e-3)

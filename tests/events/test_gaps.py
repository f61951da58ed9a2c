"""The probabilities of gaps: against closed forms, numerical integration, and simulation of what they mean."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from foretell.arrays import Floats
from foretell.events.delays.densities import Density, convolution, log_convolution, mixture
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.gaps import HiddenStep, HiddenSteps, at_edges, between_events
from foretell.events.delays.independent_gaps import IndependentGap, IndependentStep, Link


def delay(distribution: str = "exponential", **parameters: object) -> DelayDistribution:
    return DelayDistribution.of({"distribution": distribution, **parameters})


def exponential(mean: float, share: float = 1.0) -> DelayDistribution:
    return delay(mean=mean, share=share)


# ── convolution ──

RATIOS = [1e-6, 1e-3, 0.5, 3.0, 1e3, 1e6]


@pytest.mark.parametrize("ratio", RATIOS)
def test_exponentials_convolve_at_any_ratio_of_time_to_delay(ratio: float) -> None:
    first, second = Density.of(exponential(1.0)), Density.of(exponential(2.0))
    exact = -ratio / 2 + math.log(-math.expm1(-ratio / 2))  # (exp(-T/2) - exp(-T)) / (2 - 1)
    assert log_convolution(first, second, np.array([ratio]))[0] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("time", [1.0, 1e3, 6150.0, 7e3, 1e5, 1e7])
def test_gammas_convolve_far_out_in_their_tails(time: float) -> None:
    first, second = (Density.of(delay("gamma", shape=shape, scale=3.0)) for shape in (2000, 50))
    exact = delay("gamma", shape=2050, scale=3.0).log_density(np.array([time]))[0]
    assert log_convolution(first, second, np.array([time]))[0] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("time", [1e-60, 1e-12, 1e-3, 1.0, 30.0, 1e4, 1e15])
def test_densities_that_rise_without_bound_convolve(time: float) -> None:
    """Two gamma delays are one with the sum of their shapes; near 0 their densities are infinite."""
    first, second = (Density.of(delay("gamma", shape=shape, scale=1.0)) for shape in (0.1, 0.2))
    exact = -0.7 * math.log(time) - time - math.lgamma(0.3)
    found = log_convolution(first, second, np.array([time]))[0]
    assert found == pytest.approx(exact, abs=1e-7, rel=1e-14)
    table = convolution(first, second, 1e15)
    # Ends of tables are where the logarithm is that of nothing.
    assert table.log_density(np.array([time]))[0] == (-math.inf if time > 1e8 else pytest.approx(exact, abs=1e-4))


def test_a_short_delay_at_the_end_of_a_long_time() -> None:
    """No float has the difference of 10^14 and 10^14 less 10^-9."""
    short, long = Density.of(exponential(1e-9)), Density.of(exponential(1e14))
    found = log_convolution(long, short, np.array([1e14]))[0]
    assert found == pytest.approx(-1.0 - math.log(1e14), abs=1e-7)


def test_a_narrow_delay_beside_a_wide_one() -> None:
    narrow, wide = stats.lognorm(0.01, scale=10.0), stats.lognorm(3.0, scale=1e-3)
    first = Density.of(delay("lognormal", median=10.0, sigma=0.01))
    second = Density.of(delay("lognormal", median=1e-3, sigma=3.0))
    # The sum is the mean of the wide one's density over the quantiles of the narrow one, at times past both.
    quantiles = narrow.ppf((np.arange(200_000) + 0.5) / 200_000)
    for time in (11.0, 20.0):
        found = log_convolution(first, second, np.array([time]))[0]
        assert found == pytest.approx(math.log(np.mean(wide.pdf(time - quantiles))), abs=1e-4)


def test_tables_of_convolutions() -> None:
    one = Density.of(exponential(1.0))
    times = np.geomspace(1e-5, 10.0, 50)
    two = convolution(one, one, 10.0)
    assert two.log_density(times) == pytest.approx(delay("gamma", shape=2, scale=1).log_density(times), abs=1e-5)
    three = log_convolution(two, one, times)
    assert three == pytest.approx(delay("gamma", shape=3, scale=1).log_density(times), abs=1e-4)
    flat = Density.of(delay("uniform", low=0, high=2))
    within = np.linspace(0.01, 3.9, 99)
    triangle = np.where(within < 2, within / 4, (4 - within) / 4)
    assert np.exp(convolution(flat, flat, 4.0).log_density(within)) == pytest.approx(triangle, rel=1e-4)


smooth_delays = st.one_of(
    st.builds(lambda mean: exponential(mean), st.floats(0.01, 100.0)),
    st.builds(lambda shape, scale: delay("gamma", shape=shape, scale=scale), st.floats(0.8, 20.0), st.floats(0.1, 10)),
    st.builds(lambda median, sigma: delay("lognormal", median=median, sigma=sigma), st.floats(0.1, 50.0),
              st.floats(0.02, 2.0)),
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(smooth_delays, smooth_delays, st.floats(1.0, 1e4))
def test_tables_of_smooth_convolutions_equal_the_integrals(
    first: DelayDistribution, second: DelayDistribution, until: float
) -> None:
    """Among them a narrow delay that comes once in a thousand cases beside a wide one."""
    rare = Density.of(delay("lognormal", median=until / 7, sigma=0.003)).scaled(1e-3)
    either = mixture([Density.of(first), rare])
    times = np.concatenate([np.geomspace(until / 1e3, until, 60), until / 7 * np.linspace(1.0, 1.05, 40)])
    exact = log_convolution(either, Density.of(second), times)
    table = convolution(either, Density.of(second), until).log_density(times)
    likely = exact > -200
    assert table[likely] == pytest.approx(exact[likely], abs=1e-4)


def test_a_probability_at_one_time_convolves() -> None:
    points = Density.of(delay("points", points=[[0, 0.3], [10, 1.0]]))
    found = np.exp(log_convolution(points, points, np.array([5.0, 12.0])))
    assert found == pytest.approx([2 * 0.3 * 0.07 + 0.07 * 0.07 * 5, 0.07**2 * 8])


# ── both ends given ──


def between(gap: HiddenSteps, end: str = "v") -> float:
    return float(between_events(gap, end, np.array([gap.until]))[0])


def edge_of(gap: HiddenSteps) -> float:
    return float(at_edges([gap], np.array([gap.until]))[0])


def hidden(*steps: HiddenStep, until: float, **delays: DelayDistribution) -> HiddenSteps:
    """Delays are named by the two steps, as u_b."""
    pairs = {(name.split("_")[0], name.split("_")[1]): found for name, found in delays.items()}
    return HiddenSteps("u", steps, pairs, until)


@pytest.mark.parametrize("ratio", RATIOS)
def test_one_lost_step_at_any_ratio(ratio: float) -> None:
    delays = {name: exponential(1.0, share) for name, share in (("u_b", 0.8), ("u_v", 1.0), ("b_v", 1.0))}
    found = between(hidden(HiddenStep("b", 0.1, wanted=True), until=ratio, **delays))
    lost, other = 0.1 * 0.8 * ratio, 0.2  # both times exp(-T)
    assert found == pytest.approx(lost / (lost + other), rel=1e-6)


def test_no_way_leads_through_the_gap() -> None:
    delays = {name: delay("uniform", low=0, high=1) for name in ("u_b", "u_v", "b_v")}
    assert math.isnan(between(hidden(HiddenStep("b", 0.1, wanted=True), until=5.0, **delays)))


@pytest.mark.parametrize("ratio", RATIOS)
def test_one_step_at_the_edge_at_any_ratio(ratio: float) -> None:
    came = 0.9 * -math.expm1(-ratio)
    lost = hidden(HiddenStep("b", 0.2, wanted=True), until=ratio, u_b=exponential(1.0, 0.9))
    absent = hidden(HiddenStep("b", 0.2, wanted=False), until=ratio, u_b=exponential(1.0, 0.9))
    assert edge_of(lost) == pytest.approx(0.2 * came / (0.2 * came + 1 - came), rel=1e-6)
    assert edge_of(absent) == pytest.approx((1 - came) / (0.2 * came + 1 - came), rel=1e-6)


def test_both_ends_lost_share_the_window() -> None:
    flat = delay("uniform", low=0, high=4)
    ends = [hidden(HiddenStep(name, 0.5, wanted=True), until=4.0, **{f"u_{name}": flat}) for name in "xz"]
    before, after = ends
    assert at_edges((before, after), np.array([4.0])) == pytest.approx([0.5], abs=1e-5)


steps = st.lists(st.tuples(st.booleans(), st.floats(0.05, 0.6)), min_size=1, max_size=3)


@settings(max_examples=12, deadline=None)
@given(steps, st.integers(0, 10_000), st.booleans(), st.floats(0.3, 4.0))
def test_agrees_with_simulation(drawn: list[tuple[bool, float]], seed: int, edge: bool, until: float) -> None:
    """A chain of steps is simulated, some of which are lost; of the gaps in which nothing was seen, how many are as
    wanted?"""
    rng = np.random.default_rng(seed)
    hidden_steps = tuple(HiddenStep(f"h{i}", loss, wanted) for i, (wanted, loss) in enumerate(drawn))
    names = ["u", *(h.name for h in hidden_steps), "v"]
    delays = {pair: exponential(rng.uniform(0.3, 3.0), rng.uniform(0.2, 0.9)) for pair in combinations(names, 2)}
    gap = HiddenSteps("u", hidden_steps, delays, until)
    expected = edge_of(gap) if edge else between(gap)
    assert not math.isnan(expected)
    wanted, unseen = simulate(gap, 200_000, rng, edge=edge)
    if unseen > 500:
        spread = math.sqrt(max(expected * (1 - expected), 1 / unseen) / unseen)
        tolerance = 5 * spread + (0 if edge else 0.02)  # of both ends, times near `until` are taken
        assert wanted / unseen == pytest.approx(expected, abs=tolerance)


def simulate(gap: HiddenSteps, tries: int, rng: np.random.Generator, *, edge: bool) -> tuple[int, int]:
    names = ["u", *(h.name for h in gap.steps), "v"]
    losses = np.array([0.0, *(h.loss for h in gap.steps), 0.0])
    place, clock = np.zeros(tries, int), np.zeros(tries)
    came = np.zeros((tries, len(names)), bool)
    going = np.ones(tries, bool)
    while going.any():
        following, after = np.full(tries, -1), np.full(tries, np.inf)
        for start, end in combinations(range(len(names) - (1 if edge else 0)), 2):
            law = gap.delays[names[start], names[end]]
            mean = law.parameters["mean"]
            assert isinstance(mean, float)
            chosen = going & (place == start) & (following < 0) & (rng.random(tries) < law.share)
            following = np.where(chosen, end, following)
            after = np.where(chosen, rng.exponential(mean, tries), after)
        clock = np.where(following >= 0, clock + after, clock)
        within = going & (following >= 0) & ((clock <= gap.until) if edge else True)
        came[np.flatnonzero(within), following[within]] = True
        place = np.where(within, following, place)
        going = within & (place < len(names) - 1)
    seen = (came & (rng.random(came.shape) >= losses))[:, 1:-1].any(axis=1)
    relevant = ~seen if edge else ~seen & came[:, -1] & (np.abs(clock / gap.until - 1) < 0.03)
    as_wanted = (came[:, 1:-1] == np.array([h.wanted for h in gap.steps])).all(axis=1)
    return int((relevant & as_wanted).sum()), int(relevant.sum())


# ── regardless of the end, and the paper's own ──


def step(mean: float, share: float = 1.0, loss: float = 0.1) -> IndependentStep:
    return IndependentStep(exponential(mean, share), loss)


def test_two_lost_steps_convolve() -> None:
    length, loss = 3.0, 0.1
    item = 1 - math.exp(-length)
    both = 1 - (0.5 * math.exp(-length) - math.exp(-length / 2)) / (0.5 - 1)
    unseen = (1 - item) + loss * (item - both) + loss**2 * both
    gap = IndependentGap(length, (Link(step(1.0)), Link(step(2.0))))
    assert gap.probability() == pytest.approx(loss**2 * both / unseen, rel=1e-6)


@pytest.mark.parametrize("ratio", RATIOS)
def test_one_step_regardless_of_the_end(ratio: float) -> None:
    came = 0.7 * -math.expm1(-ratio)
    lost = IndependentGap(ratio, (Link(step(1.0, 0.7)),))
    assert lost.probability() == pytest.approx(0.1 * came / (0.1 * came + 1 - came), rel=1e-6)
    assert lost.published() == pytest.approx(0.1 * came, rel=1e-6)
    absent = IndependentGap(ratio, (), (step(1.0, 0.7),))
    assert absent.probability() == pytest.approx((1 - came) / (0.1 * came + 1 - came), rel=1e-6)
    assert absent.published() == pytest.approx(absent.probability(), rel=1e-9)


def test_a_heavy_tail_and_a_short_delay_without_a_window() -> None:
    # x lost t before z and no y between: 0.5 I[exp(-2t)]; with a lost y between, 0.2 of the rest.
    short = IndependentStep(exponential(5.0), 0.2)
    gap = IndependentGap(86_400.0, (Link(IndependentStep(exponential(5.0), 0.5), (short,)),), backwards=True)
    assert gap.probability() == pytest.approx(1 / 1.2, abs=1e-4)
    tail = IndependentStep(delay("lognormal", median=5.0, sigma=3.0), 0.5)
    endless = IndependentGap(math.inf, (Link(tail, (IndependentStep(tail.delay, 0.2),)),), backwards=True)
    assert endless.probability() == pytest.approx(1 / 1.2, abs=1e-4)


def test_published_scores_of_many_lost_steps() -> None:
    """Equal delays are in each order with the same probability."""
    delay = DelayDistribution.of({"distribution": "lognormal", "median": 5.0, "sigma": 1.0, "share": 0.9})
    links = (Link(IndependentStep(delay, 0.2)),) * 5
    gap = IndependentGap(30.0, links)
    lengths = np.array([0.5, 5.0, 30.0])
    assert gap.published_scores(lengths) == pytest.approx((0.2 * delay.cdf(lengths)) ** 5 / math.factorial(5), rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.3, 4.0), st.floats(0.3, 4.0), st.floats(0.3, 6.0), st.floats(0.05, 0.9))
def test_published_scores_by_numerical_integration(first: float, second: float, length: float, loss: float) -> None:
    b, c = exponential(first, 0.8), exponential(second, 0.7)

    def density(law: DelayDistribution, t: float) -> float:
        return float(np.exp(law.log_density(np.array([t])))[0])

    both = quad(lambda t: density(c, t) * float(b.cdf(t)), 0, length)[0]
    links = (Link(IndependentStep(b, loss)), Link(IndependentStep(c, loss)))
    assert IndependentGap(length, links).published() == pytest.approx(loss**2 * both, rel=1e-6)
    negated = IndependentStep(exponential(1.0), 0.2)
    came = -math.expm1(-length)
    factor = (1 - came) / (0.2 * came + 1 - came)
    around = IndependentGap(length, (Link(IndependentStep(b, loss), (negated,)),), (negated, negated))
    assert around.published() == pytest.approx(factor**3 * loss * float(b.cdf(length)), rel=1e-6)


means = st.floats(0.3, 4.0)
random_steps = st.builds(step, means, st.floats(0.2, 1.0), st.floats(0.05, 0.9))
gaps = st.builds(
    IndependentGap,
    st.floats(0.2, 6.0),
    st.lists(st.builds(Link, random_steps, st.lists(random_steps, max_size=2).map(tuple)), max_size=2).map(tuple),
    st.lists(random_steps, max_size=2).map(tuple),
    st.booleans(),
)


@settings(max_examples=12, deadline=None)
@given(gaps)
def test_independent_gaps_agree_with_simulation(gap: IndependentGap) -> None:
    happened, unseen = simulate_independent(gap, 200_000)
    expected = gap.probability()
    assert 0 <= expected <= 1
    if unseen > 500:
        spread = math.sqrt(max(expected * (1 - expected), 1 / unseen) / unseen)
        assert happened / unseen == pytest.approx(expected, abs=5 * spread)


def simulate_independent(gap: IndependentGap, tries: int) -> tuple[int, int]:
    """How often all positives happened, none of the negated ones, and nothing was seen; how often nothing was seen."""
    rng = np.random.default_rng(7)

    def drawn(hidden: IndependentStep) -> Floats:
        mean = hidden.delay.parameters["mean"]
        assert isinstance(mean, float)
        came = rng.random(tries) < hidden.delay.share
        return np.where(came, rng.exponential(mean, tries), np.inf)

    def is_seen(hidden: IndependentStep, happened: np.ndarray) -> np.ndarray:
        return happened & (rng.random(tries) >= hidden.loss)

    clock = np.zeros(tries)
    going = np.ones(tries, bool)
    noticed = np.zeros(tries, bool)
    broken = np.zeros(tries, bool)
    for link in gap.links:
        arrival = clock + drawn(link.positive)
        came = going & (arrival <= gap.length)
        until = np.where(came, arrival, gap.length)
        for negated in link.negated:
            # Seen backwards, the negated step counts only where the positive one it belongs to happened.
            counts = came if gap.backwards else going
            happened = counts & (drawn(negated) <= until - clock)
            broken |= happened
            noticed |= is_seen(negated, happened)
        noticed |= is_seen(link.positive, came)
        clock, going = np.where(came, arrival, clock), came
    for negated in gap.negated:
        happened = going & (drawn(negated) <= gap.length - clock)
        broken |= happened
        noticed |= is_seen(negated, happened)
    return int(np.sum(going & ~broken & ~noticed)), int(np.sum(~noticed))

"""Tables and contexts of variable order: what memory is worth, and that none is seen where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.arrays import Flags, Floats
from foretell.forecast.chain.first_passage import MarkovChain, match_probability
from foretell.forecast.chain.match_interval import IntervalRequest, LookupKeys, WaitingTimeEstimator
from foretell.forecast.chain.probability_table import ProbabilityTable
from foretell.forecast.training.context_order import select_order
from foretell.learn.calibration import Calibration
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import matched_within
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics, merge_statistics
from foretell.learn.trace import Trace
from tests.learn.sources import as_three_before, matching, no_memory, parity, symbols
from tests.learn.traces import made, walk


def area_under_the_curve(message: Floats, came: Flags) -> float:
    _, number, count = np.unique(message, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[number]
    positive = came.sum()
    return float((rank[came].sum() - positive * (positive + 1) / 2) / (positive * (len(came) - positive)))


def judged(contexts: Contexts, history: Trace, later: Trace, events: int) -> tuple[float, float]:
    """On later data: AUC, and the expected calibration error over ten bins."""
    learned = Statistics.of(history, contexts.after(history.symbol, history.process))
    forecasts = ProbabilityTable.of(learned, events).at(later.state, contexts.after(later.symbol, later.process))
    came, known = matched_within(later, events)
    forecasts, came = forecasts[known], came[known]
    assert not np.isnan(forecasts).any()
    bins = np.minimum((forecasts * 10).astype(int), 9)
    error = sum(abs(forecasts[bins == b].sum() - came[bins == b].sum()) for b in range(10)) / len(forecasts)
    return area_under_the_curve(forecasts, came), error


def test_longer_memory_is_found_and_worth_it() -> None:
    history, later = (matching([0, 1], symbols(as_three_before, 40_000, seed)) for seed in (1, 2))
    found = select_order(history, 3)
    assert found.order == 3
    alone, _ = judged(NO_CONTEXTS, history, later, 3)
    order_one, _ = judged(select_order(history, 3, orders=[1]).contexts, history, later, 3)
    auc, error = judged(found.contexts, history, later, 3)
    assert auc > max(alone, order_one) + 0.2
    assert error < 0.03


def test_memory_that_the_configuration_has_already() -> None:
    """The source looks two symbols back. `0 , 0 , 1` itself knows them where they count; `0 , 1` knows only one."""
    symbol = symbols(parity, 30_000)
    assert select_order(matching([0, 0, 1], symbol), 2).order == 0
    assert select_order(matching([0, 1], symbol), 2).order == 2


@pytest.mark.parametrize("seed", range(3))
def test_no_memory_no_contexts(seed: int) -> None:
    found = select_order(matching([0, 1], symbols(no_memory, 20_000, seed)), 5)
    assert found.order == 0
    assert found.contexts == NO_CONTEXTS
    assert len(found.losses) == len(found.orders) == 6


def test_too_little_to_tell() -> None:
    assert select_order(matching([0, 1], symbols(no_memory, 12)), 5).order == 0
    assert select_order(matching([0, 1], np.zeros(0, np.int64)), 5).order == 0


def test_a_context_never_seen_falls_back_to_the_configuration() -> None:
    trace = matching([0, 1], symbols(as_three_before, 5_000))
    contexts = select_order(trace, 3, orders=[3]).contexts
    learned = Statistics.of(trace, contexts.after(trace.symbol, trace.process))
    alone = learned.without_contexts()
    table = ProbabilityTable.of(learned, 3)
    plain = match_probability(MarkovChain.of(alone.counts, alone.matched), 3)
    seen = set(zip(learned.states.tolist(), learned.contexts.tolist()))
    missing = next((s, x) for s in range(2) for x in range(len(contexts)) if (s, x) not in seen)
    state, context = np.array([missing[0]], np.uint64), np.array([missing[1]])
    assert table.at(state, context) == pytest.approx(plain[[missing[0]]])
    assert table.at(state, np.array([999])) == pytest.approx(table.at(state, np.array([0])))


def test_intervals_by_context() -> None:
    """Every third symbol comes again, nearly always: the context knows when, the configuration alone does not."""
    trace = matching([0], np.where(np.random.default_rng(0).random(30_000) < 0.01, 1, np.arange(30_000) % 3))
    contexts = select_order(trace, 1, orders=[3]).contexts
    context = contexts.after(trace.symbol, trace.process)
    known, alone, few = Statistics.of(trace, context), Statistics.of(trace), Statistics.of(trace.until(20))

    def intervals(statistics: Statistics, states: list[int]) -> list[list[float]]:
        estimator = WaitingTimeEstimator(Horizon(events=5), statistics, Learning())
        keys = LookupKeys(np.full(len(states), -1), np.array(states), np.zeros(len(states)))
        found: list[list[float]] = np.transpose(estimator.intervals(keys, IntervalRequest(0.8, 4))).tolist()
        return found

    assert intervals(alone, [0]) == [[1, 5]]  # 1 - 0.67⁴ is not quite 0.8
    states = [known.contexts.tolist().index(c) for c in context[302:305]]
    assert intervals(known, states) == [[1, 1], [3, 3], [2, 2]]
    assert np.isnan(intervals(few, [0])).all()


def test_configurations_never_seen() -> None:
    counts = walk(np.array([[0.5, 0.3], [0.6, 0.2]]), np.array([0.2, 0.2]), 500)
    table = ProbabilityTable.of(Statistics.of(counts), 4)
    asked = np.array([1, 2, 0, 3], np.uint64)
    found = table.at(asked, np.zeros(4, np.int64))
    assert not np.isnan(found[[0, 2]]).any()
    assert np.isnan(found[[1, 3]]).all()  # 2 was never seen, and of 3 the furthest is 2
    nothing = Statistics.of(made(process=[], ordinal=[], time=[], state=[], matched=[]))
    assert np.isnan(ProbabilityTable.of(nothing, 4).at(asked, np.zeros(4, np.int64))).all()


def test_lanes_have_their_own_forecasts() -> None:
    quick_lane = walk(np.array([[0.5]]), np.array([0.5]), 2_000, keys=('"quick"',))
    slow_lane = walk(np.array([[0.95]]), np.array([0.05]), 2_000, keys=('"slow"',))
    new_lane = made(process=[0], ordinal=[0], time=[0], state=[0], matched=[False], keys=('"new"',))
    statistics = merge_statistics(
        merge_statistics(Statistics.of(quick_lane), Statistics.of(slow_lane)), Statistics.of(new_lane)
    )
    table = ProbabilityTable.of(statistics, 3)
    assert table.keys == ('"new"', '"quick"', '"slow"')
    pool, new, fast, slow = table.at(np.zeros(4, np.uint64), np.zeros(4, np.int64), np.arange(4))
    assert slow == pytest.approx(1 - 0.95**3, abs=0.03)
    assert fast == pytest.approx(1 - 0.5**3, abs=0.03)
    assert new == pytest.approx(pool, abs=0.05)


def test_a_calibration_is_applied() -> None:
    statistics = Statistics.of(walk(np.array([[0.8]]), np.array([0.2]), 2_000))
    plain, halved = (
        ProbabilityTable.of(statistics, 3, calibration=c)
        for c in (Calibration(), Calibration(((0.0, 0.0), (1.0, 0.5))))
    )
    assert halved.probability == pytest.approx(plain.probability / 2)

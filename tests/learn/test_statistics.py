"""Counting: against a plain loop over the events, and the laws of merging and ageing."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.learn import sojourns as lasting
from foretell.learn.histogram import BINS, EDGES, bin_of
from foretell.learn.lane_statistics import estimate_strength, shrunk_counts
from foretell.learn.sojourns import CENSORED, MATCH
from foretell.learn.statistics import Statistics, merge_statistics
from foretell.learn.trace import Trace, furthest
from tests.learn.traces import made, quick, traces, walk

HALF_LIVES = st.sampled_from([math.inf, 7.0])


def plain(trace: Trace, half_life: float) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    """Transitions, matches and sojourns as one would count them by hand, one event after the other."""
    transitions: Any = Counter()
    lanes: Any = Counter()
    sojourns: Any = Counter()
    present: dict[int, tuple[Any, ...]] = {}  # process: configuration, ordinal, when it was entered
    until = trace.number.max(initial=-1) + 1
    weights: dict[int, float] = {}
    for row in range(len(trace)):
        process, state, ordinal, time = (
            column[row].item() for column in (trace.process, trace.state, trace.ordinal, trace.time)
        )
        weight = weights[process] = 2.0 ** ((trace.number[row] + 1 - until) / half_life)
        target = "match" if trace.matched[row] else state
        known = process in present
        before, was, entered = present.get(process, (0, ordinal - 1, time))
        if known or trace.starts:
            for counter, edge in ((transitions, (before, target)), (lanes, (trace.keys[process], before, target))):
                counter[edge] += weight
        if known:
            for counter, edge in ((transitions, (before, before)), (lanes, (trace.keys[process], before, before))):
                counter[edge] += weight * (ordinal - was - 1)
        changed = target != before
        if known and changed:
            sojourns[before, target, bin_of(np.array([time - entered])).item()] += weight
        present[process] = state, ordinal, time if changed or not known else entered
    for process, (state, ordinal, entered) in present.items():
        weight, idle = weights[process], trace.last_ordinal[process] - ordinal
        transitions[state, state] += weight * idle
        lanes[trace.keys[process], state, state] += weight * idle
        lasted = trace.last_time[process] - entered
        sojourns[state, "still", bin_of(np.array([lasted])).item()] += weight
    return _positive(transitions), _positive(lanes), _positive(sojourns)


def _positive(counter: Counter[Any]) -> Counter[Any]:
    return Counter({key: value for key, value in counter.items() if value > 0})


def counted(statistics: Statistics) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    states = statistics.states.tolist()
    transitions, lanes, sojourns = Counter[Any](), Counter[Any](), Counter[Any]()
    for i, state in enumerate(states):
        transitions[state, "match"] = statistics.matched[i].item()
        for lane, key in enumerate(statistics.lanes.keys):
            lanes[key, state, "match"] = statistics.lanes.matched[lane, i].item()
        for j, other in enumerate(states):
            transitions[state, other] = statistics.counts[i, j].item()
            for lane, key in enumerate(statistics.lanes.keys):
                lanes[key, state, other] = statistics.lanes.counts[lane, i, j].item()
    lasting = statistics.sojourns
    for e in range(len(lasting.source)):
        target = lasting.target[e]
        name = {MATCH: "match", CENSORED: "still"}.get(target) or lasting.states[target].item()
        for b in np.flatnonzero(lasting.bins[e]):
            sojourns[lasting.states[lasting.source[e]].item(), name, b] += lasting.bins[e, b].item()
    return _positive(transitions), _positive(lanes), _positive(sojourns)


@quick
@given(traces(), HALF_LIVES)
def test_counts_as_one_would_by_hand(trace: Trace, half_life: float) -> None:
    found = Statistics.of(trace, half_life=half_life)
    for group, other in zip(counted(found), plain(trace, half_life), strict=True):
        assert dict(group) == pytest.approx(dict(other))
    assert (found.events, found.matches) == (len(trace), trace.matched.sum())


def document(statistics: Statistics) -> Any:
    return counted(statistics), statistics.until, statistics.events, statistics.matches, statistics.since, statistics.to


def same(a: Statistics, b: Statistics) -> None:
    for group, other in zip(counted(a), counted(b), strict=True):
        assert dict(group) == pytest.approx(dict(other))
    assert document(a)[1:] == document(b)[1:]
    order = [np.lexsort((s.sojourns.target, s.sojourns.source)) for s in (a, b)]
    for name in ("total", "least", "most"):
        left, right = (getattr(s.sojourns, name)[o] for s, o in zip((a, b), order))
        assert left == pytest.approx(right)


def shards(trace: Trace, number: int) -> list[Trace]:
    """Each process whole in one of them."""
    parts = []
    for shard in range(number):
        own = np.flatnonzero(trace.process % number == shard)
        columns = ("process", "ordinal", "time", "state", "matched", "symbol", "number")
        parts.append(replace(trace, **{name: getattr(trace, name)[own] for name in columns}))
    return parts


@quick
@given(traces(), HALF_LIVES, st.integers(1, 3))
def test_the_statistics_of_shards_are_those_of_all(trace: Trace, half_life: float, number: int) -> None:
    parts = [Statistics.of(part, half_life=half_life) for part in shards(trace, number)]
    same(reduce(merge_statistics, parts), Statistics.of(trace, half_life=half_life))


@quick
@given(traces(), traces(), traces(), HALF_LIVES)
def test_merging_goes_in_any_order(a: Trace, b: Trace, c: Trace, half_life: float) -> None:
    item, two, three = (Statistics.of(trace, half_life=half_life) for trace in (a, b, c))
    same(merge_statistics(merge_statistics(item, two), three), merge_statistics(item, merge_statistics(two, three)))
    same(merge_statistics(item, two), merge_statistics(two, item))


def test_different_half_lives_cannot_be_merged() -> None:
    trace = walk(np.array([[0.5]]), np.array([0.5]), 10)
    with pytest.raises(ValueError, match="half-lives"):
        merge_statistics(Statistics.of(trace), Statistics.of(trace, half_life=5.0))


def test_ageing_follows_a_change() -> None:
    before = walk(np.array([[0.9]]), np.array([0.1]), 20_000, seed=1)
    after = walk(np.array([[0.4]]), np.array([0.6]), 20_000, seed=2, number=np.arange(20_000) + 20_000)

    def share(half_life: float) -> float:
        found = merge_statistics(Statistics.of(before, half_life=half_life), Statistics.of(after, half_life=half_life))
        return float(found.matched[0] / found.leaving[0])

    assert share(math.inf) == pytest.approx(0.35, abs=0.01)
    assert share(2_000.0) == pytest.approx(0.6, abs=0.04)


@pytest.mark.parametrize("half_life", [1.0, 1e-3])
def test_nothing_overflows(half_life: float) -> None:
    trace = walk(np.array([[0.9]]), np.array([0.1]), 5_000, number=np.arange(5_000) * 1_000_000)
    found = Statistics.of(trace, half_life=half_life)
    assert found.leaving[0] == pytest.approx(1.0)
    assert merge_statistics(found, found.aged(10**15)).leaving[0] == pytest.approx(0.0)


def test_bins_have_their_edges() -> None:
    inside = np.sqrt(EDGES[1:-2] * EDGES[2:-1])
    assert bin_of(inside).tolist() == list(range(1, BINS - 1))
    assert bin_of(np.array([0.0, 1e-9, 1e30])).tolist() == [0, 0, BINS - 1]


def many(states: int, seed: int = 0) -> Trace:
    """Configurations of three partial matches among twenty, the first ones common."""
    random = np.random.default_rng(seed)
    choice = np.minimum(random.geometric(0.01, 20_000), states)
    masks = np.array([sum(1 << b for b in random.choice(20, 3, replace=False)) for _ in range(states + 1)], np.uint64)
    return made(
        process=np.zeros(20_000),
        ordinal=np.arange(20_000),
        time=np.arange(20_000),
        state=masks[choice],
        matched=random.random(20_000) < 0.1,
        symbol=random.integers(0, 4, 20_000),
    )


def test_too_many_configurations_fall_back_to_the_furthest() -> None:
    trace = many(600)
    found, whole = Statistics.of(trace, max_states=200), Statistics.of(trace)
    assert len(found.states) <= 200 < len(whole.states)
    assert found.counts.sum() + found.matched.sum() == len(trace)
    again = whole.limited(200)
    assert len(again.states) <= 200
    fallen = set(found.states.tolist()) - set(whole.states.tolist())
    assert fallen <= set(furthest(whole.states).tolist())
    kept = np.argsort(-whole.leaving)[:100]
    place = np.searchsorted(found.states, whole.states[kept])
    assert found.leaving[place].tolist() == whole.leaving[kept].tolist()


def test_too_many_edges_are_told_apart_by_the_furthest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is as if there were no other configurations."""
    trace = many(60)
    fewer = replace(trace, state=furthest(trace.state))
    expected, whole = Statistics.of(fewer).sojourns, Statistics.of(trace)
    monkeypatch.setattr(lasting, "MAX_EDGES", 1_000)
    assert len(whole.sojourns.source) > 1_000
    found = Statistics.of(trace).sojourns
    for name in expected.__dataclass_fields__:
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    merged = lasting.merge_sojourns(whole.sojourns, whole.sojourns)
    assert set(merged.states.tolist()) <= set(furthest(whole.states).tolist())


def test_too_many_contexts_fall_back_to_the_configuration() -> None:
    trace = many(60)
    contexts = trace.symbol + 4 * np.roll(trace.symbol, 1)
    found = Statistics.of(trace, contexts, max_states=130)
    whole = Statistics.of(trace)
    assert len(found.states) <= 130
    assert set(found.states.tolist()) == set(whole.states.tolist())
    alone = found.without_contexts()
    assert alone.counts.tolist() == whole.counts.tolist()
    assert alone.matched.tolist() == whole.matched.tolist()


def test_only_the_busiest_lanes_are_kept() -> None:
    trace = made(
        process=[0, 1, 1, 2, 2, 2],
        ordinal=[0, 0, 1, 0, 1, 2],
        time=range(6),
        state=[1] * 6,
        matched=[False] * 6,
        keys=('"a"', '"b"', '"c"'),
    )
    assert Statistics.of(trace, max_lanes=2).lanes.keys == ('"b"', '"c"')
    assert Statistics.of(trace).limited(max_lanes=1).lanes.keys == ('"c"',)
    assert Statistics.of(trace, max_lanes=0).lanes.keys == ()


def test_a_lane_with_few_events_borrows() -> None:
    trace = walk(np.array([[0.8]]), np.array([0.2]), 500, processes=20)
    few = made(process=[0] * 4, ordinal=range(4), time=range(4), state=[0] * 4, matched=[True] * 4, keys=('"new"',))
    statistics = merge_statistics(Statistics.of(trace), Statistics.of(few))
    counts, matched = shrunk_counts(statistics.lanes, statistics.counts, statistics.matched, 16.0)
    share = matched[:, 0] / (counts[:, 0, 0] + matched[:, 0])
    pool = statistics.matched[0] / statistics.leaving[0]
    lane = statistics.lanes.keys.index('"new"')
    assert share[lane] == pytest.approx((4 * 1.0 + 16 * pool) / 20)
    other = statistics.lanes.matched[0, 0] / 500
    assert share[0] == pytest.approx((500 * other + 16 * pool) / 516)


def test_the_strength_is_high_where_lanes_are_alike() -> None:
    alike = Statistics.of(walk(np.array([[0.8]]), np.array([0.2]), 200, processes=60))
    rates = np.random.default_rng(0).beta(2.0, 8.0, 60)  # a concentration of 10
    parts = [
        Statistics.of(walk(np.array([[1 - rate]]), np.array([rate]), 200, seed=i, keys=(f'"{i}"',)))
        for i, rate in enumerate(rates)
    ]
    unlike = reduce(merge_statistics, parts)
    assert estimate_strength(alike.lanes, alike.counts, alike.matched) > 500
    assert 6 < estimate_strength(unlike.lanes, unlike.counts, unlike.matched) < 16


@pytest.mark.soak
def test_ten_million_rows() -> None:
    """Ten times the rows take about ten times as long, and every event is counted once."""
    taken = []
    for rows in (1_000_000, 10_000_000):
        random = np.random.default_rng(0)
        trace = made(
            process=np.arange(rows) % 1_000,
            ordinal=np.arange(rows) // 1_000,
            time=np.arange(rows),
            state=random.integers(0, 12, rows),
            matched=random.random(rows) < 0.01,
            keys=tuple(map(str, range(1_000))),
        )
        begin = time.process_time()
        found = Statistics.of(trace)
        taken.append(time.process_time() - begin)
        assert found.counts.sum() + found.matched.sum() == rows
        assert found.lanes.counts.sum() + found.lanes.matched.sum() == rows
        assert found.matched.sum() == trace.matched.sum()
    assert taken[1] < 25 * taken[0]  # no longer in the processor's cache


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time": [1.0]}, "the column time has the shape"),
        ({"time": [0.0, math.nan]}, "a time is not a finite number"),
        ({"process": [0, -1]}, "numbered from 0"),
        ({"process": [0, 2], "keys": ("1", "2")}, "3 processes, but 2 keys"),
        ({"last_time": [1.0, 2.0]}, "last_time has 2 values, but there are 1 processes"),
    ],
)
def test_columns_that_do_not_fit(columns: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"process": [0, 0], "ordinal": [0, 1], "time": [0, 1], "state": [0, 0], "matched": [0, 0]}
    with pytest.raises(ValueError, match=message):
        Trace(**good | columns)


def test_ordinals_that_do_not_rise() -> None:
    trace = made(process=[0, 0], ordinal=[3, 3], time=[0, 0], state=[0, 0], matched=[False, False])
    with pytest.raises(ValueError, match="do not rise"):
        Statistics.of(trace)

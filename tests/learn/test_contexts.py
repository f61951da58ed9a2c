"""Contexts: the automaton against looking for the longest suffix, the tree against sources whose memory is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.outcomes import matched_within
from foretell.learn.statistics import Statistics
from foretell.learn.suffix_tree import SuffixTree
from foretell.learn.trace import Trace
from tests.learn.sources import as_three_before, matching, no_memory, parity, symbols, variable
from tests.learn.traces import quick, traces


@st.composite
def any_contexts(draw: st.DrawFn) -> Contexts:
    words = draw(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), max_size=6))
    closed = {word[i:] for word in words for i in range(len(word))}
    return Contexts(3, ((), *sorted(closed, key=lambda word: (len(word), word))))


@quick
@given(any_contexts(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=40))
def test_the_automaton_finds_the_longest_suffix(contexts: Contexts, events: list[tuple[int, int]]) -> None:
    """A symbol that was unknown when the contexts were learned (here 3) forgets all."""
    past: dict[int, list[int]] = {}
    expected = []
    for symbol, process in events:
        seen = past.setdefault(process, [])
        seen.append(symbol)
        fitting = [c for c, suffix in enumerate(contexts.suffixes) if tuple(seen[len(seen) - len(suffix) :]) == suffix]
        expected.append(max(fitting, key=lambda c: len(contexts.suffixes[c])))
    columns = np.array(events, np.int64).reshape(-1, 2).T
    found = contexts.after(np.ascontiguousarray(columns[0]), np.ascontiguousarray(columns[1]))
    assert found.tolist() == expected


@pytest.mark.parametrize("suffixes", [(), ((0,),), ((), (0, 1)), ((), (5,)), ((), (0,), (0,))])
def test_what_is_no_tree(suffixes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match="context"):
        Contexts(2, suffixes)


def grown(symbol: np.ndarray, order: int, lanes: int = 1) -> set[tuple[int, ...]]:
    return set(SuffixTree.of(matching([0], symbol, lanes), order).pruned(order).suffixes)


def test_without_memory_there_are_no_contexts() -> None:
    for seed in range(5):
        assert grown(symbols(no_memory, 20_000, seed), 5) == {()}


def test_the_memory_of_a_source_is_found() -> None:
    assert grown(symbols(variable, 20_000), 5) == {(), (0,), (1,), (0, 0), (1, 0)}


def test_memory_that_shows_only_after_several_symbols() -> None:
    """Neither of the last two tells anything alone."""
    assert grown(symbols(parity, 20_000), 1) == {()}
    assert {(0, 0), (0, 1), (1, 0), (1, 1)} <= grown(symbols(parity, 20_000), 4)
    assert max(map(len, grown(symbols(parity, 20_000), 5))) == 2
    assert sum(len(suffix) == 3 for suffix in grown(symbols(as_three_before, 20_000), 5)) == 27


def test_lanes_are_read_apart() -> None:
    """Two sources in turn: each has memory of its own, and none of the other's."""
    mixed = np.stack([symbols(parity, 10_000, 1), symbols(parity, 10_000, 2)], axis=1).ravel()
    assert max(map(len, grown(mixed, 4, lanes=2))) == 2
    assert max(map(len, grown(mixed, 4, lanes=1))) == 4


def test_too_many_contexts_cost_more() -> None:
    suffixes = SuffixTree.of(matching([0], symbols(as_three_before, 20_000)), 3)
    assert len(suffixes.pruned(3)) == 40
    assert 1 <= len(suffixes.pruned(3, max_contexts=20)) <= 20
    assert suffixes.pruned(0).suffixes == ((),)


@quick
@given(traces(), st.integers(0, 5))
def test_any_trace_grows_a_tree(trace: Trace, order: int) -> None:
    contexts = SuffixTree.of(trace, order, min_count=1).pruned(order)
    assert contexts.order <= order
    found = Statistics.of(trace, contexts.after(trace.symbol, trace.process))
    alone, plain = found.without_contexts(), Statistics.of(trace)
    assert alone.states.tolist() == plain.states.tolist()
    assert alone.counts == pytest.approx(plain.counts)
    assert alone.matched == pytest.approx(plain.matched)


def test_no_contexts() -> None:
    assert NO_CONTEXTS.after(np.array([5, 0]), np.array([0, 0])).tolist() == [0, 0]


@quick
@given(traces(), st.integers(1, 8))
def test_what_came_is_what_one_finds_by_looking(trace: Trace, events: int) -> None:
    came, known = matched_within(trace, events)
    for row in range(len(trace)):
        later = [
            other
            for other in range(row + 1, len(trace))
            if trace.process[other] == trace.process[row] and trace.matched[other]
        ]
        expected = bool(later) and trace.ordinal[later[0]] - trace.ordinal[row] <= events
        assert came[row] == expected
        seen = trace.last_ordinal[trace.process[row]] - trace.ordinal[row] >= events
        assert known[row] == seen


def test_what_was_known_before() -> None:
    """A binding that stopped early was seen as long as its lane; cut off, as long as the lane's rows go."""
    columns = {"process": [0, 1, 1, 1], "ordinal": [0, 1, 2, 9], "time": [0, 1, 2, 9], "state": [1, 1, 1, 1]}
    trace = Trace(
        **{name: np.array(column) for name, column in columns.items()},
        matched=np.zeros(4, np.bool_),
        keys=("1", "1"),
        starts=False,
        last_ordinal=np.array([9, 9]),
        last_time=np.array([9.0, 9.0]),
    )
    before = trace.until(3)
    assert (before.last_ordinal.tolist(), before.last_time.tolist()) == ([2, 2], [2.0, 2.0])
    assert len(before) == 3

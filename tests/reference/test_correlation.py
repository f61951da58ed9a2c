"""The priorities of correlation machines: found by the nesting, they are those the paper gives pair by pair."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.language import tree
from foretell.reference.correlation import CorrelationRun, MachineConstruction, Module, Transition

STEPS = st.sampled_from(["a", "b"]).map(tree.On)


def _containers(inner: st.SearchStrategy[tree.Correlation]) -> st.SearchStrategy[tree.Correlation]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    kinds = st.sampled_from(["repeat", "persist", "loop"])
    modes = st.lists(st.builds(tree.Mode, st.sampled_from(["a", "b"]), inner), min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(tree.Accumulate, parts),
        st.builds(tree.Select, parts, st.booleans()),
        st.builds(tree.Sequential, parts),
        st.builds(tree.Parallel, parts),
        st.builds(tree.Unless, inner, inner),
        st.builds(tree.Fail, inner),
        st.builds(tree.Push, st.just("x"), inner),
        st.builds(tree.Again, kinds, inner, st.sampled_from([None, 1, 2])),
        st.builds(tree.Modes, modes),
    )


EXPRESSIONS = st.recursive(STEPS, _containers, max_leaves=6)


def transitions(module: Module) -> list[Transition]:
    return [t for rank in module.parts for part in rank for t in transitions(part)] + list(module.own)


def precedes(module: Module) -> Iterator[tuple[Transition, Transition]]:
    """≺ as section 4 gives it: inner before outer, own ones in their order, guards before what runs in a mode."""
    ranks = [[t for part in rank for t in transitions(part)] for rank in module.parts]
    yield from ((inner, own) for rank in ranks for inner in rank for own in module.own)
    yield from combinations(module.own, 2)
    for first, second in combinations(ranks, 2):
        yield from ((earlier, other) for earlier in first for other in second)
    for rank in module.parts:
        for part in rank:
            yield from precedes(part)


@settings(deadline=None, max_examples=200)
@given(EXPRESSIONS, st.data())
def test_foremost_are_those_that_none_precedes(expression: tree.Correlation, data: st.DataObject) -> None:
    module = MachineConstruction().build(expression)
    active = frozenset(data.draw(st.sets(st.sampled_from(sorted(module.states)))))
    read: set[str | None] = data.draw(st.sampled_from([{"a"}, {"b"}, {"a", "b"}, {None}]))
    enabled = [t for t in transitions(module) if t.reads in read and t.enabled(active)]
    before = {(earlier.number, other.number) for earlier, other in precedes(module)}
    taken = {t.number for t in enabled if not any((o.number, t.number) in before for o in enabled)}
    assert {t.number for t in module.foremost(active, lambda step: step in read)} == taken


def test_guards_precede_what_runs_in_a_mode() -> None:
    modes = (tree.Mode("a", tree.Push("x", tree.On("b"))), tree.Mode("b", tree.Push("y", tree.On("b"))))
    run = CorrelationRun.start(MachineConstruction().build(tree.Modes(modes)))
    assert run.read(lambda step: step == "b") == []  # into the second mode, before the first has seen the event
    assert run.read(lambda step: step == "b") == ["y"]


def test_a_thousand_rounds_take_no_longer_than_they_must() -> None:
    events = [{"time": i, "k": "a"} for i in range(1000)]
    text = "CORRELATE c FROM s DO push('x'){repeat(1000){a}} DEFINE a AS k = 'a';"
    started = time.perf_counter()
    found = ft.run(text, {"s": events}, time={"s": "time"})
    assert [n.end for n in found] == [999]
    assert time.perf_counter() - started < 10  # two seconds; pair by pair it was many times that

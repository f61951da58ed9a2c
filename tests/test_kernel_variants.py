"""Kernel variants: compiled without what a plan never reaches."""

from __future__ import annotations

from typing import Any

import pytest

from foretell.engine.planning import start_runtime
from foretell.jit import callees_of, kernel, with_callees
from foretell.machine.exec import arrival_executor, nfa_executor
from foretell.machine.exec.kernel_variants import Extent, extent_of, extent_of_arrivals, kernel_for
from foretell.machine.kernels import actions, arrival_walk, functions, general, lockstep, strict
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.program import CompiledNfa
from tests.engine_pair import EnginePair, comparable_rows

STREAM = "STREAM s (k STRING, v FLOAT, name STRING, t INT) TIME t;\n"
EVENTS = {"s": [{"t": n, "k": "a", "v": float(n % 3), "name": "x"} for n in range(6)]}


@kernel
def _increased(x: Any) -> Any:
    return x + 1


@kernel
def _unchanged(x: Any) -> Any:
    return x


@kernel
def _doubled(x: Any) -> Any:
    return _increased(x) * 2


@kernel
def _both(x: Any) -> Any:
    return _doubled(x) + _unchanged(x)


@kernel
def _hundredfold(x: Any) -> Any:
    return x * 100


def test_a_kernel_with_another_callee() -> None:
    variant: Any = with_callees(_both, {_increased: _hundredfold}, "_scaled")
    assert (variant(3), _both(3)) == (603, 11)
    assert variant.py_func.__qualname__ == "_both_scaled"
    assert {callee.py_func.__name__ for callee in callees_of(variant)} == {
        "_doubled_scaled",
        "_unchanged",
        "_hundredfold",
    }
    assert _unchanged in callees_of(variant)


def test_a_kernel_without_the_callee_is_itself() -> None:
    assert with_callees(_unchanged, {_increased: _hundredfold}, "_scaled") is _unchanged


class _FoundError(Exception):
    """Ends a run where the extent is asked for, before anything is compiled."""

    def __init__(self, nfa: CompiledNfa) -> None:
        self.nfa = nfa


def nfa_of(statement: str, monkeypatch: pytest.MonkeyPatch) -> CompiledNfa:
    def found(nfa: CompiledNfa) -> Extent:
        raise _FoundError(nfa)

    monkeypatch.setattr(nfa_executor, "extent_of", found)
    with pytest.raises(_FoundError) as caught:
        EnginePair(STREAM + statement, EVENTS).embedded()
    return caught.value.nfa


@pytest.mark.parametrize(
    ("statement", "extent"),
    [
        ("SUBSCRIBE m FROM s PER k MATCH a , b DEFINE b AS v > a.v", Extent.PREDICATES),
        (
            "SUBSCRIBE m FROM s PER k MATCH a+ , b DEFINE a AS v < 2, b AS v > 1 RETURN max(a.v) AS most",
            Extent.PREDICATES,
        ),
        ("SUBSCRIBE m FROM s PER k MATCH a{3,} , b DEFINE a AS v < 2", Extent.PREDICATES),
        ("SUBSCRIBE m FROM s PER k MATCH a+ , b DEFINE b AS v > sum(a.v) + 1", Extent.CONDITIONS),
        ("SUBSCRIBE m FROM s PER k MATCH a+ , b DEFINE b AS v > sqrt(sum(a.v))", Extent.ALL),
        ("SUBSCRIBE m FROM s PER k MATCH a+ , b DEFINE b AS name > max(a.name)", Extent.ALL),
    ],
)
def test_what_a_plan_reaches(statement: str, extent: Extent, monkeypatch: pytest.MonkeyPatch) -> None:
    nfa = nfa_of(statement, monkeypatch)
    assert extent_of(nfa) is extent


@pytest.mark.parametrize(
    ("statement", "extent"),
    [
        ("SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 9 DEFINE a AS v < 2, b AS v > 1", Extent.PREDICATES),
        ("SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 9 DEFINE b AS v > a.v", Extent.PREDICATES),
        ("SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 9 DEFINE b AS v + a.v > 1", Extent.CONDITIONS),
        ("SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 9 DEFINE b AS v > sqrt(a.v + v)", Extent.ALL),
    ],
)
def test_what_arrival_lists_reach(statement: str, extent: Extent, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Extent] = []

    def noted(plan: ArrivalPlan) -> Extent:
        found.append(extent_of_arrivals(plan))
        return found[-1]

    monkeypatch.setattr(arrival_executor, "extent_of_arrivals", noted)
    pair = EnginePair(STREAM + statement, EVENTS)
    assert comparable_rows(pair.embedded()) == comparable_rows(pair.reference()) != []
    assert set(found) == {extent}


def test_arrival_lists_have_no_more_than_a_plan_reaches() -> None:
    plain = kernel_for(arrival_walk.run_arrivals, Extent.PREDICATES)
    assert not callees_of(plain) & {arrival_walk.evaluate, functions.run_function}
    assert kernel_for(arrival_walk.run_arrivals, Extent.ALL) is arrival_walk.run_arrivals


def test_variants_have_no_more_than_a_plan_reaches() -> None:
    plain, interpreting = (kernel_for(strict.run_strict, extent) for extent in (Extent.PREDICATES, Extent.CONDITIONS))
    assert not callees_of(plain) & {actions.evaluate, actions.compute, functions.run_function}
    assert not callees_of(interpreting) & {actions.compute, functions.run_function}
    assert "run_code" in {callee.py_func.__name__.partition("_no_")[0] for callee in callees_of(interpreting)}
    assert kernel_for(general.run_events, Extent.ALL) is general.run_events


def test_few_states_are_visited_one_after_the_other() -> None:
    """The loop over many states is compiled where a plan has many."""
    few, many = (kernel_for(general.run_events, Extent.ALL, many_states=many) for many in (False, True))
    loops = general.advance_states, general.advance_occupied, general.new_runs_of_states, general.new_runs_of_occupied
    assert callees_of(few) & set(loops) == {general.advance_states, general.new_runs_of_states}
    assert callees_of(many) & set(loops) == {general.advance_occupied, general.new_runs_of_occupied}


def test_variants_with_the_same_parts_are_one() -> None:
    """The lockstep kernel has no interpreter."""
    plain, interpreting = (kernel_for(lockstep.run_lockstep, e) for e in (Extent.PREDICATES, Extent.CONDITIONS))
    assert plain is interpreting


def test_a_part_that_is_reached_after_all_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nfa_executor, "extent_of", lambda nfa: Extent.PREDICATES)
    pair = EnginePair(STREAM + "SUBSCRIBE m FROM s PER k MATCH a+ , b DEFINE b AS v > sum(a.v) + 1", EVENTS)
    with pytest.raises(ValueError, match="compiled without the interpreter"):
        start_runtime(pair.checked, pair.given).process(pair.loaded, ends=True)

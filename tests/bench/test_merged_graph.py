"""The graph of all subscriptions is what the planner's sharing gives without its limit, and moves as states do."""

from __future__ import annotations

import numpy as np
import pytest

from foretell import parse
from foretell.bench.ptopss.merged_graph import merged, transitions
from foretell.bench.workloads.planted_patterns import Composites, composites, planted
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import Codes
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.sharing_report import sharing_report


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("length", "pool"), [(3, 3), (4, 2), (6, 4)])
def test_states_are_those_of_the_planner(gaussian: bool, length: int, pool: int) -> None:
    planted = composites(40, length=length, pool=pool, waits=2, gaussian=gaussian, seed=length)
    # Two that are equal would have one end here and two in the planner, which must tell whose match it is.
    _, unique = np.unique(np.hstack([planted.kinds, planted.later]), axis=0, return_index=True)
    planted = Composites(planted.kinds[unique], planted.later[unique], pool)
    statements = [s for s in parse(planted.text()).checked().statements if isinstance(s, CheckedSubscription)]
    machine = SharedNfa.empty(Codes(), False, statements[0].time)
    for statement in statements:
        machine, _ = machine.joined_by(statement)
    found = merged(planted)
    assert found.unmerged == len(unique) * length
    assert (found.states, found.shared) == (len(machine.states), machine.shared_states)


@pytest.mark.parametrize(("gaussian", "pool"), [(False, 50), (True, 20)])
def test_the_engine_merges_as_many(gaussian: bool, pool: int) -> None:
    """In its many NFAs, since subscriptions join the one that has their first steps."""
    subscriptions = composites(150, pool=pool, gaussian=gaussian)
    graph = merged(subscriptions)
    statements = [s for s in parse(subscriptions.text()).checked().statements if isinstance(s, CheckedSubscription)]
    report = sharing_report(statements, Codes())
    assert (report.states_together, report.serving) == (graph.states, graph.shared)
    assert report.machines > 1


def test_equal_subscriptions_are_one() -> None:
    twice = Composites(np.array([[0, 1], [0, 1]]), np.zeros((2, 1), bool), 2)
    assert (merged(twice).states, merged(twice).shared) == (2, 2)


@pytest.mark.parametrize("gaussian", [False, True])
def test_transitions_by_sets_of_states(gaussian: bool) -> None:
    group = composites(15, length=4, pool=3, waits=1, gaussian=gaussian, seed=2)
    kinds = planted(group, partial=3, full=3, irrelevant=5, seed=3).events["kind"].to_numpy()
    machine = merged(group)
    active: set[int] = set()
    taken = 0
    for kind in kinds:
        entered = {
            edge + 1
            for edge in range(machine.states)
            if machine.kind[edge] == kind and machine.source[edge] in active | {0}
        }
        taken += len(entered)
        active = entered | {state for state in active if machine.waits[state]}
    assert transitions(machine, kinds) == taken > 0

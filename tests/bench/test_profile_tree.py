"""The benchmark of the profile tree: every order of a workload finds the same matches."""

from __future__ import annotations

from collections import defaultdict

from foretell.bench.filter.profile_tree import WORKLOADS, measure


def test_a_quick_run_measures_every_order() -> None:
    results = list(measure(quick=True))
    matches = defaultdict(set)
    for result in results:
        matches[result.case.partition(":")[0]].add(result.matches)
    orders = [f"tree, {workload.name}" for workload in WORKLOADS]
    assert all(len(matches[order]) == 1 for order in [*orders, "tree, moving peak"])
    assert sum(result.case.startswith(orders[0]) for result in results) == 13
    assert any("refused" in (result.note or "") for result in results)

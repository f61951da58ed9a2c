"""The benchmark of the profile index: its workloads, and that a bare loop finds the same."""

from __future__ import annotations

from foretell.bench.filter.profile_index import measure


def test_the_index_is_measured_on_every_workload() -> None:
    results = {result.case: result for result in measure(quick=True)}
    for name in ("F1", "F2", "F3"):
        assert results[f"index, {name}, 10,000"].matches is not None  # as many as a bare loop finds, or `measure` fails
    changes = [case for case in results if case.startswith("index, F1, 10,000: ")]
    assert len(changes) == 4
    assert "access sets: " in (results["index, choice: thresholds"].note or "")

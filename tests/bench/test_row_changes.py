"""The benchmark of row changes measures what it says."""

from __future__ import annotations

from foretell.bench.filter import row_changes


def test_every_case() -> None:
    found = list(row_changes.measure(quick=True))
    cases = [result.case for result in found]
    assert len(set(cases)) == len(cases) == 20
    assert all(result.rate > 0 for result in found)
    changes = [result for result in found if "one by one" in result.case]
    assert {result.events for result in changes} == {row_changes.QUICK_CHANGES}
    assert sum(result.matches or 0 for result in changes) > 0


def test_rows_have_ids_of_their_own() -> None:
    first, second = row_changes.table(100), row_changes.table(100, 100)
    assert first.column("id").to_pylist() + second.column("id").to_pylist() == list(range(200))

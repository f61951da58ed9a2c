"""Statements that somebody made up to be large and nasty (see large_statements)."""

from __future__ import annotations

import pytest

from tests.fuzz.bounded import run_bounded


def test_some_large_statements() -> None:
    report = run_bounded("large_statements", 16)
    assert not report.violations, report
    assert min(report.outcomes["with matches"], report.outcomes["without"]) > 2, report


@pytest.mark.parametrize("number", [5871, 7880, 25547, 42781])
def test_slow_statements(number: int) -> None:
    """Hundreds of alternatives that match at every event; a thousand of which each may be what conditions wait for;
    aggregates and counts that are searched for in very many matches."""
    report = run_bounded("large_statements", 1, first=number)
    assert not report.violations, report


def test_some_large_correlators() -> None:
    report = run_bounded("large_correlators", 40)
    assert not report.violations, report
    assert min(report.outcomes["with matches"], report.outcomes["without"]) > 2, report


def test_published_scores_of_many_lost_steps() -> None:
    """Integrals of integrals of integrals."""
    report = run_bounded("large_losing", 1, first=21014)
    assert not report.violations, report


@pytest.mark.parametrize("number", [20020, 23007, 30162, 30452, 30619])
def test_slow_estimates(number: int) -> None:
    """Hundreds of thousands of candidates under AFTER MATCH; a density that is infinite at 0, in a window of 10^15;
    steps without bounds before one that has some; thousands of matches whose lost step has bounds; a table of
    times that differ by less than a float can tell."""
    report = run_bounded("large_losing", 1, first=number)
    assert not report.violations, report


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_many_statements_with_losing() -> None:
    report = run_bounded("large_losing", 10_000, first=40)
    assert not report.violations, report


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_many_large_correlators() -> None:
    report = run_bounded("large_correlators", 100_000, first=40)
    assert not report.violations, report


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_many_large_statements() -> None:
    report = run_bounded("large_statements", 100_000, first=16)
    assert not report.violations, report

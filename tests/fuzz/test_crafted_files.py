"""Models, pipeline files, files of events, outboxes and spools that somebody made up."""

from __future__ import annotations

import pytest

from tests.fuzz.bounded import run_bounded

#: How many of each are tried quickly, and how many at length.
CASES = {
    "crafted_models": (100, 1_000_000),
    "crafted_pipelines": (500, 1_000_000),
    "crafted_inputs": (400, 1_000_000),
    "crafted_outboxes": (300, 1_000_000),
    "crafted_spools": (500, 1_000_000),
}


@pytest.mark.parametrize("module", CASES)
def test_some(module: str) -> None:
    report = run_bounded(module, CASES[module][0])
    assert not report.violations, report
    assert len(report.outcomes) > 1, report


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
@pytest.mark.parametrize("module", CASES)
def test_many(module: str) -> None:
    few, many = CASES[module]
    report = run_bounded(module, many, first=few)
    assert not report.violations, report

"""The cases of the papers, and all others: a check of any statement ends, and finds what is to be found."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import foretell as ft

CASES = Path(__file__).parents[1] / "cases"


def programs(file: str) -> list[tuple[str, ft.Subscriptions]]:
    """The programs of a file of cases that can be parsed, each with the name of its case."""
    found = []
    cases: list[dict[str, Any]] = tomllib.loads((CASES / f"{file}.toml").read_text(encoding="utf-8"))["case"]
    for case in cases:
        try:
            found.append((case["name"], ft.parse(case["text"])))
        except ft.LanguageError:
            assert "error" in case  # which the case is about
    return found


def codes(file: str) -> dict[str, list[str]]:
    """The codes that are found in the programs of a file, by the names of their cases."""
    reports = {name: ft.check(program) for name, program in programs(file)}
    return {name: [f.code for f in report.findings] for name, report in reports.items() if report.findings}


def test_cayuga() -> None:
    assert codes("cayuga") == {}


def test_amedias() -> None:
    assert codes("amedias") == {}


def test_ptopss() -> None:
    assert codes("ptopss") == {"section 3.2: one event cannot match two operands": ["indistinguishable-steps"]}


def test_ayac() -> None:
    assert codes("lost") == {"error: no model": ["explosive-matches"]}


def test_correlators_that_end_are_not_live() -> None:
    found = codes("correlators")
    assert {"not-live", "token-never-comes", "vacuous"} <= {code for own in found.values() for code in own}
    assert found["repeat without a number never completes"] == [
        "vacuous",
        "part-never-completes",
        "part-never-completes",
    ]


@pytest.mark.parametrize("file", sorted(path.stem for path in CASES.glob("*.toml")))
def test_a_check_of_any_case_ends(file: str) -> None:
    for _, program in programs(file):
        report = ft.check(program, costs=True, statement_seconds=1)
        assert str(report).count("[") >= len(report.findings)
        assert report.unasked == ()

"""`foretell explain --table`: the figures of the index that finds the rows of a template."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foretell.cli.explain import show

STATEMENTS = """STREAM s (name STRING, price FLOAT, t INT) TIME t;
SUBSCRIBE single FOR EACH people FROM s MATCH a DEFINE a AS name = :n AND price > :low AND price < :high;
SUBSCRIBE first  FOR EACH people FROM s MATCH a ; b DEFINE a AS name = :n AND price > :low WITHIN 9;
SUBSCRIBE shared FOR EACH people FROM s MATCH a ;{name = :n} b DEFINE a AS name = :n AND price > :low WITHIN 9;
SUBSCRIBE apart  FOR EACH people FROM s MATCH a ; b DEFINE a AS name = :n, b AS price < :high AFTER MATCH CONSUME;
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    statements, table = tmp_path / "statements.ftl", tmp_path / "people.csv"
    statements.write_text(STATEMENTS, encoding="utf-8")
    rows = [f"{number},n{number % 17},{number % 40},{60 + number % 60}" for number in range(300)]
    table.write_text("\n".join(["id,n,low,high", *rows]), encoding="utf-8")
    return statements, {"people": str(table)}


def shown(files: tuple[Path, dict[str, str]], form: str, capfd: pytest.CaptureFixture[str]) -> str:
    show(files[0], form, files[1])
    return capfd.readouterr().out


def test_figures_follow_the_plan(files: tuple[Path, dict[str, str]], capfd: pytest.CaptureFixture[str]) -> None:
    found: dict[str, list[str]] = {}
    for line in shown(files, "text", capfd).splitlines():
        if line in ("single", "first", "shared", "apart"):
            name = line
        elif line.startswith("  rows "):
            found.setdefault(name, []).append(line)
    assert found.keys() == {"single", "first", "shared"}
    assert found["single"][0].startswith(
        "  rows by :n, :low, :high: access sets: 300 profiles in 1 group (name: 300), "
    )
    assert "; expected 17.6 candidates and " in found["single"][0]
    assert found["first"][0].startswith("  rows 300 in 17 groups by :n, each in the order of :low, ")
    assert [line.partition(" profiles")[0] for line in found["shared"]] == [
        "  rows by :n, :low: access sets: 300",
        "  rows by :n: access sets: 17",
    ]


def test_figures_as_json(files: tuple[Path, dict[str, str]], capfd: pytest.CaptureFixture[str]) -> None:
    plans = [json.loads(line) for line in shown(files, "json", capfd).splitlines()]
    assert [len(plan["rows"]) for plan in plans if "rows" in plan] == [1, 1, 2, 0]


def test_a_picture_has_no_figures(files: tuple[Path, dict[str, str]], capfd: pytest.CaptureFixture[str]) -> None:
    assert "access sets" not in shown(files, "mermaid", capfd)

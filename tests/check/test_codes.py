"""Every code that a check gives is known and documented, with an example that gives it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import foretell as ft
from foretell.check.codes import CODES, Kind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/check.md").read_text(encoding="utf-8")


def rows() -> dict[str, str]:
    """The codes of the page, with their examples."""
    found = re.findall(r"^\| `([a-z-]+)` \| .*? \| (?:`(.+?)` |)\| .* \|$", PAGE, re.MULTILINE)
    return {code: example.replace("\\|", "|") for code, example in found}


def codes_in_the_source() -> set[str]:
    """The codes that functions which make findings get."""
    found = set[str]()
    for path in (ROOT / "src/foretell/check").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if re.fullmatch(r"_?\w*(finding|undecided)", name, re.IGNORECASE):
                    found.add(str(node.args[0].value))
    return found


def test_the_codes_of_the_source_are_known() -> None:
    found = codes_in_the_source()
    assert len(found) > 20
    assert found - {*CODES} == set()


def test_the_page_has_all_codes_in_their_order() -> None:
    assert list(rows()) == list(CODES)


@pytest.mark.parametrize(("code", "example"), [(c, e) for c, e in rows().items() if e])
def test_each_example_is_found(code: str, example: str) -> None:
    (declared,) = re.findall(r"^(STREAM s .*;)$", PAGE, re.MULTILINE)
    kind = {"MATCH": "SUBSCRIBE m FROM s ", "PER": "SUBSCRIBE m FROM s ", "DO": "CORRELATE m FROM s "}
    ends = "" if "--" in example else ";"
    text = f"{declared}\n{kind.get(example.split()[0], '')}{example}{ends}"
    report = ft.check(text, costs=CODES[code].kind is Kind.NOTE)
    assert code in {finding.code for finding in (*report.findings, *report.notes)}


def test_few_codes_have_no_example() -> None:
    assert {code for code, example in rows().items() if not example} == {"large-automaton", "not-decided"}

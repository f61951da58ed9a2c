"""`ft.check`: arguments, the report, and what it loads."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import foretell as ft

STREAM = "STREAM s (k STRING, x INT, t INT) TIME t;\n"
TWICE = STREAM + "STREAM r (x INT) TIME t;\nSUBSCRIBE m FROM s MATCH a | b DEFINE a, b AS x > 1;"


def test_the_view_of_a_report() -> None:
    report = ft.check(TWICE)
    assert (
        repr(report)
        == """\
2 findings in 1 statement
  line  code                     statement  message
  2:8   unused-stream            r          no statement reads the stream 'r'
  3:30  indistinguishable-steps  m          nothing distinguishes 'b' from 'a':…"""
    )
    assert "<table" in report._repr_html_()
    assert repr(ft.check(STREAM + "SUBSCRIBE m FROM s MATCH a , b DEFINE b AS x > a.x;")) == "0 findings in 1 statement"


def test_the_parts_of_a_report() -> None:
    report = ft.check(TWICE)
    assert [finding.code for finding in report.findings] == ["unused-stream", "indistinguishable-steps"]
    assert [finding.statement for finding in report.of("indistinguishable-steps")] == ["m"]
    assert not report.passes
    assert (report.notes, report.undecided, report.unasked, report.silenced) == ((), (), (), 0)
    assert json.loads(json.dumps(report.as_dict()))["statements"] == ["m"]
    assert str(report).splitlines()[0] == "2:8: no statement reads the stream 'r' [unused-stream]"


def test_statements_in_all_their_forms() -> None:
    subs = ft.parse(TWICE)
    assert ft.check(subs) == ft.check(TWICE)
    a, b = ft.build.steps("a", "b")
    built = ft.build.subscribe("m").from_("s").match(a | b).define(a, b, ft.build.event.x > 1)
    assert [finding.code for finding in ft.check(built).findings] == ["indistinguishable-steps"]


def test_a_text_that_is_no_program_raises() -> None:
    with pytest.raises(ft.LanguageError, match="expected a step"):
        ft.check("SUBSCRIBE m FROM s MATCH ;")
    with pytest.raises(ft.LanguageError, match="expected a step"):
        ft.check(STREAM, against="SUBSCRIBE m FROM s MATCH ;")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seconds": 0}, "seconds: expected a number of seconds above 0, found 0"),
        ({"seconds": True}, "seconds: expected a number of seconds above 0, found True"),
        ({"statement_seconds": "5"}, "statement_seconds: expected a number of seconds above 0, found '5'"),
        ({"seconds": float("inf")}, "seconds: expected a number of seconds above 0, found inf"),
        ({"costs": 1}, "costs: expected True or False, found 1"),
        ({"inputs": "s.csv"}, "inputs: expected a dict, found 's.csv'"),
        ({"inputs": {}}, "stream 's' has no input"),
        ({"inputs": {"s": [], "q": []}}, "no statement reads a stream 'q'"),
        ({"tables": {"q": "q.csv"}}, "no statement is FOR EACH 'q'"),
        ({"against": 5}, "subscriptions: expected statements"),
        ({"time": 5}, "time: expected a dict, found 5"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.InputError) as error:
        ft.check(STREAM + "SUBSCRIBE m FROM s MATCH a;", **arguments)
    assert error.value.message.startswith(message)


def test_a_missing_file_of_statements() -> None:
    with pytest.raises(ft.InputError) as error:
        ft.check("watch.ftl")
    assert error.value.hint == "load a file with ft.load('watch.ftl')"


def test_figures_of_a_sample() -> None:
    rows = pd.DataFrame({"t": range(100), "k": ["a", "b"] * 50, "x": range(100)})
    text = STREAM + "SUBSCRIBE m FROM s PER k MATCH a , b DEFINE a AS x > 89 WITHIN 5; SUBSCRIBE n FROM m MATCH a;"
    report = ft.check(text, inputs={"s": rows})
    m, n = report.figures
    assert (m.statement, m.events, m.lanes, m.matches, m.matches_per_event) == ("m", 100, 2, 8, 0.08)
    assert [(c.step, c.condition, c.selectivity) for c in m.conditions] == [("a", "x > 89", 0.1)]
    assert (n.matches, n.stopped) == (8, "")
    assert {note.code for note in report.notes} == {"kept-lanes", "slow-kernel"}


def test_a_sample_that_exceeds_the_limits() -> None:
    rows = [{"t": n, "k": "a", "x": 1} for n in range(3000)]
    report = ft.check(STREAM + "SUBSCRIBE m FROM s MATCH a ; b ; c;", inputs={"s": rows}, statement_seconds=30)
    (figures,) = report.figures
    assert "over 5,000,000 matches, after" in figures.stopped
    assert figures.matches > 5_000_000


def test_figures_of_templates_and_correlators() -> None:
    text = (
        STREAM
        + """
SUBSCRIBE m FOR EACH users FROM s MATCH a DEFINE a AS k = :name AND x > 5;
CORRELATE n FROM s PER k DO repeat{push('x'){sequential{a, b}}} DEFINE a AS x > 5, b AS x > 7;
SUBSCRIBE o FROM s PER k MATCH !a DEFINE a AS x > 5 WITHIN 3;
"""
    )
    rows = [{"t": n, "k": "ab"[n % 2], "x": n % 10} for n in range(100)]
    report = ft.check(text, inputs={"s": rows}, tables={"users": [{"id": 1, "name": "a"}]})
    found = ft.run(text, {"s": rows}, tables={"users": [{"id": 1, "name": "a"}]})
    assert [(f.statement, f.matches, f.stopped) for f in report.figures] == [
        ("m", 20, ""),
        ("n", 20, ""),
        ("o", len(found["o"]), ""),
    ]
    assert [(c.step, c.condition) for c in report.figures[0].conditions] == [("a", "x > 5")]


def test_time_that_is_over() -> None:
    statements = [f"SUBSCRIBE m{n} FROM s MATCH a , b DEFINE a AS x > {n}, b AS x > a.x;" for n in range(50)]
    report = ft.check(STREAM + "\n".join(statements), seconds=1e-6)
    assert report.unasked == report.statements
    assert report.passes
    assert (
        repr(report)
        == """\
0 findings in 50 statements
  cannot tell everything about 50 statements: 'm0', 'm1', 'm2', 'm3', 'm4', … 4…"""
    )


def test_an_unused_allowance_is_certain_only_where_all_was_decided() -> None:
    text = STREAM + "SUBSCRIBE m FROM s MATCH a , b DEFINE b AS x > a.x; -- check: allow vacuous"
    assert [finding.code for finding in ft.check(text).findings] == ["unused-allowance"]
    assert ft.check(text, seconds=1e-6).findings == ()


# ── the name ──


def test_check_is_the_function_whatever_was_imported_before() -> None:
    code = (
        "from foretell.check.finding import Finding\nimport foretell.check.report\nimport foretell as ft\n"
        "assert callable(ft.check), ft.check\nprint(ft.check.__name__, Finding.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "check Finding\n"
    assert inspect.isfunction(ft.check)
    assert isinstance(import_module("foretell.check"), ModuleType)


@pytest.mark.parametrize(
    "code",
    [
        "import foretell",
        "import foretell as ft; ft.CheckReport",
        "from foretell.cli.commands import app\napp(['check', '--help'], standalone_mode=False)",
    ],
)
def test_a_start_loads_no_solver(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert not {"z3", "numba", "pyspark", "scipy"} & set(done.stdout.split())


def test_the_graph_needs_no_solver(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text(STREAM + "SUBSCRIBE m FROM s MATCH a;")
    code = "import sys; from foretell.cli.commands import app\napp(sys.argv[1:], standalone_mode=False)"
    code += "\nprint(*sys.modules)"
    arguments = ["check", "--graph", str(tmp_path / "m.ftl")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert not {"z3", "pyspark"} & set(done.stdout.split())

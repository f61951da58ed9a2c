"""`foretell check`: its outputs, to the letter, and its exit statuses."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.command import foretell

ROOT = Path(__file__).parents[2]

GOOD = """\
STREAM logins (ip STRING, status STRING, tries INT) TIME time ID event;
SUBSCRIBE guessed FROM logins PER ip
MATCH fail{3,} , ok
DEFINE fail AS status = 'denied', ok AS status = 'success'
WITHIN 10 min AFTER MATCH LONGEST;
"""
UNUSED = GOOD + "STREAM doors (door STRING) TIME time;\n"
MULTIPLIED = "SUBSCRIBE m FROM s MATCH a ; b ; c DEFINE a AS x > 1, b AS x > 2, c AS x > b.x;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.ftl").write_text(GOOD)
    (tmp_path / "unused.ftl").write_text(UNUSED)
    (tmp_path / "bad.ftl").write_text("SUBSCRIBE m FROM s MATCH ;")
    (tmp_path / "many.ftl").write_text(MULTIPLIED)
    (tmp_path / "s.jsonl").write_text("".join(f'{{"time": {n}, "x": {n % 4}}}\n' for n in range(40)))
    return tmp_path


def without_time(text: str) -> str:
    return re.sub(r", [\d.,]+ (ms|s|min)$", ", TIME", text, flags=re.MULTILINE)


def test_nothing_found(folder: Path) -> None:
    done = foretell(folder, "check", "good.ftl")
    assert (done.returncode, done.stdout) == (0, "")
    assert without_time(done.stderr) == "0 findings in 1 statement, TIME\n"
    assert foretell(folder, "check", "good.ftl", "--quiet").stderr == ""


def test_a_finding_is_printed_as_errors_are(folder: Path) -> None:
    done = foretell(folder, "check", "unused.ftl")
    assert done.returncode == 1
    assert (
        done.stdout
        == """\
unused.ftl:6:8: no statement reads the stream 'doors' [unused-stream]
  6 | STREAM doors (door STRING) TIME time;
    |        ^^^^^
  hint: delete it, or read it in FROM
"""
    )
    assert without_time(done.stderr) == "1 finding in 1 statement, TIME\n"


def test_a_terminal_breaks_long_lines(folder: Path) -> None:
    done = foretell(folder, "check", "unused.ftl", terminal=True, width=40)
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_allowed_findings_are_counted(folder: Path) -> None:
    (folder / "allowed.ftl").write_text(UNUSED.replace("STREAM doors", "-- check: allow unused-stream\nSTREAM doors"))
    done = foretell(folder, "check", "allowed.ftl")
    assert (done.returncode, done.stdout) == (0, "")
    assert without_time(done.stderr) == "0 findings in 1 statement, 1 allowed, TIME\n"


def test_an_allowance_of_nothing_is_a_finding(folder: Path) -> None:
    (folder / "allowed.ftl").write_text(f"-- check: allow unused-stream\n{GOOD}-- check: allow unused\n")
    done = foretell(folder, "check", "allowed.ftl")
    assert done.returncode == 1
    assert (
        done.stdout
        == """\
allowed.ftl:1:17: this allows 'unused-stream', which is not found here [unused-allowance]
  1 | -- check: allow unused-stream
    |                 ^^^^^^^^^^^^^
  hint: delete it, or put it at the line or before the statement that it is about
allowed.ftl:7:17: there is no code 'unused' to allow [unknown-code]
  7 | -- check: allow unused
    |                 ^^^^^^
  hint: did you mean 'unused-stream'?
"""
    )


def test_an_allowance_of_a_note_is_unused_only_where_costs_are_asked_for(folder: Path) -> None:
    (folder / "allowed.ftl").write_text(f"-- check: allow many-states\n{GOOD}")
    assert foretell(folder, "check", "allowed.ftl").returncode == 0
    done = foretell(folder, "check", "allowed.ftl", "--costs")
    assert done.returncode == 1
    assert "this allows 'many-states', which is not found here [unused-allowance]" in done.stdout


def test_a_text_that_is_no_program(folder: Path) -> None:
    done = foretell(folder, "check", "bad.ftl", "good.ftl")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        without_time(done.stderr)
        == """\
error: bad.ftl:1:26: expected a step or a group, found ';'
  1 | SUBSCRIBE m FROM s MATCH ;
    |                          ^
0 findings in 1 statement, 1 file not checked, TIME
"""
    )


def test_a_file_that_cannot_be_read_does_not_keep_others_from_their_check(folder: Path) -> None:
    (folder / "latin.ftl").write_bytes("SUBSCRIBE m FROM s MATCH a DEFINE a AS k = 'é';".encode("latin-1"))
    done = foretell(folder, "check", "latin.ftl", "none.ftl", "unused.ftl")
    assert (done.returncode, done.stdout.count("[unused-stream]")) == (1, 1)
    assert (
        without_time(done.stderr)
        == """error: cannot read 'latin.ftl': it is not UTF-8
error: there is no file 'none.ftl'
1 finding in 1 statement, 2 files not checked, TIME
"""
    )
    done = foretell(folder, "check", "none.ftl", "good.ftl", "--json")
    none, good = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, none["file"], none["error"]["message"]) == (1, "none.ftl", "there is no file 'none.ftl'")
    assert good["file"] == "good.ftl"
    done = foretell(folder, "check", "none.ftl", "--format", "github")
    assert done.stdout.startswith("::error file=none.ftl")


def test_an_error_of_the_other_file_is_its_own(folder: Path) -> None:
    done = foretell(folder, "check", "good.ftl", "--against", "bad.ftl", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: bad.ftl:1:26: ")


def test_a_file_is_equivalent_to_itself(folder: Path) -> None:
    done = foretell(folder, "check", "good.ftl", "--against", "good.ftl")
    assert (done.returncode, done.stdout.count(" is equivalent to ")) == (0, 1)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (f"{'repeat{' * 1000}a{'}' * 1000}", "this is nested more than 150 levels deep"),
        ("repeat{push('x'){repeat(1000000){a}}}", ""),
        ("in(p) do{repeat{push('x'){a}}} in(q) do{repeat{push('y'){a}}}", "part-never-starts"),
    ],
)
def test_awkward_correlators_end(expression: str, wanted: str, folder: Path) -> None:
    """Deep ones, long ones, and a guard that never holds."""
    conditions = "a AS x = 1, p AS x > 5, q AS x > 7 AND x < 3"
    used = ", ".join(c for c in conditions.split(", ") if f"({c[0]})" in expression or f"{{{c[0]}}}" in expression)
    (folder / "m.ftl").write_text(f"STREAM s (x INT) TIME t;\nCORRELATE m FROM s DO {expression} DEFINE {used};\n")
    done = foretell(folder, "check", "m.ftl")
    assert done.returncode == (1 if wanted else 0)
    assert wanted in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["good.ftl", "--format", "xml"], "'xml' is not one of text, json, github, mermaid"),
        (["good.ftl", "unused.ftl", "--against", "good.ftl"], "Invalid value for --against: name one file"),
        (["good.ftl", "unused.ftl", "--input", "logins=x.csv"], "Invalid value for --input: name one file"),
        (["good.ftl", "--graph", "--against", "good.ftl"], "leave out --against: a graph checks nothing"),
        (["good.ftl", "--graph", "--costs"], "leave out --costs: a graph checks nothing"),
        (["good.ftl", "--format", "github", "--graph"], "leave out --format github: a graph checks nothing"),
        (["good.ftl", "--json", "--format", "github"], "Invalid value for --json: leave out --format github"),
        (["good.ftl", "--seconds", "0"], "Invalid value for --seconds: 0 is no time above 0"),
        ([], "Missing argument"),
    ],
)
def test_wrong_command_lines(arguments: list[str], complaint: str, folder: Path) -> None:
    done = foretell(folder, "check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_files_that_are_not_there(folder: Path) -> None:
    done = foretell(folder, "check", "none.ftl")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no file 'none.ftl'" in done.stderr


# ── other forms ──


def test_json(folder: Path) -> None:
    done = foretell(folder, "check", "good.ftl", "unused.ftl", "bad.ftl", "--json")
    assert done.returncode == 1
    good, unused, bad = map(json.loads, done.stdout.splitlines())
    assert {*good} == {"file", "statements", "findings", "unasked", "silenced", "answers", "dependencies", "costs"}
    assert (good["file"], good["statements"], good["findings"]) == ("good.ftl", ["guessed"], [])
    assert unused["findings"] == [
        {
            "code": "unused-stream",
            "kind": "finding",
            "statement": "doors",
            "line": 6,
            "column": 8,
            "end_line": 6,
            "end_column": 13,
            "message": "no statement reads the stream 'doors'",
            "hint": "delete it, or read it in FROM",
            "witness": None,
        }
    ]
    assert unused["dependencies"]["readings"] == [
        {"statement": "guessed", "stream": "logins", "attributes": ["ip", "status"]}
    ]
    assert bad == {
        "file": "bad.ftl",
        "error": {
            "code": "unexpected",
            "message": "expected a step or a group, found ';'",
            "hint": None,
            "line": 1,
            "column": 26,
        },
    }


def test_github(folder: Path) -> None:
    done = foretell(folder, "check", "unused.ftl", "bad.ftl", "--format", "github")
    assert done.returncode == 1
    assert done.stdout == (
        "::warning file=unused.ftl,line=6,col=8,title=foretell%3A unused-stream::"
        "no statement reads the stream 'doors'%0Ahint: delete it, or read it in FROM\n"
        "::error file=bad.ftl,line=1,col=26,title=foretell%3A unexpected::expected a step or a group, found ';'\n"
    )


def test_what_github_takes_for_its_own_is_escaped(folder: Path) -> None:
    (folder / "a,b%c:d.ftl").write_text(GOOD + 'STREAM "100%, :: sure" (x INT) TIME t;')
    done = foretell(folder, "check", "a,b%c:d.ftl", "--format", "github")
    assert done.stdout == (
        "::warning file=a%2Cb%25c%3Ad.ftl,line=6,col=8,title=foretell%3A unused-stream::"
        "no statement reads the stream '100%25, :: sure'%0Ahint: delete it, or read it in FROM\n"
    )


def test_notes_are_notices(folder: Path) -> None:
    done = foretell(folder, "check", "many.ftl", "--costs", "--format", "github")
    assert done.returncode == 0
    assert {line.partition(" ")[0] for line in done.stdout.splitlines()} == {"::notice"}


def test_the_graph(folder: Path) -> None:
    done = foretell(folder, "check", "unused.ftl", "--graph")
    assert done.returncode == 0
    assert done.stdout == "guessed reads logins (ip, status)\nnothing reads logins.tries\nnothing reads doors.door\n"
    assert json.loads(foretell(folder, "check", "unused.ftl", "--graph", "--json").stdout)["file"] == "unused.ftl"
    drawn = foretell(folder, "check", "unused.ftl", "--format", "mermaid")
    assert (drawn.returncode, drawn.stdout.splitlines()[0]) == (0, "flowchart LR")


# ── costs ──


def test_notes_on_costs_are_no_findings(folder: Path) -> None:
    assert foretell(folder, "check", "many.ftl").stdout == ""
    done = foretell(folder, "check", "many.ftl", "--costs")
    assert done.returncode == 0
    assert (
        done.stdout
        == """\
many.ftl:1:26: note: matches multiply with the cube of the events of a lane that satisfy the steps [many-matches]
  1 | SUBSCRIBE m FROM s MATCH a ; b ; c DEFINE a AS x > 1, b AS x > 2, c AS x > b.x;
    |                          ^^^^^^^^^
  hint: add WITHIN, compare the steps by equalities, or choose: FIRST, LAST, AFTER MATCH
many.ftl:1:28: note: partial matches with 'a' wait for 'b' for ever: memory grows with each of them [unbounded-state]
  1 | SUBSCRIBE m FROM s MATCH a ; b ; c DEFINE a AS x > 1, b AS x > 2, c AS x > b.x;
    |                            ^
  hint: add WITHIN
"""
    )


def test_figures_of_a_sample(folder: Path) -> None:
    (folder / "m.ftl").write_text("SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS x = 1, b AS x > a.x AND x <> 3;")
    done = foretell(folder, "check", "m.ftl", "--input", "s.jsonl", "--time", "time", "--quiet")
    assert done.returncode == 0
    figures = re.sub(r"up to [\d.]+ [kM]?B, [\d.]+ [kM]?B", "SIZE", done.stdout[done.stdout.index("m on") :])
    assert (
        figures
        == """\
m on 40 events in 1 lane
  matches: 55, 1.38 per event
  partial matches at once: up to 10, in one lane up to 10
  memory: SIZE per lane
  a: x = 1 holds for 25% of the events
  b: x <> 3 holds for 75% of the events
"""
    )
    (costs,) = json.loads(foretell(folder, "check", "m.ftl", "--input", "s.jsonl", "--time", "time", "--json").stdout)[
        "costs"
    ]
    assert (costs["matches"], costs["partial"], costs["matches_per_event"]) == (55, 10, 1.375)
    assert costs["memory"] > 1000


# ── comparison ──


def test_comparison_of_files(folder: Path) -> None:
    stream = "STREAM s (x INT, time INT) TIME time;\n"
    (folder / "old.ftl").write_text(
        stream + "SUBSCRIBE p FROM s MATCH a , b DEFINE a AS x > 1; SUBSCRIBE q FROM s MATCH a DEFINE a AS x > 5;"
    )
    (folder / "new.ftl").write_text(
        stream + "SUBSCRIBE q FROM s MATCH a DEFINE a AS x > 6; SUBSCRIBE p FROM s MATCH u , v DEFINE u AS x > 1;"
    )
    assert foretell(folder, "check", "old.ftl", "--against", "old.ftl").returncode == 0
    done = foretell(folder, "check", "new.ftl", "--against", "old.ftl")
    assert done.returncode == 1
    assert (
        done.stdout
        == """\
'q' is contained in 'q' of old.ftl
  shown by these events:
    time  x  q (here)  q (other)
    0     6            a=0
'p' is equivalent to 'p' of old.ftl (their texts say the same)
"""
    )
    assert without_time(done.stderr) == "0 findings in 2 statements, 1 of 2 equivalent, TIME\n"
    answers = json.loads(foretell(folder, "check", "new.ftl", "--against", "old.ftl", "--json").stdout)["answers"]
    assert [answer["relation"] for answer in answers] == ["contained", "equivalent"]
    github = foretell(folder, "check", "new.ftl", "--against", "old.ftl", "--format", "github").stdout
    assert github == ("::warning file=new.ftl,title=foretell%3A not-equivalent::'q' is contained in 'q' of old.ftl\n")


# ── hooks ──


def test_the_hook_for_pre_commit() -> None:
    yaml: Any = import_module("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language"} <= {*hook}
    assert re.search(hook["files"], "rules/watch.ftl")
    assert not re.search(hook["files"], "rules/watch.ftl.bak")
    assert hook["entry"].split()[:2] == ["foretell", "check"]


def test_the_command_of_the_hook_takes_several_files(folder: Path) -> None:
    yaml: Any = import_module("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    done = foretell(folder, *hook["entry"].split()[1:], "good.ftl", "unused.ftl")
    assert done.returncode == 1
    assert done.stdout.startswith("unused.ftl:6:8: ")

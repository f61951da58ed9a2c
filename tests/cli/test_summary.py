"""The summary at the end of a run: its figures on known data, and its exit status."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import foretell

STATEMENTS = """STREAM logins (user STRING, tries INT, time INT) TIME time;
STREAM doors (user STRING, time INT) TIME time;
SUBSCRIBE rising FROM logins PER user MATCH a , b DEFINE b AS tries > a.tries;
SUBSCRIBE entered FROM logins, doors MATCH l ; d DEFINE l AS tries = 1, d AS stream = 'doors';
"""
COMMAND = ("run", "m.ftl", "--input", "logins=logins.jsonl", "--input", "doors=doors.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.ftl").write_text(STATEMENTS)
    events = [("ann", 1, 1), ("bob", 1, 2), ("ann", 2, 3), ("ann", 3, 4), ("bob", 0, 5)]
    lines = [f'{{"user": "{user}", "tries": {tries}, "time": {time}}}' for user, tries, time in events]
    (tmp_path / "logins.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "doors.jsonl").write_text('{"user": "ann", "time": 6}\n')
    return tmp_path


def summary(folder: Path, *options: str, status: int = 0) -> list[str]:
    """The lines on standard error, without the time that was taken."""
    done = foretell(folder, *COMMAND, *options)
    assert done.returncode == status, done.stderr
    return [re.sub(r"^\d[\d.,]* (ms|s|min) ", "TIME ", line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_figures(folder: Path, engine: str) -> None:
    place = {"embedded": "in this process", "reference": "by the reference evaluator"}[engine]
    assert summary(folder, "--engine", engine) == [
        "logins: 5 events read",
        "doors: 1 event read",
        "rising: 2 matches in 2 lanes",
        "entered: 2 matches in 1 lane",
        f"TIME {place}",
    ]


def test_correlators(folder: Path) -> None:
    with (folder / "m.ftl").open("a") as file:
        file.write("CORRELATE c FROM logins DO repeat{ push('x'){a} } DEFINE a AS tries = 9;")
    assert summary(folder)[-1] == "TIME in this process"


def test_the_file_that_was_written(folder: Path) -> None:
    assert summary(folder, "--output", "found.csv")[0] == "wrote found.csv (4 rows)"
    assert summary(folder, "--output", "found.csv", "--quiet") == []


def test_only_some_statements(folder: Path) -> None:
    """The others still run, and are in neither the output nor the summary."""
    done = foretell(folder, *COMMAND, "--engine", "embedded", "--only", "entered")
    assert [json.loads(line)["subscription"] for line in done.stdout.splitlines()] == ["entered"] * 2
    assert done.stderr.splitlines()[2:-1] == ["entered: 2 matches in 1 lane"]
    assert summary(folder, "--only", "entred", status=1) == [
        "error: there is no statement 'entred'",
        "  hint: did you mean 'entered'?",
    ]


def test_set_aside(folder: Path) -> None:
    with (folder / "logins.jsonl").open("a") as file:
        file.write('{"user": "ann", "tries": "many", "time": 7}\n')
        file.write('{"user": "ann"}\nnot json\n{"tries": 1, "time": "x"}\n')
    assert summary(folder, "--engine", "embedded") == [
        "logins: 9 events read",
        "doors: 1 event read",
        "logins: 3 of 9 events set aside: 1 × no time, 1 × not JSON, 1 × time: expected INT, found 'x' "
        "(the first at logins.jsonl:7)",
        "logins: 1 of 9 values of tries set to NULL: 1 × expected INT, found 'many' (the first at logins.jsonl:6)",
        "rising: 2 matches in 2 lanes",
        "entered: 2 matches in 1 lane",
        "TIME in this process",
    ]


def test_no_match(folder: Path) -> None:
    (folder / "doors.jsonl").write_text('{"user": "ann", "time": 0}\n')
    assert summary(folder, "--engine", "embedded")[3] == "entered: no matches in 1 lane"


def test_no_events(folder: Path) -> None:
    (folder / "doors.jsonl").write_text("")
    (folder / "logins.jsonl").write_text("")
    assert summary(folder, "--engine", "embedded") == [
        "logins: no events",
        "doors: no events",
        "rising: no matches in 0 lanes",
        "entered: no matches in 1 lane",
        "TIME in this process",
    ]


def test_everything_set_aside(folder: Path) -> None:
    """Then nothing can match, and the status says so, also for a script that wants no summary."""
    (folder / "doors.jsonl").write_text('{"user": "ann", "time": null}\n')
    (folder / "logins.jsonl").write_text('{"user": "ann", "tries": 1, "time": null}\n' * 3)
    lines = summary(folder, "--engine", "embedded", status=1)
    assert "logins: 3 of 3 events set aside: 3 × no time (the first at logins.jsonl:1)" in lines
    message = [
        "error: all 4 events were set aside: there was nothing to match",
        "  hint: look at them with --quarantine FILE; --format, --pattern and --time-format say how to read them",
    ]
    assert lines[-2:] == message
    assert summary(folder, "--engine", "embedded", "--quiet", status=1) == message


def test_quiet(folder: Path) -> None:
    assert summary(folder, "--quiet") == []


def test_many_statements(folder: Path) -> None:
    statements = [f"SUBSCRIBE s{i} FROM logins MATCH a DEFINE a AS tries = {i};" for i in range(25)]
    (folder / "m.ftl").write_text("STREAM logins (user STRING, tries INT, time INT) TIME time;" + "".join(statements))
    done = foretell(folder, "run", "m.ftl", "--input", "logins=logins.jsonl", "--engine", "embedded")
    lines = done.stderr.splitlines()
    assert lines[2:4] == ["s1: 2 matches in 1 lane", "s2: 1 match in 1 lane"]
    assert lines[21] == "and 5 more statements"


def test_a_pipeline_file_needs_follow(folder: Path) -> None:
    (folder / "p.toml").write_text("text = ''")
    done = foretell(folder, "run", "p.toml")
    assert done.returncode == 2
    assert "p.toml is a pipeline file: add --follow" in " ".join(done.stderr.split())


def test_wrong_endings_are_found_before_the_run(folder: Path) -> None:
    done = foretell(folder, *COMMAND, "--output", "out.xlsx")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: out.xlsx: cannot tell the format by the ending\n"
        "  hint: known endings: .jsonl, .csv, .parquet, .jsonl.gz, .csv.gz\n"
    )

"""The command line: outputs, exit statuses, and what it says when something is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

STATEMENT = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';\n"
EVENTS = '{"time": 1, "k": "a"}\n{"time": 2, "k": "b"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.ftl").write_text(STATEMENT)
    (tmp_path / "s.jsonl").write_text(EVENTS)
    return tmp_path


def foretell(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "foretell.app", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done


RUN = ("run", "m.ftl", "--input", "s=s.jsonl", "--time", "s=time", "--engine", "reference")


def test_prints_json_lines(folder: Path) -> None:
    done = foretell(folder, *RUN)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "subscription": "m",
        "kind": "match",
        "key": None,
        "start": 1,
        "end": 2,
        "probability": 1.0,
        "horizon": None,
        "id": None,
        "bindings": {},
        "events": {"a": 0, "b": 1},
    }
    assert done.stderr == ""


def test_writes_files(folder: Path) -> None:
    assert foretell(folder, *RUN, "--output", "out.parquet").returncode == 0
    assert pq.read_table(folder / "out.parquet")["events"].to_pylist() == ['{"a":0,"b":1}']
    assert foretell(folder, *RUN, "--output", "out.jsonl").stdout == ""
    assert (folder / "out.jsonl").read_text() == foretell(folder, *RUN).stdout


def test_sets_malformed_events_aside(folder: Path) -> None:
    (folder / "s.jsonl").write_text(EVENTS + '{"k": "a"}\nnot json\n{"time": "x", "k": 1}\n')
    done = foretell(folder, *RUN, "--quarantine", "bad.jsonl")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == (
        "s: 3 of 5 events set aside: 1 × no time, 1 × not JSON, 1 × time: expected INT, found 'x'"
        " (the first at s.jsonl:3)\n"
    )
    assert [json.loads(line)["row"] for line in (folder / "bad.jsonl").read_text().splitlines()] == [3, 4, 5]


def test_strict_stops(folder: Path) -> None:
    (folder / "s.jsonl").write_text(EVENTS + '{"k": "a"}\n')
    done = foretell(folder, *RUN, "--strict")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: s.jsonl:3: no time\n")


def test_until_lets_time_go_on(folder: Path) -> None:
    (folder / "m.ftl").write_text("SUBSCRIBE m FROM s MATCH a ; !b WITHIN 5 DEFINE a AS k = 'b', b AS k = 'a';")
    assert foretell(folder, *RUN).stdout == ""
    assert json.loads(foretell(folder, *RUN, "--until", "8").stdout)["end"] == 7
    assert foretell(folder, *RUN, "--until", "soon").stderr == "error: until: expected a number, found 'soon'\n"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("run", "no.ftl"), 1, "error: there is no file 'no.ftl'\n"),
        (("run", "m.ftl"), 1, "error: no events are given for stream 's'\n  hint: --input s=PATH"),
        (("run", "m.ftl", "--input", "s=no.jsonl", "--time", "s=time"), 1, "error: no such file or folder: no.jsonl\n"),
        (("run", "m.ftl", "--input", "s=s.jsonl"), 1, "error: which column of stream 's' is its time?\n"),
        (("run", "m.ftl", "--input", "r=s.jsonl"), 1, "error: no statement reads a stream 'r'\n  hint: "),
        (("run", "m.ftl", "--input", "s"), 2, "expected STREAM=PATH, found 's'"),
        (("run", "m.ftl", "--input", "s=a", "--input", "s=b"), 2, "'s' is given twice"),
        (("run", "m.ftl", "--engine", "warp"), 2, "'warp' is not one of reference"),
        (("run",), 2, "Missing argument"),
        (("fly",), 2, "No such command 'fly'"),
        (("bench", "fly"), 1, "error: there is no benchmark 'fly'\n"),
        ((*RUN, "--model", "no.json"), 1, "error: there is no file 'no.json'\n"),
        ((*RUN, "--model", "m.ftl"), 1, "error: cannot read the model 'm.ftl': "),
        ((*RUN, "--output", "out.txt"), 1, "error: out.txt: cannot tell the format by the ending\n"),
        ((*RUN, "--output", "no/out.jsonl"), 1, "error: "),
        ((*RUN, "--quarantine", "no/bad.jsonl"), 1, "error: cannot write 'no/bad.jsonl': "),
        ((*RUN, "--table", "t=s.jsonl"), 1, "error: no statement is FOR EACH 't'\n"),
    ],
)
def test_says_what_is_wrong(folder: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    done = foretell(folder, *arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert done.stdout == ""


def test_wrong_text_shows_the_place(folder: Path) -> None:
    (folder / "m.ftl").write_text("SUBSCRIBE m FROM s\nMATCH a , b DEFINE a AS kk = 'a';")
    done = foretell(folder, *RUN)
    assert done.returncode == 1
    assert done.stderr == (
        "error: m.ftl:2:25: unknown attribute 'kk' of stream 's'\n"
        "  2 | MATCH a , b DEFINE a AS kk = 'a';\n"
        "    |                         ^^\n"
        "  hint: did you mean 'k'?\n"
    )


@pytest.mark.parametrize(
    ("name", "content"), [("s.parquet", "no parquet"), ("s.jsonl", "a,b\n1,2\n"), ("s.csv", "\x00\x01\xff")]
)
def test_a_file_that_is_not_what_its_ending_says(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content, encoding="latin-1")
    done = foretell(folder, "run", "m.ftl", "--input", f"s={name}", "--time", "s=time")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert name in done.stderr


def test_demo_shows_what_happened(folder: Path) -> None:
    done = foretell(folder, "demo")
    assert done.returncode == 0
    assert "has happened" in done.stdout
    assert "may have happened" in done.stdout


def test_bench_prints_json(folder: Path) -> None:
    lines = [json.loads(line) for line in foretell(folder, "bench", "language", "--json").stdout.splitlines()]
    assert [line["case"] for line in lines] == ["parse", "check"]
    assert all(line["rate"] > 0 for line in lines)

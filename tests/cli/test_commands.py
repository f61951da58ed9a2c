"""The command line: outputs, exit statuses, and what it says when something is wrong."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from foretell.cli import small_demo
from tests.command import foretell

DEMONSTRATION = Path(str(files("foretell.cli"))) / "demonstration"
STATEMENT = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';\n"
EVENTS = '{"time": 1, "k": "a"}\n{"time": 2, "k": "b"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.ftl").write_text(STATEMENT)
    (tmp_path / "s.jsonl").write_text(EVENTS)
    return tmp_path


RUN = ("run", "m.ftl", "--input", "s=s.jsonl", "--time", "s=time", "--engine", "reference", "--quiet")


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
    assert pq.read_table(folder / "out.parquet")["events"].to_pylist() == [{"a": 0, "b": 1}]
    assert foretell(folder, *RUN, "--output", "out.parquet", "--json").returncode == 0
    assert pq.read_table(folder / "out.parquet")["events"].to_pylist() == ['{"a":0,"b":1}']
    assert foretell(folder, *RUN, "--output", "out.jsonl").stdout == ""
    assert (folder / "out.jsonl").read_text() == foretell(folder, *RUN).stdout


def test_writes_a_page_beside_the_output(folder: Path) -> None:
    plain = foretell(folder, *RUN).stdout
    assert foretell(folder, *RUN, "--html", "page.html").stdout == plain
    assert foretell(folder, *RUN, "--html", "page.html", "--output", "out.parquet").returncode == 0
    assert pq.read_table(folder / "out.parquet")["events"].to_pylist() == [{"a": 0, "b": 1}]
    assert "all of 1 match" in (folder / "page.html").read_text(encoding="utf-8")
    done = foretell(folder, *RUN[:-1], "--html", "page.html", terminal=True)
    assert "wrote page.html" in done.stderr
    assert "m  1 match" in done.stdout
    done = foretell(folder, *RUN, "--html", "none/page.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot write 'none/page.html'" in done.stderr


@pytest.mark.parametrize("option", ["--html", "--quarantine"])
def test_one_file_does_not_replace_another(option: str, folder: Path) -> None:
    done = foretell(folder, *RUN, "--output", "out.jsonl", option, f"../{folder.name}/out.jsonl")
    assert done.returncode == 2
    assert f"Error: Invalid value for {option}: --output writes the file" in done.stderr
    assert not (folder / "out.jsonl").exists()


def test_sets_malformed_events_aside(folder: Path) -> None:
    (folder / "s.jsonl").write_text(EVENTS + '{"k": "a"}\nnot json\n{"time": "x", "k": 1}\n')
    done = foretell(folder, *RUN[:-1], "--quarantine", "bad.jsonl")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert (
        "s: 3 of 5 events set aside: 1 × no time, 1 × not JSON, 1 × time: expected INT, found 'x'"
        " (the first at s.jsonl:3)\n"
    ) in done.stderr
    assert [json.loads(line)["row"] for line in (folder / "bad.jsonl").read_text().splitlines()] == [3, 4, 5]


def test_strict_stops(folder: Path) -> None:
    (folder / "s.jsonl").write_text(EVENTS + '{"k": "a"}\n')
    done = foretell(folder, *RUN, "--strict")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: s.jsonl:3: no time\n")


def test_the_time_column_need_not_be_named(folder: Path) -> None:
    done = foretell(folder, "run", "m.ftl", "--input", "s=s.jsonl")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert done.stderr.startswith("note: stream 's': the time is column 'time'; change it with --time s=COLUMN\n")


def test_until_lets_time_go_on(folder: Path) -> None:
    (folder / "m.ftl").write_text("SUBSCRIBE m FROM s MATCH a ; !b WITHIN 5 DEFINE a AS k = 'b', b AS k = 'a';")
    assert foretell(folder, *RUN).stdout == ""
    assert json.loads(foretell(folder, *RUN, "--until", "8").stdout)["end"] == 7
    assert foretell(folder, *RUN, "--until", "soon").stderr == (
        "error: until: expected a number, found 'soon'\n  hint: give a finite number, as the streams' time is one\n"
    )


def test_limits_are_options(folder: Path) -> None:
    (folder / "open.ftl").write_text("SUBSCRIBE m FROM s MATCH a ; b+")
    run = "run", "open.ftl", "--input", "s=s.jsonl", "--time", "s=time", "--engine", "embedded"
    stopped = foretell(folder, *run, "--limit", "lane=1")
    assert "note: 'm' stopped: over 1 partial matches; add WITHIN or raise Limits.lane" in stopped.stderr
    for wrong, message in (
        ("memory=much", "memory must be a number of bytes or a text like '4 GiB'"),
        ("memroy=4GiB", "there is no limit 'memroy' (did you mean 'memory'?)"),
    ):
        refused = foretell(folder, *run, "--limit", wrong)
        assert refused.returncode == 2
        assert message in " ".join(refused.stderr.replace("│", "").split())


def test_a_terminal_breaks_lines_between_words(folder: Path) -> None:
    (folder / "m.ftl").write_text(
        "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a' AND k <> 'long' AND kk = 'b', b AS k;"
    )
    done = foretell(folder, "run", "m.ftl", "--input", "s=s.jsonl", terminal=True, width=50)
    assert done.stderr == (
        "error: m.ftl:1:72: unknown attribute 'kk' of\n"
        "  stream 's'\n"
        "  1 | …> 'long' AND kk = 'b', b AS k;\n"
        "    |               ^^\n"
        "  hint: did you mean 'k'?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("run", "no.ftl"), 1, "error: there is no file 'no.ftl'\n"),
        (("run", "m.ftl"), 1, "error: stream 's' has no input\n  hint: add --input s=PATH"),
        (("run", "m.ftl", "--input", "s=no.jsonl", "--time", "s=time"), 1, "error: there is no file 'no.jsonl'\n"),
        (("run", "m.ftl", "--input", "r=s.jsonl"), 1, "error: no statement reads a stream 'r'\n  hint: "),
        (("run", "m.ftl", "--input", "=s"), 2, "expected STREAM=PATH, found '=s'"),
        (("run", "m.ftl", "--input", "s=a", "--input", "s=b"), 2, "'s' occurs twice; give it once"),
        (("run", "m.ftl", "--engine", "warp"), 2, "'warp' is not one of embedded"),
        (("run",), 2, "Missing argument"),
        (("fly",), 2, "No such command 'fly'"),
        (("bench", "fly"), 1, "error: there is no benchmark 'fly'\n"),
        ((*RUN, "--model", "no.json"), 1, "error: there is no file 'no.json'\n"),
        ((*RUN, "--model", "."), 1, "error: cannot read '.': it is a folder\n"),
        (("run", "."), 1, "error: cannot read '.': it is a folder\n"),
        ((*RUN, "--until", "inf"), 1, "error: until: expected a number, found 'inf'\n"),
        ((*RUN, "--until", "nan"), 1, "error: until: expected a number, found 'nan'\n"),
        ((*RUN, "--model", "m.ftl"), 1, "error: the model 'm.ftl' is not JSON: Expecting value: line 1"),
        ((*RUN, "--output", "out.txt"), 1, "error: out.txt: cannot tell the format by the ending\n"),
        ((*RUN, "--output", "no/out.jsonl"), 1, "error: cannot write 'no/out.jsonl': No such file or directory\n"),
        ((*RUN, "--quarantine", "no/bad.jsonl"), 1, "error: cannot write 'no/bad.jsonl': No such file or directory\n"),
        ((*RUN, "--table", "t=s.jsonl"), 1, "error: no statement is FOR EACH 't'\n"),
    ],
)
def test_says_what_is_wrong(folder: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    done = foretell(folder, *arguments)
    assert done.returncode == status
    assert message in done.stderr
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
    done = foretell(folder, "demo", "--small")
    assert done.returncode == 0
    assert "has happened" in done.stdout
    assert "may have happened" in done.stdout
    assert "given_up     is about to happen  2026-03-02" in done.stdout
    assert "forecasts came true" in done.stdout


def test_demo_fits_into_80_columns(folder: Path) -> None:
    text = (DEMONSTRATION / "watch.ftl").read_text()
    shown = foretell(folder, "demo", "--small").stdout
    assert shown.startswith(text)
    assert max(map(len, shown.splitlines())) <= 80
    assert "ip = 128.100.2.15   fail: e0, e1, e2   ok: e3\n" in shown


def test_demo_uses_no_colours_that_a_light_or_a_dark_terminal_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False)
    monkeypatch.setattr(small_demo, "Console", lambda **_: console)
    written = io.BytesIO()
    monkeypatch.setattr(small_demo, "standard_output", lambda: written)
    small_demo.show()
    assert set(re.findall(r"\x1b\[([0-9;]*)m", written.getvalue().decode())) <= {"0", "1", "2"}


def test_bench_prints_json(folder: Path) -> None:
    lines = [json.loads(line) for line in foretell(folder, "bench", "language", "--json").stdout.splitlines()]
    assert [line["case"] for line in lines] == ["parse", "check"]
    assert all(line["rate"] > 0 for line in lines)


def test_version(folder: Path) -> None:
    assert foretell(folder, "--version").stdout == f"foretell {version('foretell')}\n"


@pytest.mark.parametrize("half_life", ["-5", "nan"])
def test_a_half_life_is_a_number_of_events(folder: Path, half_life: str) -> None:
    done = foretell(folder, "train", "m.ftl", "--output", "m.json", "--half-life", half_life)
    assert done.returncode == 2
    assert f"expected a number of events, or 0 for never, found {half_life}" in done.stderr


def test_says_that_the_reference_makes_no_forecasts(folder: Path) -> None:
    (folder / "m.ftl").write_text(STATEMENT.replace(";", " FORECAST WITHIN 10 EVENTS ABOVE 0.8;"))
    done = foretell(folder, *RUN[:-1])
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert done.stderr.startswith("note: 'm' has no forecasts: the reference evaluator makes none\n")


def test_a_quarantine_is_there_whole_or_not_at_all(folder: Path) -> None:
    (folder / "s.jsonl").write_text(EVENTS + "not json\n")
    (folder / "bad").mkdir()
    done = foretell(folder, *RUN, "--quarantine", "bad")
    assert (done.returncode, done.stderr) == (1, "error: cannot write 'bad': Is a directory\n")
    assert sorted(p.name for p in folder.iterdir()) == ["bad", "m.ftl", "s.jsonl"]


# ── standard output that is closed, full, or a pipe that nobody reads ──


def shell(folder: Path, arguments: str, rest: str) -> tuple[int, str, str]:
    command = f"set -o pipefail; {shlex.quote(sys.executable)} -m foretell.cli {arguments} {rest}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", [shlex.join(RUN), "demo --small", "bench language"])
def test_output_that_is_closed_or_full(folder: Path, command: str) -> None:
    message = "error: cannot write the output: {0}\n"
    assert shell(folder, command, ">&-") == (1, "", message.format("standard output is closed"))
    assert shell(folder, command, ">/dev/full") == (1, "", message.format("No space left on device"))


def test_help_onto_a_full_disk(folder: Path) -> None:
    assert shell(folder, "--help", ">/dev/full") == (1, "", "error: cannot write the output: No space left on device\n")


def test_a_file_needs_no_standard_output(folder: Path) -> None:
    assert shell(folder, f"{shlex.join(RUN)} --output out.jsonl", ">&-") == (0, "", "")
    assert (folder / "out.jsonl").stat().st_size


def test_an_error_without_standard_error_is_not_output(folder: Path) -> None:
    assert shell(folder, "run no.ftl", "2>&-") == (1, "", "")


@pytest.mark.parametrize("command", [shlex.join(RUN), "demo --small", "bench language"])
def test_a_reader_that_has_seen_enough(folder: Path, command: str) -> None:
    status, shown, errors = shell(folder, command, "| head -1")
    assert (status, len(shown.splitlines()), errors) == (0, 1, "")
    assert shell(folder, command, "| true") == (0, "", "")

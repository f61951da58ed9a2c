"""Output while matching goes on: the same rows, bounded memory, no half files, and an end when nobody reads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.events.notification import Notification
from foretell.notify import piece_output, write
from tests.command import foretell

TEXT = """
SUBSCRIBE b FROM s PER k MATCH a ; b WITHIN 9 RETURN b.v AS v;
SUBSCRIBE a FROM s MATCH x ; !w WITHIN 4 DEFINE w AS v = 3;
SUBSCRIBE l FROM s PER k MATCH x+ , y AFTER MATCH LONGEST DEFINE y AS v < 2;
"""
EVENTS = [{"time": number // 2, "k": number % 3, "v": number * 7 % 5} for number in range(300)]
TRIPLES = "STREAM s (time INT) TIME time; SUBSCRIBE m FROM s MATCH a ; b ; c;"


class Parts:
    def __init__(self) -> None:
        self.parts: list[Sequence[Notification]] = []

    def write(self, part: Sequence[Notification]) -> None:
        self.parts.append(part)


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.machine.runtime.SLICE", 8)
    monkeypatch.setattr(piece_output, "WRITTEN_AT_ONCE", 40)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("engine", ["embedded", "reference"])
@pytest.mark.parametrize("only", [None, ["a", "b"]])
def test_an_output_gets_all_rows_in_their_order(engine: str, only: list[str] | None) -> None:
    inputs = {"s": EVENTS[:100]}
    found = ft.run(TEXT, inputs, time="time", until=400, engine=engine, only=only)
    output = Parts()
    written = ft.run(TEXT, inputs, time="time", until=400, engine=engine, only=only, output=output)
    assert [n for part in output.parts for n in part] == list(found)
    assert len(output.parts) > 3 or engine == "reference"
    assert (written.summary, written.notes, len(written)) == (found.summary, found.notes, len(found))


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.jsonl.gz"])
def test_a_file_is_the_same(tmp_path: Path, name: str) -> None:
    write(ft.run(TEXT, {"s": EVENTS}, time="time"), tmp_path / name)
    written = ft.run(TEXT, {"s": EVENTS}, time="time", output=tmp_path / f"new.{name}")
    assert (tmp_path / f"new.{name}").read_bytes() == (tmp_path / name).read_bytes()
    assert "written to '" in repr(written)
    with pytest.raises(ft.InputError) as caught:
        written[0]
    assert caught.value.code == "written"


def test_arguments() -> None:
    wrong: Any
    for wrong in (3, "out.xlsx"):
        with pytest.raises(ft.InputError):
            ft.run(TEXT, {"s": EVENTS}, time="time", output=wrong)


@pytest.mark.usefixtures("_small")
def test_a_failed_run_leaves_no_file(tmp_path: Path) -> None:
    class Full(Parts):
        def write(self, part: Sequence[Notification]) -> None:
            super().write(part)
            if len(self.parts) > 2:
                raise ft.InputError("full", "full")

    with pytest.raises(ft.InputError, match="full"):
        ft.run(TEXT, {"s": EVENTS}, time="time", output=Full())
    with pytest.raises(ft.InputError):
        ft.run(TEXT, {"s": [{"time": 1}, {"time": "never"}]}, time="time", strict=True, output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_table_on_a_terminal_counts_the_rest(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text(TRIPLES)
    (tmp_path / "s.csv").write_text("time\n" + "".join(f"{time}\n" for time in range(200)))
    done = foretell(tmp_path, "run", "m.ftl", "--input", "s.csv", "--engine", "embedded", terminal=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "m  1,313,400 matches"
    assert lines[-1] == "… 1,313,380 more: use --output FILE.csv"
    assert "m: 1,313,400 matches in 1 lane" in done.stderr


# ── processes ──

MEMORY = """
import resource
import foretell as ft
class Counting:
    rows = 0
    def write(self, part): self.rows += len(part)
def run(count):
    output, inputs = Counting(), {"s": [{"time": time} for time in range(count)]}
    found = ft.run("SUBSCRIBE m FROM s MATCH a ; b ; c", inputs, time="time", engine="embedded",
                   limits=ft.Limits(memory="64 MiB"), output=output)
    assert output.rows == len(found) == count * (count - 1) * (count - 2) // 6, found.notes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = run(80)
print(run(240) - before)
"""


def test_memory_does_not_grow_with_the_rows() -> None:
    """2.3 million rows, which take some 700 MB together."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200


def command(folder: Path, *more: str) -> list[str]:
    (folder / "m.ftl").write_text(TRIPLES)
    (folder / "s.csv").write_text("time\n" + "".join(f"{time}\n" for time in range(3000)))
    return [sys.executable, "-m", "foretell.cli", "run", "m.ftl", "--input", "s.csv", "--engine", "embedded", *more]


def test_billions_of_rows_until_nobody_reads_them(tmp_path: Path) -> None:
    process = subprocess.Popen(command(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    rows = [json.loads(process.stdout.readline())["events"] for _ in range(300_000)]
    assert rows[:4] == [{"a": 0, "b": 1, "c": 2}] + [{"a": a, "b": b, "c": 3} for a, b in ((0, 1), (0, 2), (1, 2))]
    assert rows[-1]["c"] == 122
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""


def test_ctrl_c_leaves_no_half_file(tmp_path: Path) -> None:
    arguments = command(tmp_path, "--output", "out.csv")
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size > 10**6 for path in tmp_path.glob(".out.csv.*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"stopped by Ctrl-C\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.ftl", "s.csv"]

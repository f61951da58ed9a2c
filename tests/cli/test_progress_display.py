"""Progress on a terminal: what its line says, when it is shown, and that it leaves nothing behind."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

import foretell as ft
from foretell import progress
from foretell.cli.progress_display import ProgressDisplay
from foretell.machine import runtime
from foretell.progress import Stage
from tests.command import foretell


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = ProgressDisplay("reading the events")
    now = 104.2
    assert display.line() == "reading the events … 0:04"
    display.begin(Stage("matching", 5_000_000, "events"))
    display.announce("compiling the engine")
    now = 105.2
    assert display.line() == "compiling the engine … 0:01"
    display.advance(1_250_000, 1_234)
    now = 106.2
    text = "1.25 M of 5.00 M events  625,000/s  1,234 matches  0:06 left"
    assert display.line() == f"matching ━━────── {text}"
    assert len(display.line()) <= 80
    assert display.line(70) == f"matching  {text}"
    display.begin(Stage("reading big.csv", 131_000_000, "bytes"))
    display.advance(67_000_000, 0)
    now = 108.2
    text = "67.0 MB of 131.0 MB  33.5 MB/s  0:01 left"
    assert display.line() == f"reading big.csv ━━━━━━━━━━──────────  {text}".replace("  67", " 67")
    assert len(display.line()) == 78
    display.begin(Stage("reading big.csv.gz", None, "bytes"))
    display.advance(5_000_000, 0)
    now = 109.2
    assert display.line() == "reading big.csv.gz  5.0 MB  5.0 MB/s"


class Listener:
    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.done: list[tuple[int, int]] = []

    def begin(self, stage: Stage) -> None:
        self.stages.append(stage)

    def advance(self, amount: int, matches: int) -> None:
        self.done.append((amount, matches))

    def announce(self, text: str) -> None:
        """Kernels may be compiled or not."""


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.log", "s.csv.gz"])
def test_files_report_how_much_of_them_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("foretell.events.ingest.csv_reader._MOST_BYTES", 100)
    monkeypatch.setattr("foretell.events.ingest.json_lines._LEAST_BYTES", 100)
    monkeypatch.setattr("foretell.events.ingest.json_lines._MOST_BYTES", 100)
    monkeypatch.setattr("foretell.events.ingest.text_lines.PIECE_BYTES", 100)
    form = '{{"time": {}, "v": 1}}\n' if name == "s.jsonl" else "{},1\n"
    text = ("" if name in ("s.jsonl", "s.log") else "time,v\n") + "".join(form.format(n) for n in range(100))
    content = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    (tmp_path / name).write_bytes(content)
    read = ft.ReadOptions(pattern=r"(?P<time>\d+),(?P<v>\d)") if name == "s.log" else ft.ReadOptions()
    listener = Listener()
    with progress.reporting_to(listener):
        ft.run("SUBSCRIBE m FROM s MATCH a;", {"s": tmp_path / name}, read=read, engine="reference")
    total = None if name.endswith("gz") else len(content)
    assert Stage(f"reading {name}", total, "bytes") in listener.stages
    assert len(listener.done) > 4
    body = len(text) - len("time,v\n") * ("csv" in name)
    assert body - 20 < sum(amount for amount, _ in listener.done) <= body


def test_a_run_reports_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "SLICE", 40)
    listener = Listener()
    with progress.reporting_to(listener):
        ft.run("SUBSCRIBE m FROM s MATCH a , b;", {"s": [{"t": i} for i in range(100)]}, time={"s": "t"})
    assert Stage("matching", 100, "events") in listener.stages
    assert listener.done == [(40, 39), (40, 40), (20, 20)]


def test_only_on_a_terminal_and_only_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text("SUBSCRIBE m FROM s MATCH a;")
    (tmp_path / "s.csv").write_text("time\n1\n")
    command = ("run", "m.ftl", "--input", "s=s.csv", "--time", "s=time", "--engine", "embedded", "--quiet")
    shown = foretell(tmp_path, *command, terminal=True, progress=True)
    assert shown.stdout == "m  1 match\ntime  a\n   1  0\n"
    assert shown.stderr
    assert foretell(tmp_path, *command, progress=True).stderr == ""

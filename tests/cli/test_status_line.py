"""The status line of --follow: what it says, and that notifications do not run into it."""

from __future__ import annotations

import io
import sys

import pytest

from foretell.cli.status_line import StatusLine, status_text
from foretell.spark.streaming.stream_status import StreamStatus


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """The lines as a terminal shows them."""
        lines = [""]
        for part in self.getvalue().replace("\n", "\0\n\0").split("\0"):
            if part == "\n":
                lines.append("")
            else:
                lines[-1] = (lines[-1] + part).rpartition("\r\x1b[K")[2]
        return lines


def test_texts() -> None:
    assert status_text(StreamStatus("starting Spark"), 79) == "starting Spark …"
    status = StreamStatus("waiting for events", batches=3, events=12_345, matches=1, rate=850.4, state_bytes=12_345)
    assert status_text(status, 79) == "waiting  12,345 events (850/s)  1 match  state 12 kB"
    status = StreamStatus("processing", batches=1, late=2, bad=3, refused=4, lag=90.0)
    assert status_text(status, 99) == (
        "processing  0 events (0/s)  0 matches  lag 1.5 min  2 late  3 set aside  4 refused  state 0 B"
    )


def test_a_narrow_terminal_leaves_whole_parts_out() -> None:
    status = StreamStatus("processing", batches=1, late=2, bad=3, refused=4, lag=90.0)
    assert status_text(status, 79) == "processing  0 events (0/s)  0 matches  lag 1.5 min  2 late  3 set aside"
    assert status_text(status, 40) == "processing  0 events (0/s)  0 matches"
    assert status_text(status, 8) == "process…"


def test_notifications_are_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    line = StatusLine()
    line.show(StreamStatus("starting Spark"))
    with line.removed():
        terminal.write('{"subscription":"m"}\n')
    assert terminal.screen() == ['{"subscription":"m"}', "starting Spark …"]
    line.end()
    assert terminal.screen() == ['{"subscription":"m"}', ""]


def test_none_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    line = StatusLine()
    line.show(StreamStatus("starting Spark"))
    with line.removed():
        pass
    line.end()
    assert errors.getvalue() == ""

"""The status of a streaming query in one line at the bottom of a terminal, with the notifications above it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from foretell.cli.output import shows_to_a_person, terminal_width
from foretell.display import counted, duration_text, shortened, size_text

if TYPE_CHECKING:
    from foretell.spark.streaming.stream_status import StreamStatus

_CLEAR = "\r\x1b[K"


class StatusLine:
    """A line on standard error that is redrawn, and removed while other lines are written; none without a terminal."""

    def __init__(self) -> None:
        self._text = ""
        self._lock = threading.Lock()  # notifications are written in another thread than the status is shown
        self._on = shows_to_a_person()

    def show(self, status: StreamStatus) -> None:
        if self._on:
            with self._lock:
                self._text = status_text(status, terminal_width(sys.stderr) - 1)
                self._draw(self._text)

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Write other lines: the status is gone meanwhile, and there again afterwards."""
        with self._lock:
            if self._on and self._text:
                self._draw("")
            yield
            if self._on and self._text:
                self._draw(self._text)

    def end(self) -> None:
        with self._lock:
            if self._on and self._text:
                self._draw("")
            self._text = ""

    def _draw(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"{_CLEAR}{text}")
            sys.stderr.flush()


def status_text(status: StreamStatus, width: int) -> str:
    """The status in one line; what is most telling comes first, since a narrow terminal has no room for the rest."""
    if not status.batches:
        return shortened(f"{status.phase} …", width)
    parts = [
        status.phase.removesuffix(" for events"),
        f"{counted(status.events, 'event')} ({status.rate:,.0f}/s)",
        counted(status.matches, "match", "matches"),
        *([] if status.lag is None else [f"lag {duration_text(max(status.lag, 0))}"]),
        *([f"{status.late:,} late"] if status.late else []),
        *([f"{status.bad:,} set aside"] if status.bad else []),
        *([f"{status.refused:,} refused"] if status.refused else []),
        f"state {size_text(status.state_bytes)}",
    ]
    line = parts[0]
    for part in parts[1:]:
        if len(line) + 2 + len(part) > width:
            break
        line = f"{line}  {part}"
    return shortened(line, width)

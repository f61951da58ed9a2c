"""Progress of a command on a terminal: shown on standard error after two seconds, and gone at the end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from foretell.cli.output import shows_to_a_person
from foretell.display import counted, size_text
from foretell.progress import BYTES, Stage, reporting_to

#: Seconds after which progress is shown, and between two updates.
DELAY, INTERVAL = 2.0, 0.25


@contextmanager
def progress(first: str, *, on_spark: bool = False) -> Iterator[None]:
    """Show the progress of the calls in this context, where standard error is a terminal."""
    if not shows_to_a_person():
        yield
        return
    display = ProgressDisplay(first)
    display.start()
    try:
        with reporting_to(display), _watching_spark(display) if on_spark else nullcontext():
            yield
    finally:
        display.stop()


def _watching_spark(display: ProgressDisplay) -> AbstractContextManager[None]:
    from foretell.spark.batch.progress import BatchProgress, watching

    def show(batch: BatchProgress) -> None:
        tasks = f", {batch.done:,} of {counted(batch.tasks, 'task')} done" if batch.tasks else ""
        display.announce(f"{batch.stage}{tasks}")

    return watching(show, INTERVAL)


class ProgressDisplay:
    """A listener that remembers the stage, and a thread that draws it."""

    def __init__(self, first: str) -> None:
        self._stage, self._since, self._done, self._matches = Stage(first), time.monotonic(), 0, 0
        self._announced = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="foretell-progress", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    # ── ProgressListener ──

    def begin(self, stage: Stage) -> None:
        self._stage, self._since, self._done, self._announced = stage, time.monotonic(), 0, ""

    def advance(self, amount: int, matches: int) -> None:
        self._done += amount
        self._matches += matches
        self._announced = ""

    def announce(self, text: str) -> None:
        self._announced = text

    # ── drawing ──

    def _draw(self) -> None:
        if self._ended.wait(DELAY):
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=sys.stderr, highlight=False)
        with Live(console=console, transient=True, auto_refresh=False) as live:
            while True:
                line = Text(self.line(console.width), no_wrap=True, overflow="ellipsis")
                live.update(line, refresh=True)
                if self._ended.wait(INTERVAL):
                    return

    def line(self, width: int = 80) -> str:
        """The progress in one line."""
        elapsed = time.monotonic() - self._since
        if self._announced:
            return f"{self._announced} … {_clock(elapsed)}"
        stage, done = self._stage, self._done
        if not done:
            return f"{stage.text} … {_clock(elapsed)}"
        rate = done / max(elapsed, 1e-9)
        text = "  ".join(self._bytes_read(rate) if stage.unit == BYTES else self._events_matched(rate))
        room = width - len(stage.text) - len(text) - 4
        if not stage.total or room < 8:
            return f"{stage.text}  {text}"
        return f"{stage.text} {_bar(done / stage.total, room)} {text}"

    def _bytes_read(self, rate: float) -> list[str]:
        total, done = self._stage.total, self._done
        if not total:  # of a compressed file
            return [size_text(done), f"{size_text(rate)}/s"]
        return [f"{size_text(done)} of {size_text(total)}", f"{size_text(rate)}/s", self._time_left(total, rate)]

    def _events_matched(self, rate: float) -> list[str]:
        total, unit = self._stage.total, self._stage.unit
        of_all = f" of {_short(total)}" if total else ""
        amounts = [
            f"{_short(self._done)}{of_all} {unit}",
            f"{_short(round(rate))}/s",
            f"{self._matches:,} {'match' if self._matches == 1 else 'matches'}",
        ]
        return [*amounts, self._time_left(total, rate)] if total else amounts

    def _time_left(self, total: int, rate: float) -> str:
        return f"{_clock(max(total - self._done, 0) / rate)} left"


def _bar(share: float, width: int) -> str:
    done = round(min(share, 1) * width)
    return "━" * done + "─" * (width - done)


def _clock(seconds: float) -> str:
    """
    >>> _clock(4.2), _clock(75), _clock(3725)
    ('0:04', '1:15', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _short(number: int) -> str:
    """
    >>> _short(950), _short(12_345), _short(5_240_000)
    ('950', '12,345', '5.24 M')
    """
    return f"{number / 1e6:.2f} M" if number >= 1_000_000 else f"{number:,}"

"""Progress of a long call: its stages, the amount done, and the matches found so far, for a listener that shows them.

A call reports its progress whether or not there is a listener; without one, reporting costs nothing.

>>> class Printer:
...     def begin(self, stage): print(stage.text, stage.total, stage.unit)
...     def advance(self, amount, matches): print(amount, matches)
...     def announce(self, text): print(text)
>>> with reporting_to(Printer()):
...     begin_stage("matching", 300, "events")
...     advance(100, matches=2)
matching 300 events
100 2
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

BYTES = "bytes"


@dataclass(frozen=True)
class Stage:
    """A part of a call, such as "reading logins.csv"; `total` is None where the amount is not known. A stage that reads
    files counts their bytes (`BYTES`)."""

    text: str
    total: int | None = None
    unit: str = ""


class ProgressListener(Protocol):
    """Shows the stage that runs, its advance by an amount of the stage's unit with the matches found in it, and
    announcements, each until the next advance."""

    def begin(self, stage: Stage) -> None: ...
    def advance(self, amount: int, matches: int) -> None: ...
    def announce(self, text: str) -> None: ...


_listener: ContextVar[ProgressListener | None] = ContextVar("progress listener", default=None)


@contextmanager
def reporting_to(listener: ProgressListener) -> Iterator[None]:
    """Report the progress of the calls in this context to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def begin_stage(text: str, total: int | None = None, unit: str = "") -> None:
    if (listener := _listener.get()) is not None:
        listener.begin(Stage(text, total, unit))


def advance(amount: int, matches: int = 0) -> None:
    if (listener := _listener.get()) is not None:
        listener.advance(amount, matches)


def announce(text: str) -> None:
    if (listener := _listener.get()) is not None:
        listener.announce(text)

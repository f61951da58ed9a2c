"""Sending what waits in an outbox: in order, again and again until the receiver has taken or refused it."""

from __future__ import annotations

import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from foretell.notify.outbox import Outbox, OutboxEntry

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """The receiver will never take it, however often it is sent."""

    reason: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """It did not work this time; the receiver may have said after how many seconds to come back."""

    reason: str
    after: float | None = None


DeliveryOutcome = Delivered | Undeliverable | RetryLater


class Transport(Protocol):
    """A way to a receiver. `together` messages at most go in one `send`, and share its outcome."""

    @property
    def together(self) -> int: ...

    def send(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds between attempts: doubled each time, and scattered so that many senders do not come back as one."""

    first: float = 0.5
    longest: float = 60.0

    def __iter__(self) -> Iterator[float]:
        pause = self.first
        while True:
            yield pause * random.uniform(0.5, 1.0)
            pause = min(2 * pause, self.longest)


DEFAULT_BACKOFF = Backoff()


def drain(
    outbox: Outbox,
    transport: Transport,
    *,
    patience: float = math.inf,
    pauses: Backoff = DEFAULT_BACKOFF,
    stop: threading.Event | None = None,
) -> bool:
    """Sends until nothing waits, `patience` seconds are over or `stop` is set. Whether nothing waits any more.

    The first message that cannot be delivered holds up all that follow: order matters more than speed. Where somebody
    else is sending already, it is left to them.
    """
    deadline = time.monotonic() + patience
    stop = stop or threading.Event()
    with outbox.sending() as ours:
        if not ours:
            return not outbox.waiting(1)
        upcoming = iter(pauses)
        while entries := outbox.waiting(transport.together):
            pause = outbox.pause()
            if not pause:
                outcome = transport.send(entries)
                if isinstance(outcome, RetryLater):
                    pause = _postponed(outbox, outcome, upcoming)
                else:
                    _settle(outbox, entries, outcome)
                    upcoming = iter(pauses)
            # Without this sum a receiver that wants an hour's peace would hold the caller for all of its patience.
            if time.monotonic() + pause > deadline or stop.wait(pause):
                return False
    return True


def _settle(outbox: Outbox, entries: Sequence[OutboxEntry], outcome: Delivered | Undeliverable) -> None:
    if isinstance(outcome, Undeliverable):
        _LOG.warning("refused, now in the dead letters: %s", outcome.reason)
        outbox.refused(entries, outcome.reason)
    else:
        outbox.delivered(entries)


def _postponed(outbox: Outbox, outcome: RetryLater, upcoming: Iterator[float]) -> float:
    """The seconds until the next attempt: as the receiver wants it, but never none."""
    pause = max(outcome.after or 0.0, next(upcoming))
    if outcome.after:
        outbox.postpone(pause)
    _LOG.warning("not delivered, next attempt in %.1f s: %s", pause, outcome.reason)
    return pause


class Sender:
    """A thread that sends whatever comes into an outbox, for as long as it is open."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        connect: Callable[[], Transport],
        *,
        pauses: Backoff = DEFAULT_BACKOFF,
        idle: float = 0.5,
    ) -> None:
        self._folder, self._connect, self._pauses, self._idle = folder, connect, pauses, idle
        self._stop, self._wake = threading.Event(), threading.Event()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="foretell-sender", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something to send. Without this it looks by itself, every `idle` seconds."""
        self._wake.set()

    def close(self) -> None:
        """Stops after the attempt that is under way; what waits, waits in the outbox."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        try:
            # SQLite's connections belong to the thread that made them.
            with closing(Outbox(self._folder)) as outbox, closing(self._connect()) as transport:
                while not self._stop.is_set():
                    drain(outbox, transport, pauses=self._pauses, stop=self._stop)
                    self._wake.wait(self._idle)
                    self._wake.clear()
        except Exception as error:  # a thread that ends in silence would be the worst
            _LOG.exception("sending has ended")
            self.failure = error

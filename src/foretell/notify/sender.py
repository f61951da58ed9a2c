"""The sender: delivers the messages of an outbox in order, with retries until the receiver accepts or refuses them."""

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

from foretell.notify.outbox import LONGEST_PAUSE, Outbox, OutboxEntry

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has accepted the messages."""


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """The receiver refuses the messages for good; they become dead letters."""

    reason: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """A temporary failure; `after` is the number of seconds that the receiver asks to wait, if it does."""

    reason: str
    after: float | None = None


DeliveryOutcome = Delivered | Undeliverable | RetryLater


class Transport(Protocol):
    """A connection to a receiver. One `send` takes `together` messages at most, which share its outcome."""

    @property
    def together(self) -> int: ...

    def send(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with jitter: the seconds between attempts."""

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
    timeout: float = math.inf,
    backoff: Backoff = DEFAULT_BACKOFF,
    stop: threading.Event | None = None,
) -> bool:
    """Send until nothing is pending, `timeout` seconds are over or `stop` is set. Returns whether nothing is pending.

    A message that cannot be delivered holds up all that follow: order matters more than speed. Where another process is
    sending already, this one does not.
    """
    deadline = time.monotonic() + timeout
    stop = stop or threading.Event()
    with outbox.sender_lock() as locked:
        if not locked:
            return not outbox.pending(1)
        pauses = iter(backoff)
        while entries := outbox.pending(transport.together):
            pause = outbox.remaining_pause()
            if not pause:
                outcome = transport.send(entries)
                if isinstance(outcome, RetryLater):
                    pause = _postpone(outbox, outcome, pauses)
                else:
                    _settle(outbox, entries, outcome)
                    pauses = iter(backoff)
            # Return at once, not at the deadline, if the pause ends after it.
            if time.monotonic() + pause > deadline or stop.wait(pause):
                return False
    return True


def _settle(outbox: Outbox, entries: Sequence[OutboxEntry], outcome: Delivered | Undeliverable) -> None:
    if isinstance(outcome, Undeliverable):
        _LOG.warning("refused, moved to the dead letters: %s", outcome.reason)
        outbox.mark_dead(entries, outcome.reason)
    else:
        outbox.mark_delivered(entries)


def _postpone(outbox: Outbox, outcome: RetryLater, pauses: Iterator[float]) -> float:
    """The seconds until the next attempt: the longer of the backoff and the receiver's request."""
    pause = min(max(outcome.after or 0.0, next(pauses)), LONGEST_PAUSE)
    if outcome.after:
        outbox.postpone(pause)
    _LOG.warning("not delivered, next attempt in %.1f s: %s", pause, outcome.reason)
    return pause


class Sender:
    """A thread that sends the messages of an outbox until it is closed."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        connect: Callable[[], Transport],
        *,
        backoff: Backoff = DEFAULT_BACKOFF,
        idle: float = 0.5,
    ) -> None:
        self._folder, self._connect, self._backoff, self._idle = folder, connect, backoff, idle
        self._stop, self._wake = threading.Event(), threading.Event()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="foretell-sender", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Send at once. Without this the thread checks the outbox every `idle` seconds."""
        self._wake.set()

    def close(self) -> None:
        """Stop after the present attempt; pending messages stay in the outbox."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        try:
            # An SQLite connection belongs to the thread that opened it.
            with closing(Outbox(self._folder)) as outbox, closing(self._connect()) as transport:
                while not self._stop.is_set():
                    drain(outbox, transport, backoff=self._backoff, stop=self._stop)
                    self._wake.wait(self._idle)
                    self._wake.clear()
        except Exception as error:  # a thread must not end silently
            _LOG.exception("the sender has stopped")
            self.failure = error

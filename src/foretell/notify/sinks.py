"""Sinks: destinations of notifications, with `put` for each batch and `close` at the end.

A batch that is put twice with the same number takes effect once, so an interrupted run can repeat its last batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from foretell.events.notification import Notification
from foretell.notify.files import write
from foretell.notify.messages import messages_of
from foretell.notify.outbox import Outbox
from foretell.notify.sender import DEFAULT_BACKOFF, Backoff, Sender, Transport, drain


class Sink(Protocol):
    """A destination of notifications."""

    def put(self, rows: Iterable[Notification], batch: int) -> None:
        """Store or send a batch. When this returns, a crash does not lose it."""

    def close(self) -> None:
        """Finish: no more batches will come."""


class FileSink:
    """A folder with a file for each batch, JSON lines or Parquet by `ending`."""

    def __init__(self, folder: str | os.PathLike[str], ending: str = ".jsonl") -> None:
        self._folder, self._ending = Path(folder), ending
        self._folder.mkdir(parents=True, exist_ok=True)

    def put(self, rows: Iterable[Notification], batch: int) -> None:
        write(rows, self._folder / f"batch-{batch:012d}{self._ending}")

    def close(self) -> None:
        """Nothing to do: every file is complete."""


class OutboxSink:
    """A receiver, through an outbox: `connect` is that of a `webhook.Receiver` or an `mqtt.Topic`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        connect: Callable[[], Transport],
        *,
        backoff: Backoff = DEFAULT_BACKOFF,
        close_timeout: float = 10.0,
    ) -> None:
        self._connect, self._close_timeout, self._backoff = connect, close_timeout, backoff
        self._outbox = Outbox(folder)
        self._sender = Sender(folder, connect, backoff=backoff)

    def put(self, rows: Iterable[Notification], batch: int) -> None:
        if self._sender.failure is not None:
            raise self._sender.failure
        self._outbox.put(messages_of(rows), batch)
        self._sender.wake()

    def close(self) -> None:
        """Send for `close_timeout` seconds more; messages that are still pending wait for the next run."""
        self._sender.close()
        transport = self._connect()
        try:
            drain(self._outbox, transport, timeout=self._close_timeout, backoff=self._backoff)
        finally:
            transport.close()
            self._outbox.close()

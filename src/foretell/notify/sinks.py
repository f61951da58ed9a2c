"""Where notifications go, one interface for all: `put` a batch, as often as need be, and `close`.

A batch that is put again has the same number, and takes effect once: so a run that was interrupted can repeat what it
is not sure of.
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
    """Takes notifications, batch by batch."""

    def put(self, rows: Iterable[Notification], batch: int) -> None:
        """Takes a batch. When this returns it is safe, if not yet with the receiver."""

    def close(self) -> None:
        """No more will come."""


class FileSink:
    """A file for each batch in a folder, JSON lines or Parquet by `ending`."""

    def __init__(self, folder: str | os.PathLike[str], ending: str = ".jsonl") -> None:
        self._folder, self._ending = Path(folder), ending
        self._folder.mkdir(parents=True, exist_ok=True)

    def put(self, rows: Iterable[Notification], batch: int) -> None:
        write(rows, self._folder / f"batch-{batch:012d}{self._ending}")

    def close(self) -> None:
        """Every file is whole already."""


class OutboxSink:
    """To a receiver elsewhere, through an outbox: `connect` is that of a `webhook.Receiver` or an `mqtt.Topic`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        connect: Callable[[], Transport],
        *,
        pauses: Backoff = DEFAULT_BACKOFF,
        farewell: float = 10.0,
    ) -> None:
        self._connect, self._farewell, self._pauses = connect, farewell, pauses
        self._outbox = Outbox(folder)
        self._sender = Sender(folder, connect, pauses=pauses)

    def put(self, rows: Iterable[Notification], batch: int) -> None:
        if self._sender.failure is not None:
            raise self._sender.failure
        self._outbox.put(messages_of(rows), batch)
        self._sender.wake()

    def close(self) -> None:
        """Gives the receiver `farewell` seconds more; what is left then waits for the next run."""
        self._sender.close()
        transport = self._connect()
        try:
            drain(self._outbox, transport, patience=self._farewell, pauses=self._pauses)
        finally:
            transport.close()
            self._outbox.close()

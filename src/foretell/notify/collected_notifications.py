"""Notifications of a call, collected piece by piece: many of them go to temporary files.

A few are put in order all together. Of many, each piece is put in order and encoded by itself, and those that would
take too much memory are written to an Arrow file, which the process then reads like memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc

from foretell.display import counted
from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.machine.exec.limits import Limits, RunLedger
from foretell.machine.exec.memory_size import format_bytes
from foretell.machine.matches.results import ResultBatch, ResultPiece
from foretell.machine.matches.settled_results import SettledResults
from foretell.notify.lazy_notifications import LazyNotifications, joined
from foretell.notify.notification_batch import NotificationBatch
from foretell.notify.ordered_notifications import to_notifications

#: So many results are put in order together, at least.
PIECE_RESULTS = 1_000_000
#: The part of an engine's memory that encoded notifications may take before they go to files.
_MEMORY_SHARE = 8


def collect(pieces: Iterable[ResultPiece], ledger: RunLedger) -> Sequence[Notification]:
    """The notifications of all pieces, in their order. Raises InputError where they exceed the limits."""
    pieces = iter(pieces)
    for piece in pieces:
        if piece.results:  # most events of a live system complete nothing
            return _collect(chain((piece,), pieces), ledger)
    return ()


def _collect(pieces: Iterable[ResultPiece], ledger: RunLedger) -> Sequence[Notification]:
    collector = _Collector(ledger)
    try:
        for results in SettledResults(ledger, PIECE_RESULTS, patient=True).parts(pieces):
            collector.add(results)
        return collector.notifications()
    finally:
        ledger.forget(collector)


class _Collector:
    def __init__(self, ledger: RunLedger) -> None:
        self._ledger = ledger
        self._encoded: list[Sequence[Notification]] = []
        self._bytes = 0
        self._files = 0

    def add(self, results: Sequence[ResultBatch]) -> None:
        found = to_notifications(results)
        if isinstance(found, LazyNotifications):
            size = found.nbytes
            self._bytes += size
            share = self._ledger.limits.budget // _MEMORY_SHARE
            if self._bytes > share or self._ledger.limits.results is not None:  # few need no room for files
                self._check(len(found))
            if self._bytes - self._files > share:
                found = on_disk(found)
                self._files += size
        self._encoded.append(found)
        self._ledger.bytes[id(self)] = self._bytes - self._files

    def notifications(self) -> Sequence[Notification]:
        if not self._encoded:
            return ()
        if len(self._encoded) == 1:
            return self._encoded[0]
        if not all(isinstance(part, LazyNotifications) for part in self._encoded):
            return tuple(chain.from_iterable(self._encoded))
        return joined([part for part in self._encoded if isinstance(part, LazyNotifications)])

    def _check(self, more: int) -> None:
        most = results_budget(self._ledger.limits)
        if self._bytes > most:
            count = counted(more + sum(map(len, self._encoded)), "notification")
            raise InputError(
                "results-limit",
                f"the notifications take over {format_bytes(most)}: {count}, and more would follow",
                hint="add WITHIN or AFTER MATCH, pass fewer events, or raise Limits.results",
            )


def results_budget(limits: Limits) -> int:
    """The bytes that the notifications of one call may take: as set, or half of the free room for temporary files."""
    if limits.results is not None:
        return int(limits.results)
    return shutil.disk_usage(tempfile.gettempdir()).free // 2


def on_disk(notifications: LazyNotifications) -> LazyNotifications:
    """The same notifications in temporary files, which are gone when nothing refers to the notifications any more."""
    return LazyNotifications(
        [replace(chunk, batches=[_stored(batch) for batch in chunk.batches]) for chunk in notifications.chunks]
    )


def _stored(batch: NotificationBatch) -> NotificationBatch:
    handle, path = tempfile.mkstemp(prefix="foretell-", suffix=".arrow")
    try:
        with os.fdopen(handle, "wb") as file, ipc.new_file(file, batch.columns.schema) as writer:
            writer.write_batch(batch.columns)
        return replace(batch, columns=ipc.open_file(pa.memory_map(path)).get_batch(0))
    except OSError as error:
        message = f"cannot keep the notifications in a temporary file: {error.strerror or error}"
        raise InputError("results-limit", message, hint="make room, or set TMPDIR to another folder") from None
    finally:
        with suppress(OSError):  # an open file cannot be removed on Windows
            Path(path).unlink()

"""What a run gives back: the notifications in order, and what was set aside on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import pyarrow as pa

from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.notification import Notification
from foretell.events.reorder_buffer import LateEvent
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.row_encoder import to_json, to_table


@dataclass(frozen=True)
class Notifications(Sequence[Notification]):
    """A sequence of notifications.

    `bad` are the malformed events, `totals` the events read of each stream, `notes` what a user should know of the run,
    `late` the events that came later than LATE BY allows.
    """

    rows: Sequence[Notification]
    bad: tuple[QuarantinedEvent, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    late: tuple[LateEvent, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Notification, ...]: ...
    def __getitem__(self, index: int | slice) -> Notification | tuple[Notification, ...]:
        found = self.rows[index]
        return tuple(found) if isinstance(found, Sequence) else found

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Notification]:
        return iter(self.rows)

    def table(self) -> pa.Table:
        """As an Arrow table, with key, bindings and events as JSON text."""
        return self.rows.table() if isinstance(self.rows, LazyNotifications) else to_table(self.rows)

    def lines(self) -> Iterator[bytes]:
        """As lines of JSON, one or more in each piece."""
        return self.rows.lines() if isinstance(self.rows, LazyNotifications) else map(to_json, self.rows)

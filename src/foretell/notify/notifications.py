"""The result of a run: the notifications in order, quarantined and late events, and notes."""

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

    `bad` has the malformed events, `totals` the number of events read of each stream, `notes` remarks on the run for
    the user, `late` the events that came later than LATE BY allows.
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
        selected = self.rows[index]
        return tuple(selected) if isinstance(selected, Sequence) else selected

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Notification]:
        return iter(self.rows)

    def table(self) -> pa.Table:
        """The notifications as an Arrow table, with key, bindings and events as JSON text."""
        return self.rows.table() if isinstance(self.rows, LazyNotifications) else to_table(self.rows)

    def lines(self) -> Iterator[bytes]:
        """The notifications as lines of JSON, one or more in each `bytes`."""
        return self.rows.lines() if isinstance(self.rows, LazyNotifications) else map(to_json, self.rows)

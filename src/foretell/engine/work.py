"""Statements at work, and the events that wait for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foretell.engine.template_tables import LiveTable
from foretell.events.ingest.reader import EventBatch
from foretell.events.notification import Notification
from foretell.events.reorder_buffer import ReorderBuffer
from foretell.language.checked import CheckedStatement
from foretell.machine.matches.results import ResultBatch
from foretell.machine.runtime import MatchRuntime
from foretell.notify.arrow_encoder import to_notifications


@dataclass(frozen=True)
class Work:
    """The statements at work, and the events that wait for them."""

    running: MatchRuntime
    waiting: ReorderBuffer

    def add(self, statement: CheckedStatement, table: LiveTable | None) -> None:
        self.running.add(statement, None if table is None else table.loaded())

    def remove(self, name: str) -> None:
        if name in self.running:
            self.running.remove(name)

    def go_on(self) -> Sequence[Notification]:
        """What has come to be known by the events that have come. Some wait and are not told yet, but time has gone on,
        for each statement by the streams that it reads (decision 0002, item 3)."""
        return to_notifications(self.told())

    def told(self) -> list[ResultBatch]:
        return self.running.tell(self.waiting.ready(), clocks=self.waiting.clocks())

    def tell(self, ready: Mapping[str, EventBatch], until: int | float | None = None) -> Sequence[Notification]:
        return to_notifications(self.running.tell(ready, until))

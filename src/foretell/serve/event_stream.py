"""The live feed: server-sent events from the recorder, for any number of clients at their own pace.

A client has no queue: it has the number of the newest notification that it was sent, and is sent what the recorder
still has after it. So a slow client costs nothing, and is told how many it has missed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from foretell.notify.row_encoder import encode_json
from foretell.serve.service import PipelineService

#: Seconds between two looks for notifications, and between two states.
LOOK_SECONDS, STATE_SECONDS = 0.2, 1.0
#: Rows of an event.
MOST_ROWS, MOST_FORECASTS = 200, 100
#: So many clients may listen at once.
MOST_CLIENTS = 50


@dataclass
class LiveFeed:
    """The feed of one client: how far it has been sent."""

    service: PipelineService
    last: int
    _texts: dict[str, str] = field(default_factory=dict)
    _forecasts: int = 0
    _asides: dict[str, int] = field(default_factory=dict)
    _is_first: bool = True

    async def events(self) -> AsyncIterator[bytes]:
        """The events until the service stops; ending the iteration ends the feed."""
        self.service.clients += 1
        due = 0.0
        try:
            yield b"retry: 2000\n\n"
            while not self.service.stopping:
                if time.monotonic() >= due:
                    due = time.monotonic() + STATE_SECONDS
                    for event in self._each_second():
                        yield event
                found = self._notifications()
                if found is not None:
                    yield found
                await asyncio.sleep(LOOK_SECONDS)
            yield self._event("gone", {"reason": "the service has stopped"})
        finally:
            self.service.clients -= 1

    def _each_second(self) -> list[bytes]:
        events = [self._state()]
        rows, self._forecasts = self.service.recorder.changed_forecasts(self._forecasts, MOST_FORECASTS)
        if rows:
            events.append(self._event("forecasts", {"rows": rows}))
        asides = self.service.recorder.side_totals
        if asides != self._asides:
            self._asides = asides
            events.append(self._event("asides", asides))
        return events

    def _state(self) -> bytes:
        state = self.service.recorder.state(None if self._is_first else 1)
        self._is_first = False
        for statement in state["statements"]:
            if self._texts.get(statement["name"]) == statement["text"]:
                del statement["text"]
            else:
                self._texts[statement["name"]] = statement["text"]
        return self._event("state", state)

    def _notifications(self) -> bytes | None:
        recorder = self.service.recorder
        if recorder.last_number <= self.last:
            return None
        missed = recorder.notifications_after(self.last, MOST_ROWS)
        self.last = missed.last
        if missed.dropped:
            recorder.count_dropped(missed.dropped)
        return self._event("notifications", {"rows": missed.rows, "dropped": missed.dropped})

    def _event(self, name: str, content: dict[str, Any]) -> bytes:
        return f"id: {self.last}\nevent: {name}\ndata: {encode_json(content)}\n\n".encode()

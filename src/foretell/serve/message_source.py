"""Messages of an MQTT broker as events: a subscriber writes them to a spool, which is read by their numbers.

The position in the spool is part of the checkpoint, so each message is an event once, also after a crash; see
`connectors/mqtt/subscriber.py` for the guarantees up to there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from foretell.arguments.pipeline import Endpoint
from foretell.connectors.mqtt.payloads import payload_elements, payload_row
from foretell.connectors.mqtt.spool import SpooledMessage
from foretell.connectors.mqtt.subscriber import Subscriber, TopicSubscription
from foretell.connectors.options import MQTT_SOURCE_OPTIONS, SourceOptions, broker_of
from foretell.errors import InputError
from foretell.events.ingest.json_lines import ParseFailure
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.time_forms import reading_of
from foretell.events.types import format_timestamp
from foretell.extras import require_extra

#: So many messages are read at once.
MOST_MESSAGES = 50_000


class MessageSource:
    """The messages of one stream."""

    def __init__(self, declaration: StreamDeclaration, endpoint: Endpoint) -> None:
        require_extra("mqtt", f"stream '{declaration.stream}' (foretell_mqtt)")
        options = SourceOptions(endpoint.options, MQTT_SOURCE_OPTIONS)
        topic = options.required("topic", "the topics to subscribe to, such as plant/+/temperature")
        self._subscription = TopicSubscription(topic, options.whole("qos", 1), options.text("clientId"))
        self._folder = options.required("spool", "a folder that keeps messages until they are processed")
        self._most = options.whole("maxMessagesPerBatch", 0) or MOST_MESSAGES
        self._broker = broker_of(options)
        self.declaration = replace(declaration, times=declaration.times or reading_of(declaration.read))
        self._subscriber: Subscriber | None = None
        self._spool_id: str | None = None
        self._next: int | None = None

    @property
    def stream(self) -> str:
        return self.declaration.stream

    @property
    def _open(self) -> Subscriber:
        if self._subscriber is None:
            self._subscriber = Subscriber(self._broker, self._subscription, self._folder)
            spool = self._subscriber.spool
            if self._spool_id is not None and self._spool_id != spool.id:
                message = f"the checkpoint belongs to another spool than '{self._folder}'"
                raise InputError("other-spool", message, hint="restore that spool, or start with a new checkpoint")
            self._spool_id = spool.id
            self._next = spool.first if self._next is None else self._next
        return self._subscriber

    def poll(self) -> list[EventBatch]:
        """The events of the messages that have come since the last call."""
        subscriber = self._open
        subscriber.check()
        assert self._next is not None
        end = min(subscriber.spool.next, self._next + self._most)
        if end <= self._next:
            return []
        messages = [found for part in subscriber.spool.slices(self._next, end) for found in part.read()]
        self._next = end
        return [self._read(messages)]

    def _read(self, messages: list[tuple[int, SpooledMessage]]) -> EventBatch:
        rows, bad = [], []
        for number, message in messages:
            for payload, row in _payload_rows(message):
                if isinstance(row, ParseFailure):
                    raw = payload.decode("utf-8", "replace")
                    bad.append(QuarantinedEvent(self.stream, message.topic, number, row.text, raw))
                else:
                    envelope = {"topic": message.topic, "number": number, "received": format_timestamp(message.time)}
                    rows.append({n: v for n, v in envelope.items() if n in self.declaration.attributes} | row)
        batch = read(rows, self.declaration, whole=False)
        return replace(batch, quarantined=(*bad, *batch.quarantined), total=batch.total + len(bad))

    def state(self) -> dict[str, Any]:
        return {"spool": self._spool_id, "next": self._next}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._spool_id, self._next = state["spool"], state["next"]

    def commit(self) -> None:
        """The checkpoint has the position: older messages are not needed any more."""
        if self._subscriber is not None and self._next is not None:
            self._subscriber.discard(self._next)

    def close(self) -> None:
        """Disconnect. The broker keeps the session, and the messages that come meanwhile."""
        if self._subscriber is not None:
            self._subscriber.close()


def _payload_rows(message: SpooledMessage) -> Iterator[tuple[bytes, Any]]:
    for element in payload_elements(message.payload):
        yield element, payload_row(element)

"""The MQTT publisher: sends notifications with QoS 1, so that the broker acknowledges each."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretell.connectors.mqtt.client import ANSWER_TIMEOUT, Broker, disconnect
from foretell.errors import InputError
from foretell.notify.outbox import OutboxEntry
from foretell.notify.sender import Delivered, DeliveryOutcome, RetryLater

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessageInfo

_INVALID_IN_TOPIC = re.compile("[+#/\0]")


@dataclass(frozen=True)
class Topic:
    """A topic of a broker to publish to; `{subscription}` in it stands for the subscription's name."""

    broker: Broker
    topic: str
    together: int = 500

    def __post_init__(self) -> None:
        if not self.topic or _INVALID_IN_TOPIC.search(self.topic.replace("/", "")):
            raise InputError("bad-option", f"topic: cannot publish to '{self.topic}'")

    def connect(self) -> Publisher:
        return Publisher(self)

    def of(self, subscription: str) -> str:
        return self.topic.replace("{subscription}", _INVALID_IN_TOPIC.sub("_", subscription))


class Publisher:
    """A connection to the broker, opened with the first message."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._client: Client | None = None
        self._denied: str | None = None

    @property
    def together(self) -> int:
        return self._topic.together

    def send(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome:
        """Publish all entries at once; if one is not acknowledged in time, all are sent again."""
        try:
            client = self._connected()
            sent = [client.publish(self._topic.of(e.message.subscription), e.message.body, qos=1) for e in entries]
            _await_acknowledgements(client, sent)
        except InputError as error:
            if error.code != "no-broker":
                raise
            return RetryLater(error.message)
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            if self._denied is None:
                return RetryLater(f"{self._topic.broker}: {error}")
        if self._denied is not None:
            # The messages are not at fault: they wait until the broker grants the right to publish.
            raise InputError("broker-refused", f"the broker {self._topic.broker} accepts no messages: {self._denied}")
        return Delivered()

    def close(self) -> None:
        if self._client is not None:
            disconnect(self._client)
            self._client = None

    def _connected(self) -> Client:
        if self._client is None:
            # A new client id for each connection: a publisher needs no session.
            name = f"foretell-{uuid.uuid4().hex[:12]}"
            self._client = self._topic.broker.open(name, self._prepare, persistent=False)
        return self._client

    def _prepare(self, client: Client) -> None:
        client.on_publish = self._on_publish

    def _on_publish(self, client: Client, data: Any, number: int, reason: Any, properties: Any) -> None:
        # In MQTT 5 an acknowledgement can say that the message was not accepted; in 3.1.1 it cannot.
        if reason.is_failure:
            self._denied = str(reason)


def _await_acknowledgements(client: Client, sent: Sequence[MQTTMessageInfo]) -> None:
    deadline = time.monotonic() + ANSWER_TIMEOUT
    for message in sent:
        while not message.is_published():
            message.wait_for_publish(0.1)
            if not client.is_connected():
                raise ConnectionError("the connection is lost")
            if time.monotonic() > deadline:
                raise TimeoutError("the broker does not acknowledge")

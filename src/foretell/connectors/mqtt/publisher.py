"""Notifications to an MQTT broker, each acknowledged by it (QoS 1)."""

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

_NOT_IN_A_TOPIC = re.compile("[+#/\0]")


@dataclass(frozen=True)
class Topic:
    """Where on a broker notifications go; `{subscription}` in the topic stands for the subscription's name."""

    broker: Broker
    topic: str
    together: int = 500

    def __post_init__(self) -> None:
        if not self.topic or _NOT_IN_A_TOPIC.search(self.topic.replace("/", "")):
            raise InputError("bad-option", f"topic: '{self.topic}' cannot be published to")

    def connect(self) -> Publisher:
        return Publisher(self)

    def of(self, subscription: str) -> str:
        return self.topic.replace("{subscription}", _NOT_IN_A_TOPIC.sub("_", subscription))


class Publisher:
    """A connection to the broker, made when there is something to send."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._client: Client | None = None
        self._denied: str | None = None

    @property
    def together(self) -> int:
        return self._topic.together

    def send(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome:
        """All of them are on their way at once; if one is not acknowledged in time, all are sent again."""
        try:
            client = self._connected()
            sent = [client.publish(self._topic.of(e.message.subscription), e.message.body, qos=1) for e in entries]
            _await(client, sent)
        except InputError as error:
            if error.code != "no-broker":
                raise
            return RetryLater(error.message)
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            if self._denied is None:
                return RetryLater(f"{self._topic.broker}: {error}")
        if self._denied is not None:
            # Not a fault of the messages: they wait until somebody has put the broker's rights in order.
            raise InputError("broker-refused", f"the broker {self._topic.broker} takes no messages: {self._denied}")
        return Delivered()

    def close(self) -> None:
        if self._client is not None:
            disconnect(self._client)
            self._client = None

    def _connected(self) -> Client:
        if self._client is None:
            # A name of its own for each connection: the broker need remember nothing of a publisher.
            name = f"foretell-{uuid.uuid4().hex[:12]}"
            self._client = self._topic.broker.open(name, self._prepare, lasting=False)
        return self._client

    def _prepare(self, client: Client) -> None:
        client.on_publish = self._on_publish

    def _on_publish(self, client: Client, data: Any, number: int, reason: Any, properties: Any) -> None:
        # An acknowledgement may say that the message was not taken (MQTT 5 only; 3.1.1 has no words for it).
        if reason.is_failure:
            self._denied = str(reason)


def _await(client: Client, sent: Sequence[MQTTMessageInfo]) -> None:
    deadline = time.monotonic() + ANSWER_TIMEOUT
    for one in sent:
        while not one.is_published():
            one.wait_for_publish(0.1)
            if not client.is_connected():
                raise ConnectionError("the connection is lost")
            if time.monotonic() > deadline:
                raise TimeoutError("the broker does not acknowledge")

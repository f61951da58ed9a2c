"""The MQTT subscriber: writes messages to a spool, and acknowledges each only when it is there.

So a message is always with the broker or in the spool. A message that the broker repeats, because it missed the
acknowledgement, is recognised by its packet number and content among the last messages and not written again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from foretell.connectors.mqtt.client import (
    ANSWER_TIMEOUT,
    DUPLICATE_WINDOW,
    RECEIVE_MAXIMUM,
    Broker,
    disconnect,
    is_temporary,
)
from foretell.connectors.mqtt.spool import Spool, SpooledMessage
from foretell.errors import ForetellError, InputError
from foretell.storage.private_files import open_private

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

_SHORT_CONNECTION = 5.0  # seconds: a shorter connection counts as a sign of a client with the same name
MAX_SHORT_CONNECTIONS = 5

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TopicSubscription:
    """The topic to subscribe to. `client` is the client id under which the broker keeps our session."""

    topic: str
    qos: int = 1
    client: str | None = None

    def __post_init__(self) -> None:
        if self.qos == 2:
            raise InputError(
                "bad-option",
                "qos: with 2 the MQTT client acknowledges a message before it is stored, so a crash would lose it",
                hint="use 1: repeated messages are recognised",
            )
        if self.qos not in (0, 1):
            raise InputError("bad-option", f"qos: expected 0 or 1, found {self.qos}")


class Subscriber:
    """Fills a spool with the messages of a subscription, in threads of its own, until it is closed or fails."""

    def __init__(self, broker: Broker, subscription: TopicSubscription, folder: str | os.PathLike[str]) -> None:
        self.spool = Spool(folder)
        self._broker, self._subscription = broker, subscription
        self._name = subscription.client or f"foretell-{self.spool.id[:12]}"
        self._arrived: queue.SimpleQueue[tuple[int, MQTTMessage] | None] = queue.SimpleQueue()
        self._recent = _RecentMessages(self.spool.last(DUPLICATE_WINDOW))
        self.failure: ForetellError | None = None  # the first permanent one; `check` raises it
        self._connection = 0  # its number: an acknowledgement belongs to one connection
        self._since, self._short = 0.0, 0  # when this connection began, and how many before it were short
        self._subscribed = threading.Event()
        self._latest = time.monotonic()
        self._storing = threading.Thread(target=self._run, name="foretell-spool", daemon=True)
        self._client: Client | None = None
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """Raise a permanent failure. A broker that is temporarily away is none."""
        if self.failure is not None:
            raise self.failure

    def settle(self, quiet: float) -> None:
        """Wait until no message has come for so many seconds."""
        while (remaining := self._latest + quiet - time.monotonic()) > 0 and self.failure is None:
            time.sleep(min(remaining, 0.1))
        self.check()

    def discard(self, before: int) -> None:
        """Discard messages before this number, but keep the last ones, to recognise repeats after a crash."""
        self.spool.discard(min(before, self.spool.next - DUPLICATE_WINDOW))

    def close(self) -> None:
        """Disconnect. The broker keeps the session, and the messages that come meanwhile."""
        if self._client is not None:
            disconnect(self._client)
        self._arrived.put(None)
        self._storing.join()
        self.spool.close()

    def _connect(self) -> None:
        self._storing.start()
        self._broker.open(self._name, self._prepare, persistent=True)
        if not self._subscribed.wait(ANSWER_TIMEOUT):
            raise InputError("no-broker", f"the broker {self._broker} does not confirm the subscription")
        self.check()

    def _prepare(self, client: Client) -> None:
        self._client = client  # set here, as messages may come, and be acknowledged, before `open` returns
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._connection += 1
        self._since = time.monotonic()
        if reason.is_failure:
            if not is_temporary(reason):
                self._fail(self._broker.connection_refused(reason))
                client.disconnect()
            return
        if flags.session_present and self._stored_subscription() == self._subscription:
            # Subscribing again would repeat all retained messages.
            self._subscribed.set()
            return
        if not flags.session_present and self.spool.next:
            _LOG.warning("%s has lost our session, and with it the messages that came meanwhile", self._broker)
        stored = self._stored_subscription()
        if flags.session_present and stored is not None and stored.topic != self._subscription.topic:
            client.unsubscribe(stored.topic)
        client.subscribe(self._subscription.topic, self._subscription.qos)

    def _on_disconnect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        lasted = time.monotonic() - self._since
        self._short = self._short + 1 if lasted < _SHORT_CONNECTION else 0
        if self._short >= MAX_SHORT_CONNECTIONS or str(reason) == "Session taken over":
            # Two clients with one id disconnect each other for ever; not every broker gives that reason.
            message = f"{self._broker} keeps closing our connections: another client may have the id '{self._name}'"
            self._fail(InputError("broker-refused", message, hint="set the option clientId to another id"))
        elif reason.is_failure:
            _LOG.warning("lost the connection to %s (%s); reconnecting", self._broker, reason)

    def _on_subscribe(self, client: Client, data: Any, number: int, reasons: list[Any], properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            message = f"the broker {self._broker} refuses the topic '{self._subscription.topic}': {reasons[0]}"
            self._fail(InputError("broker-refused", message))
        else:
            # Not earlier: after a crash before this point the session exists without the subscription.
            with open_private(self.spool.folder / "subscription", "wb") as file:
                file.write(msgspec.json.encode(self._subscription))
        self._subscribed.set()

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        self._latest = time.monotonic()
        self._arrived.put((self._connection, message))

    def _stored_subscription(self) -> TopicSubscription | None:
        """The subscription that the broker's session is known to have."""
        try:
            return msgspec.json.decode((self.spool.folder / "subscription").read_bytes(), type=TopicSubscription)
        except (OSError, msgspec.MsgspecError):
            return None

    def _run(self) -> None:
        """The storing thread. It writes all messages that have arrived at once: syncing the disk takes the time."""
        while (first := self._arrived.get()) is not None:
            batch = [first]
            while len(batch) < RECEIVE_MAXIMUM and not self._arrived.empty():
                if (arrival := self._arrived.get()) is None:
                    self._arrived.put(None)
                    break
                batch.append(arrival)
            try:
                self.store([message for _, message in batch])
            except ForetellError as error:
                hint = "make room for the spool; messages that are not stored are still with the broker"
                self._fail(InputError(error.code, error.message, hint=hint))
                return
            except Exception as error:  # a thread must not end silently
                self._fail(InputError("broken", f"cannot store a message: {error!r}"))
                return
            self._acknowledge(batch)

    def store(self, messages: Iterable[MQTTMessage]) -> None:
        """Append messages to the spool, but for repeats. (The storing thread calls this.)"""
        now = time.time_ns() // 1000
        new = []
        for message in messages:
            spooled = SpooledMessage(_topic(message), bytes(message.payload), now, message.mid)
            if not (message.dup and spooled in self._recent):
                new.append(spooled)
                self._recent.add(spooled)
        if new:
            self.spool.append(new)

    def _acknowledge(self, batch: Iterable[tuple[int, MQTTMessage]]) -> None:
        for connection, message in batch:
            # On a later connection another message may have the same packet number.
            if self._client is not None and connection == self._connection:
                self._client.ack(message.mid, message.qos)

    def _fail(self, error: ForetellError) -> None:
        self.failure = self.failure or error
        self._subscribed.set()
        if self._client is not None:
            self._client.disconnect()


class _RecentMessages:
    """The last messages by packet number, to recognise repeats."""

    def __init__(self, messages: Iterable[SpooledMessage]) -> None:
        self._digests: OrderedDict[int, bytes] = OrderedDict()
        for message in messages:
            self.add(message)

    def add(self, message: SpooledMessage) -> None:
        self._digests.pop(message.packet, None)
        self._digests[message.packet] = _digest(message)
        if len(self._digests) > DUPLICATE_WINDOW:
            self._digests.popitem(last=False)

    def __contains__(self, message: SpooledMessage) -> bool:
        return self._digests.get(message.packet) == _digest(message)


def _digest(message: SpooledMessage) -> bytes:
    return hashlib.blake2b(message.topic.encode() + b"\0" + message.payload, digest_size=16).digest()


def _topic(message: MQTTMessage) -> str:
    try:
        return message.topic
    except UnicodeDecodeError:  # brokers must not pass this on, but some may
        return "\N{REPLACEMENT CHARACTER}"

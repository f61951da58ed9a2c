"""Messages from an MQTT broker into a spool: each gets its number there before the broker is told that we have it.

So a message is always with the broker or in the spool. What the broker sends a second time, for it did not hear our
acknowledgement, is known by its packet number and its content among the last messages and not written again.
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

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

_SHORT = 5.0  # seconds that a connection lasts at least, unless something is wrong
_TOO_OFTEN = 5

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TopicSubscription:
    """What to ask the broker for. `client` is the name under which it keeps our session."""

    topic: str
    qos: int = 1
    client: str | None = None

    def __post_init__(self) -> None:
        if self.qos == 2:
            raise InputError(
                "bad-option",
                "qos: with 2 the MQTT client acknowledges a message before it is written down; a crash would lose it",
                hint="use 1: what the broker sends again is recognised",
            )
        if self.qos not in (0, 1):
            raise InputError("bad-option", f"qos: {self.qos} is neither 0 nor 1")


class Subscriber:
    """A subscription that fills a spool, in threads of its own, until it is closed or fails."""

    def __init__(self, broker: Broker, subscription: TopicSubscription, folder: str | os.PathLike[str]) -> None:
        self.spool = Spool(folder)
        self._broker, self._wanted = broker, subscription
        self._name = subscription.client or f"foretell-{self.spool.id[:12]}"
        self._arrived: queue.SimpleQueue[tuple[int, MQTTMessage] | None] = queue.SimpleQueue()
        self._recent = _RecentMessages(self.spool.last(DUPLICATE_WINDOW))
        self._failure: ForetellError | None = None
        self._connection = 0  # how many there have been: an acknowledgement belongs to one of them
        self._since, self._short = 0.0, 0  # when this connection began, how many before it were short
        self._subscribed = threading.Event()
        self._latest = time.monotonic()
        self._storing = threading.Thread(target=self._store, name="foretell-spool", daemon=True)
        self._client: Client | None = None
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """Raises what has gone wrong for good. A broker that is away for a while is not among it."""
        if self._failure is not None:
            raise self._failure

    def settle(self, quiet: float) -> None:
        """Waits until nothing has come for so many seconds."""
        while (remaining := self._latest + quiet - time.monotonic()) > 0 and self._failure is None:
            time.sleep(min(remaining, 0.1))
        self.check()

    def discard(self, before: int) -> None:
        """The messages before this number are done with; the last few stay, to know a repeat after a crash."""
        self.spool.discard(min(before, self.spool.next - DUPLICATE_WINDOW))

    def close(self) -> None:
        """Leaves the session with the broker, which keeps what comes meanwhile."""
        if self._client is not None:
            disconnect(self._client)
        self._arrived.put(None)
        self._storing.join()
        self.spool.close()

    def _connect(self) -> None:
        self._storing.start()
        self._broker.open(self._name, self._prepare, lasting=True)
        if not self._subscribed.wait(ANSWER_TIMEOUT):
            raise InputError("no-broker", f"the broker {self._broker} does not answer a subscription")
        self.check()

    def _prepare(self, client: Client) -> None:
        self._client = client  # here already: messages may come, and want an answer, before `open` returns
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._connection += 1
        self._since = time.monotonic()
        if reason.is_failure:
            if not is_temporary(reason):
                self._fail(self._broker.refused(reason))
                client.disconnect()
            return
        if flags.session_present and self._remembered() == self._wanted:
            # Asking again would bring all retained messages again.
            self._subscribed.set()
            return
        if not flags.session_present and self.spool.next:
            _LOG.warning("%s has no session of ours any more: what came meanwhile is lost", self._broker)
        old = self._remembered()
        if flags.session_present and old is not None and old.topic != self._wanted.topic:
            client.unsubscribe(old.topic)
        client.subscribe(self._wanted.topic, self._wanted.qos)

    def _on_disconnect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        lasted = time.monotonic() - self._since
        self._short = self._short + 1 if lasted < _SHORT else 0
        if self._short >= _TOO_OFTEN or str(reason) == "Session taken over":
            # Two of one name throw each other out for ever; not every broker says that this is the reason.
            said = f"{self._broker} ends our connections at once; is another client called '{self._name}' too?"
            self._fail(InputError("broker-refused", said, hint="the option clientId gives this one another name"))
        elif reason.is_failure:
            _LOG.warning("the connection to %s is lost (%s); trying again", self._broker, reason)

    def _on_subscribe(self, client: Client, data: Any, number: int, reasons: list[Any], properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            said = f"the broker {self._broker} refuses the topic '{self._wanted.topic}': {reasons[0]}"
            self._fail(InputError("broker-refused", said))
        else:
            # Only now: had we died before, the session would be there without the subscription.
            (self.spool.folder / "subscription").write_bytes(msgspec.json.encode(self._wanted))
        self._subscribed.set()

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        self._latest = time.monotonic()
        self._arrived.put((self._connection, message))

    def _remembered(self) -> TopicSubscription | None:
        """What the broker's session of our name is known to be subscribed to."""
        try:
            return msgspec.json.decode((self.spool.folder / "subscription").read_bytes(), type=TopicSubscription)
        except (OSError, msgspec.MsgspecError):
            return None

    def _store(self) -> None:
        """The storing thread. All that has arrived goes to the disk in one step, for that is what takes time."""
        while (first := self._arrived.get()) is not None:
            some = [first]
            while len(some) < RECEIVE_MAXIMUM and not self._arrived.empty():
                if (one := self._arrived.get()) is None:
                    self._arrived.put(None)
                    break
                some.append(one)
            try:
                self._keep([message for _, message in some])
            except ForetellError as error:
                self._fail(InputError(error.code, error.message, hint="what is not stored is still with the broker"))
                return
            except Exception as error:  # a thread that ends in silence would be the worst
                self._fail(InputError("broken", f"a message cannot be stored: {error!r}"))
                return
            self._acknowledge(some)

    def _keep(self, messages: Iterable[MQTTMessage]) -> None:
        now = time.time_ns() // 1000
        new = []
        for message in messages:
            received = SpooledMessage(_topic(message), bytes(message.payload), now, message.mid)
            if not (message.dup and received in self._recent):
                new.append(received)
                self._recent.add(received)
        if new:
            self.spool.append(new)

    def _acknowledge(self, some: Iterable[tuple[int, MQTTMessage]]) -> None:
        for connection, message in some:
            # On a later connection the same packet number may be another message's.
            if self._client is not None and connection == self._connection:
                self._client.ack(message.mid, message.qos)

    def _fail(self, error: ForetellError) -> None:
        self._failure = self._failure or error
        self._subscribed.set()
        if self._client is not None:
            self._client.disconnect()


class _RecentMessages:
    """The last messages by packet number."""

    def __init__(self, messages: Iterable[SpooledMessage]) -> None:
        self._seen: OrderedDict[int, bytes] = OrderedDict()
        for message in messages:
            self.add(message)

    def add(self, message: SpooledMessage) -> None:
        self._seen.pop(message.packet, None)
        self._seen[message.packet] = _digest(message)
        if len(self._seen) > DUPLICATE_WINDOW:
            self._seen.popitem(last=False)

    def __contains__(self, message: SpooledMessage) -> bool:
        return self._seen.get(message.packet) == _digest(message)


def _digest(message: SpooledMessage) -> bytes:
    return hashlib.blake2b(message.topic.encode() + b"\0" + message.payload, digest_size=16).digest()


def _topic(message: MQTTMessage) -> str:
    try:
        return message.topic
    except UnicodeDecodeError:  # a broker must not let this pass, but then must we not fall over it
        return "\N{REPLACEMENT CHARACTER}"

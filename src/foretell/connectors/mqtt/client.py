"""Connecting to an MQTT broker: what it takes, and what can go wrong, in words."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretell.errors import InputError

if TYPE_CHECKING:
    from paho.mqtt.client import Client

#: How long a broker may take to answer a connection, seconds.
ANSWER_TIMEOUT = 15.0
#: Messages that the broker may have on the way to us before the first of them is acknowledged.
RECEIVE_MAXIMUM = 1000
#: By how many of the last messages a repeat is known. More may be on the way than we ask for: when a session is taken
#: up again, mosquitto 2.0.11 sends what it had sent before and does not count that (1,052 were seen).
DUPLICATE_WINDOW = 8 * RECEIVE_MAXIMUM

_FOREVER = 0xFFFFFFFF  # the session's end, by the MQTT 5 specification, 3.1.2.11.2
_PAUSES = (1, 60)  # seconds between attempts to connect again: the first, doubled up to the longest
_PASSING = frozenset({"Server unavailable", "Server busy", "Quota exceeded", "Connection rate exceeded"})


@dataclass(frozen=True)
class Broker:
    """Where the broker is and how to talk to it."""

    host: str
    port: int = 1883
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    protocol: str = "5"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def open(self, name: str, prepare: Callable[[Client], None], *, lasting: bool) -> Client:
        """A client that is connected, and a thread that runs it; `prepare` sets its callbacks.

        A `lasting` one has a session that outlives its connections, makes these anew by itself, and leaves it to us
        to acknowledge messages.
        """
        client = self._client(name, lasting)
        prepare(client)
        answer = _ConnectReply(client)
        try:
            client.connect(self.host, self.port, keepalive=30, **self._session(lasting))
        except (OSError, ValueError) as error:
            raise self._unreachable(error) from error
        client.loop_start()
        try:
            answer.wait(self)
        except InputError:
            disconnect(client)
            raise
        return client

    def _client(self, name: str, lasting: bool) -> Client:
        paho = _paho()
        version = {"5": paho.MQTTv5, "3.1.1": paho.MQTTv311}.get(self.protocol)
        if version is None:
            raise InputError("bad-option", f"protocol: '{self.protocol}' is neither 5 nor 3.1.1")
        client: Client = paho.Client(
            paho.CallbackAPIVersion.VERSION2,
            client_id=name,
            clean_session=None if self.protocol == "5" else not lasting,
            protocol=version,
            manual_ack=lasting,
            reconnect_on_failure=lasting,
        )
        client.reconnect_delay_set(*_PAUSES)
        if self.username is not None:
            client.username_pw_set(self.username, self.password)
        if self.tls:
            self._secure(client)
        return client

    def _session(self, lasting: bool) -> dict[str, Any]:
        """What MQTT 5 says of the session when it connects; 3.1.1 has said it already."""
        if self.protocol != "5":
            return {}
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho has no type here
        properties.SessionExpiryInterval = _FOREVER if lasting else 0
        properties.ReceiveMaximum = RECEIVE_MAXIMUM
        return {"clean_start": not lasting, "properties": properties}

    def refused(self, reason: object) -> InputError:
        said = f"the broker {self} refuses the connection: {reason}"
        return InputError("broker-refused", said, hint="look at the options username and password")

    def _secure(self, client: Client) -> None:
        try:
            client.tls_set(ca_certs=self.ca, certfile=self.certificate, keyfile=self.key)
        except (OSError, ValueError) as error:
            raise InputError("bad-option", f"tls: cannot use the certificates or the key given: {error}") from error

    def _unreachable(self, error: Exception) -> InputError:
        match error:
            case socket.gaierror():
                said = f"no host is called '{self.host}'"
            case ConnectionRefusedError():
                said = f"nothing listens at {self}"
            case TimeoutError():
                said = f"{self} does not answer"
            case ssl.SSLError():
                said = f"no TLS with {self}: {error.reason or error}"
            case ConnectionResetError() if self.tls:
                said = f"no TLS with {self}: it ends the connection"
            case _:
                said = f"{self}: {error}"
        return InputError(
            "no-broker", f"cannot reach the MQTT broker: {said}", hint="look at the options host and port"
        )


def is_temporary(reason: object) -> bool:
    """Whether a refusal may be over in a while."""
    return str(reason) in _PASSING


class _ConnectReply:
    """The broker's first answer, heard beside whatever else listens to the client's connections."""

    def __init__(self, client: Client) -> None:
        self._reason: Any = None
        self._heard = threading.Event()
        self._inner: Any = client.on_connect  # the stubs know only the callbacks of older versions
        client.on_connect = self._on_connect

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if not self._heard.is_set():
            self._reason = reason
            self._heard.set()
        if self._inner is not None:
            self._inner(client, data, flags, reason, properties)

    def wait(self, broker: Broker) -> None:
        if not self._heard.wait(ANSWER_TIMEOUT):
            raise InputError("no-broker", f"{broker} is reached but does not answer as an MQTT broker does")
        if self._reason.is_failure:
            raise broker.refused(self._reason)


def disconnect(client: Client) -> None:
    client.disconnect()
    client.loop_stop()


def _paho() -> Any:
    try:
        import paho.mqtt.client as paho
    except ImportError as error:
        raise InputError("no-mqtt", "MQTT needs the package paho-mqtt", hint="pip install 'foretell[mqtt]'") from error
    return paho

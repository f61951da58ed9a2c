"""Connections to an MQTT broker: options, sessions, and errors in words."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretell.connectors.secrets import Secret, revealed
from foretell.errors import InputError

if TYPE_CHECKING:
    from paho.mqtt.client import Client

#: Seconds that a broker may take to answer.
ANSWER_TIMEOUT = 15.0
#: Messages that the broker may send before the first of them is acknowledged (MQTT 5: Receive Maximum).
RECEIVE_MAXIMUM = 1000
#: Among how many of the last messages a repeat is recognised. More may be in flight than we allow: when a session is
#: resumed, mosquitto 2.0.11 repeats its unacknowledged messages and does not count these (1,052 were seen).
DUPLICATE_WINDOW = 8 * RECEIVE_MAXIMUM

_NEVER_EXPIRES = 0xFFFFFFFF  # the Session Expiry Interval of the MQTT 5 specification, 3.1.2.11.2
RECONNECT_DELAYS = (1, 60)  # seconds: the first, doubled up to the longest
_TEMPORARY = frozenset({"Server unavailable", "Server busy", "Quota exceeded", "Connection rate exceeded"})


@dataclass(frozen=True)
class Broker:
    """The address of a broker and the options of its connections."""

    host: str
    port: int = 1883
    username: str | None = None
    password: str | Secret | None = field(default=None, repr=False)
    tls: bool = False
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    protocol: str = "5"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def open(self, name: str, prepare: Callable[[Client], None], *, persistent: bool) -> Client:
        """Connect a client, which runs in a thread of its own; `prepare` sets its callbacks.

        A `persistent` client has a session that outlives its connections, reconnects by itself, and leaves it to the
        caller to acknowledge messages.
        """
        client = self._client(name, persistent)
        prepare(client)
        reply = _ConnectReply(client)
        try:
            client.connect(self.host, self.port, keepalive=30, **self._session(persistent))
        except (OSError, ValueError) as error:
            raise self._unreachable(error) from error
        client.loop_start()
        try:
            reply.wait(self)
        except InputError:
            disconnect(client)
            raise
        return client

    def _client(self, name: str, persistent: bool) -> Client:
        paho = _paho()
        version = {"5": paho.MQTTv5, "3.1.1": paho.MQTTv311}.get(self.protocol)
        if version is None:
            raise InputError("bad-option", f"protocol: expected 5 or 3.1.1, found '{self.protocol}'")
        client: Client = paho.Client(
            paho.CallbackAPIVersion.VERSION2,
            client_id=name,
            clean_session=None if self.protocol == "5" else not persistent,
            protocol=version,
            manual_ack=persistent,
            reconnect_on_failure=persistent,
        )
        client.reconnect_delay_set(*RECONNECT_DELAYS)
        if self.username is not None:
            client.username_pw_set(self.username, None if self.password is None else revealed(self.password))
        if self.tls:
            self._secure(client)
        return client

    def _session(self, persistent: bool) -> dict[str, Any]:
        """The session options of an MQTT 5 connection; those of 3.1.1 are set when the client is made."""
        if self.protocol != "5":
            return {}
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho has no type here
        properties.SessionExpiryInterval = _NEVER_EXPIRES if persistent else 0
        properties.ReceiveMaximum = RECEIVE_MAXIMUM
        return {"clean_start": not persistent, "properties": properties}

    def connection_refused(self, reason: object) -> InputError:
        message = f"the broker {self} refuses the connection: {reason}"
        return InputError("broker-refused", message, hint="check the options username and password")

    def _secure(self, client: Client) -> None:
        try:
            client.tls_set(ca_certs=self.ca, certfile=self.certificate, keyfile=self.key)
        except (OSError, ValueError) as error:
            raise InputError("bad-option", f"tls: cannot use the certificates or the key: {error}") from error

    def _unreachable(self, error: Exception) -> InputError:
        match error:
            case socket.gaierror():
                problem = f"unknown host '{self.host}'"
            case ConnectionRefusedError():
                problem = f"nothing listens at {self}"
            case TimeoutError():
                problem = f"{self} does not answer"
            case ssl.SSLError():
                problem = f"no TLS with {self}: {error.reason or error}"
            case ConnectionResetError() if self.tls:
                problem = f"no TLS with {self}: the broker closed the connection"
            case _:
                problem = f"{self}: {error}"
        return InputError(
            "no-broker", f"cannot reach the MQTT broker: {problem}", hint="check the options host and port"
        )


def is_temporary(reason: object) -> bool:
    """Whether a refusal may end by itself."""
    return str(reason) in _TEMPORARY


class _ConnectReply:
    """Waits for the broker's first reply to a connection, and passes it on to the client's own callback."""

    def __init__(self, client: Client) -> None:
        self._reason: Any = None
        self._replied = threading.Event()
        self._inner: Any = client.on_connect  # the stubs know only the callbacks of older versions
        client.on_connect = self._on_connect

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if not self._replied.is_set():
            self._reason = reason
            self._replied.set()
        if self._inner is not None:
            self._inner(client, data, flags, reason, properties)

    def wait(self, broker: Broker) -> None:
        if not self._replied.wait(ANSWER_TIMEOUT):
            raise InputError("no-broker", f"{broker} accepts connections but does not reply as an MQTT broker")
        if self._reason.is_failure:
            raise broker.connection_refused(self._reason)


def disconnect(client: Client) -> None:
    client.disconnect()
    client.loop_stop()


def _paho() -> Any:
    try:
        import paho.mqtt.client as paho
    except ImportError as error:
        raise InputError("no-mqtt", "MQTT needs the package paho-mqtt", hint="pip install 'foretell[mqtt]'") from error
    return paho

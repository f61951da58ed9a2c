"""Options of sources and sinks, parsed with errors that name the wrong one; brokers and receivers made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from foretell.connectors.mqtt.client import Broker
from foretell.connectors.secrets import Secret, is_secret_header
from foretell.connectors.webhook import Receiver
from foretell.errors import InputError, suggestion

_BROKER = ("host", "port", "username", "password", "tls", "ca", "certificate", "key", "protocol", "topic")
MQTT_SOURCE_OPTIONS = (*_BROKER, "qos", "spool", "clientId", "maxMessagesPerBatch", "schema")
MQTT_SINK_OPTIONS = (*_BROKER, "outbox", "wait")
WEBHOOK_OPTIONS = ("url", "outbox", "perRequest", "timeout", "wait", "ca")
#: The names of the options of a webhook that are headers begin so.
HEADER = "header."

#: Options that Spark itself adds.
_SPARKS_OWN = frozenset({"path", "checkpointlocation", "queryname", "outputmode"})


class SourceOptions:
    """The options that a user gave; Spark ignores their case."""

    def __init__(self, options: Mapping[str, str], known: Iterable[str], prefix: str | None = None) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        names = {name.lower(): name for name in known}
        for name in self._options.keys() - names.keys() - _SPARKS_OWN:
            if prefix is None or not name.startswith(prefix):
                meant = suggestion(name, names.values())
                raise InputError("unknown-option", f"there is no option '{name}'", hint=meant)

    def text(self, name: str) -> str | None:
        return self._options.get(name.lower())

    def secret(self, name: str) -> Secret | None:
        value = self.text(name)
        return None if value is None else Secret.of(name, value)

    def required(self, name: str, why: str) -> str:
        value = self.text(name)
        return value if value else _refuse(name, f"is missing: give {why}")

    def whole(self, name: str, default: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        return int(value) if value.isdecimal() else _refuse(name, f"'{value}' is not a whole number")

    def seconds(self, name: str, default: float) -> float:
        value = self.text(name)
        try:
            return default if value is None else float(value)
        except ValueError:
            _refuse(name, f"'{value}' is not a number of seconds")

    def flag(self, name: str) -> bool:
        value = self.text(name) or "false"
        if value.lower() not in ("true", "false"):
            _refuse(name, f"'{value}' is neither true nor false")
        return value.lower() == "true"

    def prefixed(self, prefix: str) -> dict[str, str]:
        return {name.removeprefix(prefix): value for name, value in self._options.items() if name.startswith(prefix)}


def _refuse(name: str, problem: str) -> NoReturn:
    raise InputError("bad-option", f"the option '{name}' {problem}")


def broker_of(options: SourceOptions) -> Broker:
    tls = options.flag("tls")
    return Broker(
        host=options.required("host", "the broker's name or address"),
        port=options.whole("port", 8883 if tls else 1883),
        username=options.text("username"),
        password=options.secret("password"),
        tls=tls,
        ca=options.text("ca"),
        certificate=options.text("certificate"),
        key=options.text("key"),
        protocol=options.text("protocol") or "5",
    )


def receiver_of(options: SourceOptions) -> Receiver:
    return Receiver(
        url=options.required("url", "the address to post to"),
        together=options.whole("perRequest", 1),
        timeout=options.seconds("timeout", 10.0),
        headers={name: _header(name, value) for name, value in options.prefixed(HEADER).items()},
        ca=options.text("ca"),
    )


def _header(name: str, value: str) -> str | Secret:
    return Secret.of(HEADER + name, value) if is_secret_header(name) or value.startswith("env:") else value

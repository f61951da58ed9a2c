"""The webhook: sends notifications by HTTP POST, one or several in a request.

The standard library's client is enough: one connection that is kept open, one request at a time. It follows no
redirects and uses no proxies.
"""

from __future__ import annotations

import hashlib
import http.client
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from foretell.connectors.secrets import Secret, revealed
from foretell.errors import InputError
from foretell.notify.outbox import OutboxEntry
from foretell.notify.sender import Delivered, DeliveryOutcome, RetryLater, Undeliverable

_TEMPORARY = frozenset({408, 429})
_MAX_RESPONSE_BYTES = 64 * 1024  # bytes that are read of a response, so that the connection can be used again


@dataclass(frozen=True, repr=False)
class Receiver:
    """The URL to send to, and how. With `together` above 1 a request carries a JSON array of up to so many."""

    url: str
    together: int = 1
    timeout: float = 10.0
    headers: Mapping[str, str | Secret] = field(default_factory=dict, repr=False)  # may hold secrets
    ca: str | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("bad-option", f"url: expected an http:// or https:// address, found '{self}'")
        if parts.username is not None:
            raise InputError("bad-option", "url: it contains a password", hint="set the header Authorization instead")
        if self.together < 1:
            raise InputError("bad-option", f"perRequest: expected 1 or more, found {self.together}")

    def __str__(self) -> str:
        """The address for messages: what follows the path may be a token."""
        parts = urlsplit(self.url)
        return parts._replace(query="…" if parts.query else "", fragment="").geturl()

    def __repr__(self) -> str:
        return f"Receiver({str(self)!r})"

    def connect(self) -> Webhook:
        return Webhook(self)


class Webhook:
    """A connection to a receiver, opened with the first request."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        parts = urlsplit(receiver.url)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._connection = _connection(receiver)
        self._headers = {name: revealed(value) for name, value in receiver.headers.items()}

    @property
    def together(self) -> int:
        return self._receiver.together

    def send(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome:
        try:
            return self._post(entries)
        except (OSError, http.client.HTTPException) as error:
            # It may have arrived all the same; the receiver recognises a repeat by its key.
            self._connection.close()
            return RetryLater(f"{self._receiver}: {str(error) or type(error).__name__}")

    def close(self) -> None:
        self._connection.close()

    def _post(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": _idempotency_key(entries),
            **self._headers,
        }
        self._connection.request("POST", self._target, self._body(entries), headers)
        response = self._connection.getresponse()
        response.read(_MAX_RESPONSE_BYTES)
        if not response.isclosed():
            self._connection.close()
        return _outcome(str(self._receiver), response)

    def _body(self, entries: Sequence[OutboxEntry]) -> bytes:
        bodies = [entry.message.body for entry in entries]
        return bodies[0] if self.together == 1 else b"[" + b",".join(bodies) + b"]"


def _connection(receiver: Receiver) -> http.client.HTTPConnection:
    parts = urlsplit(receiver.url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=receiver.timeout)
    try:
        context = ssl.create_default_context(cafile=receiver.ca)
    except OSError as error:
        raise InputError("bad-option", f"ca: cannot use '{receiver.ca}': {error.strerror or error}") from error
    return http.client.HTTPSConnection(host, parts.port, timeout=receiver.timeout, context=context)


def _idempotency_key(entries: Sequence[OutboxEntry]) -> str:
    """The notification's id; for several a hash of their ids, which is the same when they are sent again."""
    if len(entries) == 1:
        return entries[0].message.id
    return hashlib.sha256(" ".join(entry.message.id for entry in entries).encode()).hexdigest()[:24]


def _outcome(url: str, response: http.client.HTTPResponse) -> DeliveryOutcome:
    reason = f"{url}: {response.status} {response.reason}"
    if 200 <= response.status < 300:
        return Delivered()
    if 400 <= response.status < 500 and response.status not in _TEMPORARY:
        return Undeliverable(reason)
    return RetryLater(reason, _retry_after(response.headers.get("Retry-After")))


def _retry_after(value: str | None) -> float | None:
    """The seconds of a Retry-After header, which has seconds or a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None

"""Access to the service: who may call it, from where, and what pages may do with its answers.

On loopback a service needs no token, yet a page of another site could have a browser send requests to it. So the names
in `Host` and `Origin` must be the service's own (against DNS rebinding), writes need a header that no form can set, and
cookies are SameSite=Strict. Elsewhere each request needs the token.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response

COOKIE = "foretell"
#: A header that a form of another site cannot send.
WRITE_HEADER = "x-foretell"
#: A token is at least so long.
LEAST_TOKEN = 16
MOST_BODY = 1024 * 1024

_OPEN = ("/login", "/healthz", "/readyz")
_WRITES = ("POST", "PUT", "DELETE", "PATCH")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Whether an address or name is that of this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class AccessPolicy:
    """`host` is the address that the service listens on; `names` are further names that it has, such as that of a
    proxy. Without a token everybody on this machine may use it."""

    host: str
    token: str | None = None
    names: tuple[str, ...] = ()

    def accepts_host(self, header: str | None) -> bool:
        """Whether a Host header names this service: an address, which no name server can redirect, or a known name."""
        name = urlsplit(f"//{header or ''}").hostname
        if name is None:
            return False
        if is_loopback(name) or name in self.names or name == self.host.lower():
            return True
        if is_loopback(self.host):
            return False
        try:
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    def knows(self, given: str | None) -> bool:
        """Whether this is the token, compared in a time that does not tell how much of it is right."""
        if self.token is None or given is None:
            return False
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    @property
    def cookie(self) -> str:
        """The value of the cookie: it follows from the token, which does not follow from it."""
        return hmac.new((self.token or "").encode(), b"foretell page", hashlib.sha256).hexdigest()

    def allows(self, headers: Headers) -> bool:
        if self.token is None:
            return True
        scheme, _, given = (headers.get("authorization") or "").partition(" ")
        if scheme.lower() == "bearer":
            return self.knows(given.strip())
        given_cookie = _cookie(headers)
        return given_cookie is not None and hmac.compare_digest(given_cookie.encode(), self.cookie.encode())


def _cookie(headers: Headers) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def problem(status: int, error: str, hint: str = "", **more: Any) -> JSONResponse:
    """The answer to a request that fails."""
    return JSONResponse({"error": error, "hint": hint, **more}, status)


class AccessControl:
    """Middleware that refuses requests, limits their size, and adds the headers that protect the page."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], policy: AccessPolicy) -> None:
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def protected(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/assets/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, protected)
        else:
            await self._app(scope, _limited(receive), protected)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        host = headers.get("host")
        if not self._policy.accepts_host(host):
            hint = "open the service by its address, or name the host with --name"
            return problem(421, "this request is for another host", hint)
        is_write = method in _WRITES
        origin = headers.get("origin")
        if is_write and origin is not None and urlsplit(origin).netloc.lower() != (host or "").lower():
            return problem(403, "this request comes from another site")
        if headers.get("sec-fetch-site") == "cross-site" and (is_write or path.startswith("/api/")):
            return problem(403, "this request comes from another site")
        if not self._policy.allows(headers) and not (path in _OPEN or path.startswith("/assets/")):
            if path == "/" and method == "GET":
                return RedirectResponse("/login", 303)
            return problem(401, "the token is missing or wrong", "log in, or send Authorization: Bearer TOKEN")
        if is_write and path.startswith("/api/") and headers.get(WRITE_HEADER) != "1":
            return problem(403, "a write needs the header X-Foretell: 1")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BODY:
            return problem(413, f"a request has at most {MOST_BODY:,} bytes")
        return None


class BodyTooLongError(Exception):
    """A request without a length that has more bytes than are allowed."""


def _limited(receive: Receive) -> Receive:
    size = 0

    async def limited() -> Any:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > MOST_BODY:
                raise BodyTooLongError
        return message

    return limited

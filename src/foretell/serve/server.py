"""The server: a socket, uvicorn on it, and an end that leaves nothing undone.

The socket is bound before the pipeline is prepared, so that a port in use is an error at once. The first Ctrl-C or
SIGTERM ends the connections, then the pipeline after its present step; the second ends the process at once.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI

from foretell.errors import InputError
from foretell.serve.access import AccessControl, BodyTooLongError, is_loopback
from foretell.serve.page_files import page_router
from foretell.serve.rates import POINT_SECONDS
from foretell.serve.routes import PipelineApi, broken, not_allowed, not_found, too_long
from foretell.serve.service import PipelineService

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
#: Seconds that open requests get when the service ends.
_GRACE_SECONDS = 2


def application(service: PipelineService) -> FastAPI:
    """The page and the API of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        ticks = asyncio.create_task(_tick(service))
        try:
            yield
        finally:
            ticks.cancel()
            await service.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(AccessControl, policy=service.policy)
    app.include_router(PipelineApi(service).router())
    app.include_router(page_router(service.policy))
    app.add_exception_handler(404, not_found)
    app.add_exception_handler(405, not_allowed)
    app.add_exception_handler(BodyTooLongError, too_long)
    app.add_exception_handler(Exception, broken)
    return app


async def _tick(service: PipelineService) -> None:
    while True:
        await asyncio.sleep(POINT_SECONDS)
        service.recorder.tick()


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError("no-host", f"cannot listen on '{host}': there is no such host") from None
    listener = socket.socket(family, kind, number)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise _no_socket(host, port, error) from None
    return listener


def _no_socket(host: str, port: int, error: OSError | OverflowError) -> InputError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        hint = "end the other program, or use another port: --port 0 takes a free one"
        return InputError("port-in-use", f"port {port} is in use", hint=hint)
    if number == errno.EACCES:
        return InputError("no-port", f"port {port} is not ours to use", hint="use one above 1023")
    return InputError("no-port", f"cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}")


def address_of(listener: socket.socket) -> str:
    """The URL of a socket that listens."""
    host, port = listener.getsockname()[:2]
    shown = "localhost" if not is_loopback(host) and host in ("0.0.0.0", "::") else host
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


class PageServer(uvicorn.Server):
    """Serves on a socket until it is asked to end. Signals are the caller's."""

    def __init__(self, service: PipelineService, listener: socket.socket) -> None:
        config = uvicorn.Config(
            application(service),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            timeout_keep_alive=10,
            limit_concurrency=300,
            ws="none",
        )
        super().__init__(config)
        self._service, self._listener = service, listener

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """End the feeds, then the connections."""
        self._service.stopping = True
        self.should_exit = True

    def run_here(self) -> None:
        """Serve in this thread until `end` is called."""
        asyncio.run(self.serve(sockets=[self._listener]))

    @contextmanager
    def in_background(self) -> Iterator[str]:
        """Serve in a thread; the context has the URL."""
        thread = threading.Thread(target=self.run_here, name="foretell-page", daemon=True)
        thread.start()
        try:
            while not self.started and thread.is_alive():
                thread.join(0.01)
            yield address_of(self._listener)
        finally:
            self.end()
            thread.join(10)


def serve_until_signal(
    service: PipelineService,
    listener: socket.socket,
    texts: Iterable[str],
    log: Callable[[str], None],
    *,
    stop_seconds: float = 120.0,
) -> int:
    """Run a prepared pipeline and its page until SIGINT or SIGTERM; returns the number of that signal. The texts are
    logged first: whoever has read them may send a signal."""
    server, received = PageServer(service, listener), list[int]()

    def receive(number: int, _: Any) -> None:
        received.append(number)
        if len(received) > 1:
            raise KeyboardInterrupt
        server.end()

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for text in texts:
            log(text)
        service.runner.start()
        server.run_here()
        if received:
            log("stopping after the present step; a second Ctrl-C stops at once")
        if not service.runner.stop(stop_seconds):
            log(f"the pipeline has not ended in {stop_seconds:g} seconds: the next run repeats its last batch")
    finally:
        for number, handler in before.items():
            with suppress(ValueError):
                signal.signal(number, handler)
    return received[0] if received else signal.SIGTERM

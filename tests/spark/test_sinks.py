"""Notifications of a streaming query to a broker and to a web server: each batch once, whatever is repeated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from foretell.connectors.webhook import Receiver
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify import to_table, write
from foretell.notify.messages import messages_of
from foretell.notify.outbox import Outbox
from foretell.spark.connectors.outbox_writer import OutboxWriter
from foretell.spark.connectors.registry import register
from foretell.spark.streaming.query import follow
from tests.broker import Listener, Mosquitto, wait_until
from tests.webhook_server import Answer, WebServer

MATCH = Notification(
    "s", "match", {"ip": "x"}, 1704067200000000, 1704067201500000, 1.0, None, None, {}, {"a": 0}, Type.TIMESTAMP
)


def notifications_of(start: int, end: int) -> list[Notification]:
    return [replace(MATCH, start=MATCH.start + i, end=MATCH.end + i, events={"a": i}) for i in range(start, end)]


def names(start: int, end: int) -> list[str]:
    return [message.id for message in messages_of(notifications_of(start, end))]


@pytest.fixture
def server() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


def run(spark: SparkSession, folder: Path, sink: str, **options: Any) -> None:
    """A query from files of notifications to the sink, as far as there are files."""
    register(spark)
    schema = spark.read.parquet(str(folder / "in")).schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    writer = frame.writeStream.format(sink).option("checkpointLocation", str(folder / "checkpoint"))
    given = {"outbox": str(folder / "outbox"), **options}
    writer.options(**given).trigger(availableNow=True).start().awaitTermination()


def put(folder: Path, name: str, start: int, end: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    write(notifications_of(start, end), folder / "in" / f"{name}.parquet")


def test_webhook(spark: SparkSession, server: WebServer, tmp_path: Path) -> None:
    put(tmp_path, "0", 0, 20)
    server.answers.extend([Answer(), Answer(500), Answer(), Answer(400)])
    run(spark, tmp_path, "foretell_webhook", url=server.url, **{"header.X-From": "foretell"})
    put(tmp_path, "1", 20, 30)
    run(spark, tmp_path, "foretell_webhook", url=server.url)
    assert [body["notification"] for body in server.taken] == [name for name in names(0, 30) if name != names(2, 3)[0]]
    body = server.taken[0]
    assert (body["key"], body["events"], body["start"]) == ({"ip": "x"}, {"a": 0}, "2024-01-01T00:00:00Z")
    assert server.requests[0].headers["x-from"] == "foretell"
    assert Outbox(tmp_path / "outbox").counts().dead == 1
    assert list((tmp_path / "outbox" / "staged").iterdir()) == []


def test_a_receiver_that_is_away_does_not_stop_the_query(
    spark: SparkSession, server: WebServer, tmp_path: Path
) -> None:
    put(tmp_path, "0", 0, 5)
    server.stop()
    run(spark, tmp_path, "foretell_webhook", url=server.url, wait=1)
    assert Outbox(tmp_path / "outbox").counts().waiting == 5
    server.start()
    put(tmp_path, "1", 5, 6)
    run(spark, tmp_path, "foretell_webhook", url=server.url)
    assert [body["notification"] for body in server.taken] == names(0, 6)


def test_mqtt(spark: SparkSession, mosquitto: Mosquitto, tmp_path: Path) -> None:
    listener = Listener(mosquitto.port, "foretell/#")
    put(tmp_path, "0", 0, 30)
    run(spark, tmp_path, "foretell_mqtt", host="127.0.0.1", port=mosquitto.port, topic="foretell/{subscription}")
    wait_until(lambda: len(listener.heard) >= 30)
    listener.close()
    assert [json.loads(message.payload)["notification"] for message in listener.heard] == names(0, 30)
    assert {message.topic for message in listener.heard} == {"foretell/s"}


def test_a_batch_that_is_committed_again(server: WebServer, tmp_path: Path) -> None:
    """As Spark does after a crash between our commit and its own: other tasks, other files, the same batch."""
    writer = OutboxWriter(Receiver(server.url), str(tmp_path), 5.0)
    for _ in range(2):
        staged = [writer.write(iter(to_table(notifications_of(i, i + 3)).to_batches())) for i in (0, 3)]
        empty = writer.write(iter([]))
        writer.commit([*staged, empty], 7)
    assert [body["notification"] for body in server.taken] == names(0, 6)


def test_a_batch_that_is_given_up_leaves_nothing(server: WebServer, tmp_path: Path) -> None:
    writer = OutboxWriter(Receiver(server.url), str(tmp_path), 5.0)
    staged = writer.write(iter(to_table(notifications_of(0, 3)).to_batches()))
    writer.abort([staged, None], 0)
    assert list((tmp_path / "staged").iterdir()) == []
    assert server.requests == []


def test_a_frame_of_something_else(spark: SparkSession, server: WebServer, tmp_path: Path) -> None:
    register(spark)
    frame = spark.readStream.format("rate").load()
    writer = frame.writeStream.format("foretell_webhook").option("url", server.url).option("outbox", str(tmp_path))
    with pytest.raises(PySparkException, match="needs notifications, and the frame has no column 'subscription'"):
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(once=True).start().awaitTermination()


def test_structs_are_refused(spark: SparkSession, server: WebServer, tmp_path: Path) -> None:
    """A struct has the fields of all statements, so a message could not tell which of them its own are."""
    register(spark)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text('{"k": 1, "t": 1}\n')
    events = spark.readStream.schema("k BIGINT, t BIGINT").json(str(tmp_path / "in"))
    notifications = follow("STREAM s TIME t; SUBSCRIBE m FROM s PER k MATCH a;", {"s": events})
    writer = notifications.writeStream.format("foretell_webhook").option("url", server.url)
    writer = writer.option("outbox", str(tmp_path / "o")).option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(PySparkException, match="needs 'key', 'events' as JSON text, not as structs"):
        writer.trigger(once=True).start().awaitTermination()

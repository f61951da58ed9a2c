"""Messages of a real broker as events, and notifications to it and to a web server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foretell.errors import InputError
from tests.broker import Listener, Mosquitto
from tests.serve.service_client import RISE, events, lines_of, serving, wait_for, write_pipeline
from tests.webhook_server import WebServer


def stream_of(broker: Mosquitto, spool: Path) -> str:
    options = f'host = "127.0.0.1", port = {broker.port}, topic = "plant/+/v", spool = "{spool}"'
    return f'format = "foretell_mqtt"\noptions = {{ {options} }}'


def payloads(first: int, count: int) -> list[bytes]:
    return [json.dumps(event).encode() for event in events(first, count)]


def test_messages_are_events_once(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """Also those that come while the service is down, and in arrays."""
    stream = stream_of(mosquitto, tmp_path / "spool")
    pipeline = write_pipeline(tmp_path, more='quarantine = "bad.jsonl"', stream=stream)
    with serving(pipeline) as served:
        wait_for(lambda: served.service.recorder.ready)
        wait_for(lambda: (tmp_path / "spool" / "subscription").exists())
        mosquitto.publish("plant/a/v", [*payloads(0, 2), b"no json"])
        mosquitto.publish("plant/b/v", [b"[" + b",".join(payloads(2, 2)) + b"]"])
        wait_for(lambda: served.client.counts("rise") == {"match": 3})
        (bad,) = served.client.get("/api/quarantine").json["rows"]
        assert (bad["reason"], bad["event"]) == ("plant/a/v:2: not JSON", "no json")
    mosquitto.publish("plant/a/v", payloads(4, 1))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        assert served.state()["streams"][0]["events"] == 1
    assert json.loads((tmp_path / "bad.jsonl").read_text())["raw"] == "no json"


def test_notifications_to_a_broker(tmp_path: Path, mosquitto: Mosquitto) -> None:
    listener = Listener(mosquitto.port, "found/#")
    outbox = f'host = "127.0.0.1", port = {mosquitto.port}, outbox = "{tmp_path}/outbox"'
    output = f'[output]\nformat = "foretell_mqtt"\noptions = {{ {outbox}, topic = "found/{{subscription}}" }}'
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 3)))
    with serving(write_pipeline(tmp_path, more=output)):
        wait_for(lambda: len(listener.heard) == 2)
    listener.close()
    rows = [json.loads(message.payload) for message in listener.heard]
    assert [message.topic for message in listener.heard] == ["found/rise"] * 2
    assert [row["events"] for row in rows] == [{"a": "e0", "b": "e1"}, {"a": "e1", "b": "e2"}]


def test_notifications_to_a_web_server(tmp_path: Path) -> None:
    server = WebServer()
    options = f'url = "{server.url}", outbox = "{tmp_path}/outbox"'
    output = f'[output]\nformat = "foretell_webhook"\noptions = {{ {options} }}'
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 3)))
    with serving(write_pipeline(tmp_path, more=output)):
        wait_for(lambda: len(server.taken) == 2)
    server.stop()
    assert [row["events"] for row in server.taken] == [{"a": "e0", "b": "e1"}, {"a": "e1", "b": "e2"}]


def test_a_broker_that_is_not_there(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """The page shows why nothing comes."""
    mosquitto.stop()
    with serving(write_pipeline(tmp_path, stream=stream_of(mosquitto, tmp_path / "spool"))) as served:
        wait_for(lambda: served.state()["status"] == "failed")
        assert "nothing listens at 127.0.0.1" in served.state()["error"]["error"]


def test_messages_need_declared_types(tmp_path: Path, mosquitto: Mosquitto) -> None:
    pipeline = write_pipeline(tmp_path, RISE, stream=f'{stream_of(mosquitto, tmp_path / "spool")}\ntime = "t"')
    with pytest.raises(InputError, match="its types must be declared"), serving(pipeline):
        raise AssertionError("it runs")

"""Secrets come from the environment or a file, and show nowhere."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from foretell.connectors.mqtt.client import Broker
from foretell.connectors.secrets import Secret, is_secret_header, revealed
from foretell.connectors.webhook import Receiver
from foretell.errors import InputError
from foretell.events.notification import COLUMNS
from foretell.notify.messages import Message
from foretell.notify.outbox import Outbox
from foretell.notify.sender import RetryLater
from foretell.spark.connectors.mqtt import MqttSource
from foretell.spark.connectors.webhook import WebhookSource
from tests.webhook_server import WebServer


@pytest.fixture
def server() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


def test_where_a_secret_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCH_PASSWORD", "hidden")
    (tmp_path / "password").write_text("buried\nmore\n")
    assert revealed(Secret.of("password", "env:WATCH_PASSWORD")) == "hidden"
    assert revealed(Secret.of("password", f"file:{tmp_path / 'password'}")) == "buried"
    assert revealed("plain") == "plain"


@pytest.mark.parametrize(
    ("value", "code"),
    [("hidden", "plain-secret"), ("env:NO_SUCH_VARIABLE", "no-secret"), ("file:/no/such/file", "no-secret")],
)
def test_what_is_none(value: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        Secret.of("password", value).read()
    assert caught.value.code == code
    assert "hidden" not in str(caught.value)


def test_headers_with_secrets() -> None:
    assert all(map(is_secret_header, ("Authorization", "X-Api-Key", "cookie", "X-Auth-Token")))
    assert not any(map(is_secret_header, ("X-From", "Content-Language")))


def test_options_of_spark_hold_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    schema = StructType([StructField(name, StringType()) for name in COLUMNS])
    monkeypatch.setenv("WATCH_TOKEN", "Bearer hidden")
    common = {"outbox": str(tmp_path / "outbox")}
    for source, options in [
        (WebhookSource, {"url": "http://127.0.0.1:1/", "header.Authorization": "env:WATCH_TOKEN"}),
        (MqttSource, {"host": "127.0.0.1", "topic": "t", "username": "u", "password": "env:WATCH_TOKEN"}),
    ]:
        writer = source({**common, **options}).streamWriter(schema, overwrite=False)
        assert b"hidden" not in pickle.dumps(writer)  # what Spark sends to tasks
        assert "hidden" not in repr(writer) + str(vars(writer))
        secret = next(name for name, value in options.items() if value.startswith("env:"))
        with pytest.raises(InputError, match=f"(?i){secret}") as caught:
            source({**common, **options, secret: "hidden"}).streamWriter(schema, overwrite=False)
        assert "hidden" not in str(caught.value)


def test_reprs_and_reasons(tmp_path: Path) -> None:
    assert "hidden" not in repr(Broker("h", password="hidden"))
    receiver = Receiver("http://127.0.0.1:1/hook?token=hidden#hidden", headers={"Authorization": "hidden"})
    assert "hidden" not in f"{receiver} {receiver!r}"
    with closing(Outbox(tmp_path)) as outbox:
        outbox.put([Message("a", "m", b"{}")], 0)
        outcome = receiver.connect().send(outbox.pending(1))
    assert isinstance(outcome, RetryLater)
    assert "hidden" not in str(outcome)
    for url in ("ftp://hidden.example/?x=hidden", "http://ann:hidden@example.org/"):
        with pytest.raises(InputError) as caught:
            Receiver(url)
        assert "x=hidden" not in str(caught.value)
        assert "ann:hidden" not in str(caught.value)


def test_a_secret_arrives(server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCH_TOKEN", "Bearer hidden")
    receiver = Receiver(server.url, headers={"Authorization": Secret.of("header", "env:WATCH_TOKEN")})
    with closing(Outbox(tmp_path)) as outbox:
        outbox.put([Message("a", "m", b"{}")], 0)
        receiver.connect().send(outbox.pending(1))
    assert server.requests[0].headers["Authorization"] == "Bearer hidden"

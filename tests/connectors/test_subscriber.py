"""The MQTT subscriber with a real broker: every message once, when either side is stopped, restarted or killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from paho.mqtt.client import MQTTMessage

from foretell.connectors.mqtt.client import RECEIVE_MAXIMUM, Broker
from foretell.connectors.mqtt.spool import Spool
from foretell.connectors.mqtt.subscriber import Subscriber, TopicSubscription
from foretell.errors import InputError
from tests.broker import Mosquitto, free_port, wait_until

Open = Callable[..., Subscriber]


@pytest.fixture
def subscribe(mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setattr("foretell.connectors.mqtt.client.RECONNECT_DELAYS", (1, 1))
    opened: list[Subscriber] = []

    def open_(topic: str = "plant/#", protocol: str = "5") -> Subscriber:
        broker = Broker("127.0.0.1", mosquitto.port, protocol=protocol)
        opened.append(Subscriber(broker, TopicSubscription(topic), tmp_path / "spool"))
        return opened[-1]

    yield open_
    for subscriber in opened:
        subscriber.close()


def payloads(spool: Spool) -> list[bytes]:
    return [message.payload for part in spool.slices(spool.first, spool.next) for _, message in part.read()]


def texts(start: int, end: int) -> list[bytes]:
    return [f'{{"value": {i}}}'.encode() for i in range(start, end)]


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_published_messages_are_stored_in_order(mosquitto: Mosquitto, subscribe: Open, protocol: str) -> None:
    subscriber = subscribe(protocol=protocol)
    mosquitto.publish("plant/1", texts(0, 500))
    mosquitto.publish("office", [b"not ours"])
    wait_until(lambda: subscriber.spool.next == 500)
    assert payloads(subscriber.spool) == texts(0, 500)
    [message] = subscriber.spool.last(1)
    assert message.topic == "plant/1"


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_the_broker_keeps_messages_while_we_are_away(mosquitto: Mosquitto, subscribe: Open, protocol: str) -> None:
    subscribe(protocol=protocol).close()
    mosquitto.publish("plant/1", texts(0, 300))
    subscriber = subscribe(protocol=protocol)
    wait_until(lambda: subscriber.spool.next == 300)
    assert payloads(subscriber.spool) == texts(0, 300)


def test_a_restart_of_the_broker(mosquitto: Mosquitto, subscribe: Open) -> None:
    subscriber = subscribe()
    mosquitto.publish("plant/1", texts(0, 300))
    mosquitto.stop()
    mosquitto.start()
    mosquitto.publish("plant/1", texts(300, 600))
    wait_until(lambda: subscriber.spool.next == 600)
    subscriber.settle(0.3)
    assert payloads(subscriber.spool) == texts(0, 600)
    subscriber.check()


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize("restart", [False, True])
def test_unacknowledged_repeats_are_recognised(
    mosquitto: Mosquitto, subscribe: Open, monkeypatch: pytest.MonkeyPatch, restart: bool, protocol: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Subscriber, "_acknowledge", lambda *_: None)
        subscriber = subscribe(protocol=protocol)
        mosquitto.publish("plant/1", texts(0, 10))
        wait_until(lambda: subscriber.spool.next == 10)
        subscriber.close()
    if restart:
        mosquitto.stop()
        mosquitto.start()
    subscriber = subscribe(protocol=protocol)
    mosquitto.publish("plant/1", texts(10, 20))
    wait_until(lambda: subscriber.spool.next >= 20)
    subscriber.settle(0.3)
    assert payloads(subscriber.spool) == texts(0, 20)


def test_a_full_disk_leaves_the_messages_with_the_broker(
    mosquitto: Mosquitto, subscribe: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    subscriber = subscribe()
    mosquitto.publish("plant/1", texts(0, 5))
    wait_until(lambda: subscriber.spool.next == 5)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        mosquitto.publish("plant/1", texts(5, 10))
        wait_until(lambda: subscriber.failure)
    with pytest.raises(InputError) as caught:
        subscriber.check()
    assert caught.value.code == "cannot-write"
    assert caught.value.message.endswith("No space left on device")
    assert caught.value.hint == "make room for the spool; messages that are not stored are still with the broker"
    subscriber.close()
    again = subscribe()
    wait_until(lambda: again.spool.next == 10)
    assert payloads(again.spool) == texts(0, 10)


def test_discard_keeps_the_last_messages(
    mosquitto: Mosquitto, subscribe: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spool.__init__, "__kwdefaults__", {"segment_bytes": 500})
    monkeypatch.setattr("foretell.connectors.mqtt.subscriber.DUPLICATE_WINDOW", 30)
    subscriber = subscribe()
    for start in range(0, 200, 20):
        mosquitto.publish("plant/1", texts(start, start + 20))
        wait_until(lambda: subscriber.spool.next == start + 20)  # noqa: B023
    subscriber.discard(100)
    assert 60 < subscriber.spool.first <= 100
    subscriber.discard(200)
    assert 130 < subscriber.spool.first <= 170


def test_retained_messages_come_once(mosquitto: Mosquitto, subscribe: Open) -> None:
    mosquitto.publish("plant/1", [b"last known"], retain=True)
    for _ in range(2):
        subscriber = subscribe()
        wait_until(lambda: subscriber.spool.next)  # noqa: B023
        subscriber.settle(0.3)
        assert payloads(subscriber.spool) == [b"last known"]
        subscriber.close()


def test_another_topic_takes_the_place_of_the_first(mosquitto: Mosquitto, subscribe: Open) -> None:
    subscribe("plant/1").close()
    subscriber = subscribe("plant/2")
    mosquitto.publish("plant/1", [b"one"])
    mosquitto.publish("plant/2", [b"two"])
    wait_until(lambda: subscriber.spool.next)
    subscriber.settle(0.3)
    assert payloads(subscriber.spool) == [b"two"]


def test_more_repeats_than_the_receive_maximum_are_recognised(mosquitto: Mosquitto, subscribe: Open) -> None:
    """As mosquitto does when a session is taken up again and again (see `DUPLICATE_WINDOW`)."""
    count = RECEIVE_MAXIMUM + 52
    sent = []
    for number, text in enumerate(texts(0, count)):
        message = MQTTMessage(number + 1, b"plant/1")
        message.payload = text
        sent.append(message)
    subscriber = subscribe()
    subscriber.store(sent)
    subscriber.close()
    again = subscribe()
    for message in sent:
        message.dup = True
    again.store(sent)
    assert payloads(again.spool) == texts(0, count)


CHILD = """
import sys, time
from foretell.connectors.mqtt import Broker, Subscriber, TopicSubscription
subscriber = Subscriber(Broker("127.0.0.1", int(sys.argv[1])), TopicSubscription("plant/#"), sys.argv[2])
print("ready", flush=True)
time.sleep(600)
"""


def stored(spool: Path) -> int:
    return sum(path.stat().st_size for path in spool.glob("*.spool"))


def test_killed_again_and_again(mosquitto: Mosquitto, subscribe: Open, tmp_path: Path) -> None:
    """SIGKILL while messages come in: none is lost, none is there twice, and they are in order."""
    total = 0
    for _ in range(3):
        command = [sys.executable, "-c", CHILD, str(mosquitto.port), str(tmp_path / "spool")]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"ready\n"
                before = stored(tmp_path / "spool")
                mosquitto.publish("plant/1", texts(total, total + 1000))
                total += 1000
                wait_until(lambda: stored(tmp_path / "spool") > before)  # noqa: B023
            finally:
                child.send_signal(signal.SIGKILL)
    subscriber = subscribe()
    wait_until(lambda: subscriber.spool.next >= total)
    subscriber.settle(0.3)
    assert payloads(subscriber.spool) == texts(0, total)


def test_an_unreachable_broker() -> None:
    port = free_port()
    with pytest.raises(InputError, match=f"cannot reach the MQTT broker: nothing listens at 127.0.0.1:{port}"):
        Broker("127.0.0.1", port).open("x", lambda _: None, persistent=False)
    with pytest.raises(InputError, match=r"unknown host 'nowhere\.invalid'"):
        Broker("nowhere.invalid").open("x", lambda _: None, persistent=False)


def test_wrong_credentials(tmp_path: Path, mosquitto: Mosquitto) -> None:
    mosquitto.stop()
    secret = tmp_path / "passwords"
    secret.touch()
    closed = Mosquitto(tmp_path / "closed", f"allow_anonymous false\npassword_file {secret}")
    closed.start()
    try:
        broker = Broker("127.0.0.1", closed.port, username="ann", password="wrong")
        with pytest.raises(InputError, match="refuses the connection: Not authorized") as caught:
            Subscriber(broker, TopicSubscription("plant/#"), tmp_path / "spool")
        assert caught.value.hint == "check the options username and password"
        assert "wrong" not in repr(broker)
        Spool(tmp_path / "spool").close()  # the failure has let go of it
    finally:
        closed.stop()


def test_tls_where_there_is_none(mosquitto: Mosquitto) -> None:
    with pytest.raises(InputError, match=r"no TLS with 127\.0\.0\.1"):
        Broker("127.0.0.1", mosquitto.port, tls=True).open("x", lambda _: None, persistent=False)
    with pytest.raises(InputError, match="tls: cannot use the certificates"):
        Broker("127.0.0.1", mosquitto.port, tls=True, ca="/nowhere").open("x", lambda _: None, persistent=False)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates of this test")
def test_tls(mosquitto: Mosquitto, tmp_path: Path) -> None:
    mosquitto.stop()
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {certificate}"
    subprocess.run([*command.split(), "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    secure = Mosquitto(tmp_path / "secure", f"allow_anonymous true\ncertfile {certificate}\nkeyfile {key}")
    secure.start()
    try:
        broker = Broker("localhost", secure.port, tls=True, ca=str(certificate))
        Subscriber(broker, TopicSubscription("plant/#"), tmp_path / "spool").close()
        with pytest.raises(InputError, match=r"no TLS with localhost:[0-9]+: CERTIFICATE_VERIFY_FAILED"):
            Broker("localhost", secure.port, tls=True).open("x", lambda _: None, persistent=False)
    finally:
        secure.stop()


def test_another_client_of_the_same_name(mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.connectors.mqtt.subscriber.MAX_SHORT_CONNECTIONS", 2)
    monkeypatch.setattr("foretell.connectors.mqtt.client.RECONNECT_DELAYS", (1, 1))
    broker = Broker("127.0.0.1", mosquitto.port)
    first = Subscriber(broker, TopicSubscription("a", client="same"), tmp_path / "first")
    second = Subscriber(broker, TopicSubscription("a", client="same"), tmp_path / "second")
    wait_until(lambda: first.failure or second.failure)
    with pytest.raises(InputError, match=r"another client may have the id 'same'"):
        (first if first.failure else second).check()
    first.close()
    second.close()


def test_qos_two_is_refused_with_its_reason() -> None:
    with pytest.raises(InputError, match="a crash would lose it"):
        TopicSubscription("plant/#", qos=2)

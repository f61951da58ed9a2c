"""A real MQTT broker for the tests: mosquitto on a free port, which can be stopped and restarted."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WHERE = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"  # not on the PATH of most people


def executable() -> str | None:
    return shutil.which("mosquitto") or shutil.which("mosquitto", path=WHERE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Mosquitto:
    """A broker that keeps its sessions in a folder, so that they are there again after a restart."""

    def __init__(self, folder: Path, settings: str = "allow_anonymous true", port: int | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        folder.mkdir(exist_ok=True)
        self._config = folder / "mosquitto.conf"
        user = "user root\n" if os.geteuid() == 0 else ""  # as root it would change to a user who cannot write here
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\n{user}{settings}\n"
            f"persistence true\npersistence_location {folder}/\nmax_queued_messages 0\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = executable()
        assert program is not None
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen([program, "-c", self._config], stdout=log, stderr=log)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError("mosquitto does not start")

    def stop(self) -> None:
        """Ends it as a service is ended: it writes its sessions down."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def publish(self, topic: str, payloads: Iterable[bytes], retain: bool = False) -> None:
        """Sends messages, each acknowledged by the broker."""
        client = _client()
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for sent in [client.publish(topic, payload, qos=1, retain=retain) for payload in payloads]:
            sent.wait_for_publish(20)
            assert sent.is_published()
        client.disconnect()
        client.loop_stop()


class Listener:
    """A client that keeps what it hears."""

    def __init__(self, port: int, topic: str) -> None:
        self.heard: list[Any] = []
        self._client = _client()
        self._client.on_connect = lambda client, *_: client.subscribe(topic, 1)
        self._client.on_message = lambda _, __, message: self.heard.append(message)
        self._subscribed = False
        self._client.on_subscribe = self._on_subscribe
        self._client.reconnect_delay_set(1, 1)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        wait_until(lambda: self._subscribed)

    def _on_subscribe(self, *_: Any) -> None:
        self._subscribed = True

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def wait_until(holds: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def _client() -> Any:
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    return paho.Client(CallbackAPIVersion.VERSION2, client_id="", protocol=paho.MQTTv5)

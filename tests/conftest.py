"""What tests of several folders share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker import Mosquitto, executable


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A broker that runs. Where there is none to be had a test is skipped, but not in CI: there it must be tested."""
    if executable() is None:
        why = "there is no MQTT broker to test with: `make broker`, or apt-get install mosquitto"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    broker = Mosquitto(tmp_path / "mosquitto")
    broker.start()
    yield broker
    broker.stop()

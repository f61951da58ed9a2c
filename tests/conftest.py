"""What tests of several folders share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker import Mosquitto, executable


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares a Spark session runs in one process, wherever there are several."""
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))


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

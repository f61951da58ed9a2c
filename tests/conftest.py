"""What tests of several folders share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.broker import Mosquitto, executable

# For runs as short as those of tests, Java's second compiler and its parallel collector cost more than they save. The
# commands that tests start inherit this.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A background job of a shell ignores Ctrl-C. The commands that tests start, and interrupt, must not inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


#: Tests of the Spark pipeline that do without a session of their process.
_WITHOUT_SESSION = ("tests/spark/test_local_", "tests/spark/test_jvm")


class Together(LoadScopeScheduling):
    """Of several processes one has all tests that share a Spark session, and one those of the site, which is built
    once; the others take what comes.

    (xdist's own groups do nothing under pytest 9, which does not let the name of a test be changed.)
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith("tests/docs/test_site.py"):
            return "site"
        return "spark" if nodeid.startswith("tests/spark/") and not nodeid.startswith(_WITHOUT_SESSION) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Keep bytes out of the names of tests: every process must find the same names, and gzip writes the time of day."""
    return argname if isinstance(val, bytes) else None


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

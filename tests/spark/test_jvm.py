"""The JVM of a session: silent, deaf to Ctrl-C, and gone when it is told to go, also while it starts."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from foretell.errors import InputError
from foretell.spark.session.jvm import Jvm
from tests.spark_processes import await_end, java_children

START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits that it is ignored
from foretell.spark.session import end_spark, session
try:
    print("starting", flush=True)
    spark = session()
    print(spark.range(1000).count(), flush=True)
    sys.stdin.read()
except KeyboardInterrupt:
    end_spark()
    sys.exit(130)
"""


def start() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Send Ctrl-C; return the status and what was said, after checking that no Java is left."""
    java = java_children(process.pid)
    assert java
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    await_end(java)
    return process.returncode, errors


def test_ctrl_c_while_spark_starts() -> None:
    process = start()
    while not java_children(process.pid):
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(0.5)
    assert interrupt(process) == (130, "")


def test_ctrl_c_while_spark_runs() -> None:
    process = start()
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["starting\n", "1000\n"]
    assert interrupt(process) == (130, "")


def test_what_java_says_is_shown_if_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:NoSuchOption")
    jvm = Jvm({}, silent=True)
    with pytest.raises(InputError, match=r"(?s)its Java process ended with status 1\n.*Unrecognized VM option"):
        jvm.connect()
    jvm.end()

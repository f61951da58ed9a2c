"""The JVM of a Spark session: started so that Ctrl-C reaches only this process, silent until Spark runs, and ended.

PySpark's own start gives its JVM our standard error, on which Java prints warnings that concern nobody, and keeps the
process out of reach until it is connected: Ctrl-C in between would leave it behind.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import sleep
from typing import Any

from pyspark import SparkContext, java_gateway
from pyspark.find_spark_home import _find_spark_home

from foretell.errors import InputError

_PORT, _SECRET, _PLACE = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "_PYSPARK_DRIVER_CONN_INFO_PATH"

#: A JVM that has been told to end removes its temporary folders first; one that takes longer is killed.
PATIENCE_SECONDS = 2.0

_SHOWN_LINES = 20

#: How the lines begin with which a streaming worker of Spark reports each of its steps; an empty line follows each.
_WORKER_STEPS = (b"Starting Streaming TransformWithState", b"Streaming TransformWithState")

#: JVMs that this process has started and not ended yet.
_running: list[Jvm] = []


class Jvm:
    """A process that runs spark-submit, in a session (of the operating system) of its own: no terminal signals it."""

    def __init__(self, conf: Mapping[str, object], *, silent: bool) -> None:
        """Start a JVM with this configuration. With `silent` its standard error is shown only if Spark fails."""
        self._early: list[bytes] = []
        self._forwards = threading.Event()
        self._connected = False
        self._folder = tempfile.TemporaryDirectory(prefix="foretell-")
        self._place = Path(self._folder.name, "connection")
        with _no_interrupt():  # between the start of the process and the entry by which `end_spark` finds it
            self.process = subprocess.Popen(
                _command(conf),
                stdin=subprocess.PIPE,  # the JVM ends when this pipe is closed, however our process ends
                stderr=subprocess.PIPE if silent else None,
                env=os.environ | {"SPARK_CONNECT_MODE": "0", _PLACE: str(self._place)},
                start_new_session=True,
            )
            _running.append(self)
        self._reader = threading.Thread(target=self._read_errors, name="foretell-jvm-errors", daemon=True)
        self._reader.start()

    def connect(self) -> Any:
        """Wait until the JVM listens, and return PySpark's gateway to it."""
        while not self._place.is_file():  # Spark renames it when it is complete
            if self.process.poll() is not None:
                raise self.failure()
            sleep(0.02)
        data = self._place.read_bytes()  # the port and the length of the secret, as four bytes each, and the secret
        port, secret = int.from_bytes(data[:4], "big"), data[8:].decode()
        self._folder.cleanup()
        try:
            # PySpark connects to a JVM that exists if the environment says where.
            os.environ.update({_PORT: str(port), _SECRET: secret})
            gateway: Any = java_gateway.launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            for name in (_PORT, _SECRET):
                os.environ.pop(name, None)
        gateway.proc = self.process
        self._connected = True
        return gateway

    def forward_errors(self) -> None:
        """Pass on what the JVM and its workers write to standard error from now on."""
        self._early.clear()
        self._forwards.set()

    def failure(self) -> InputError:
        """Return the error of a JVM that did not start, with the last lines that it wrote."""
        self._reader.join(PATIENCE_SECONDS)
        text = b"".join(self._early).decode("utf-8", "replace").strip()
        message = f"Spark does not start: its Java process ended with status {self.process.returncode}"
        return InputError("no-spark", "\n  ".join([message, *text.splitlines()[-_SHOWN_LINES:]]))

    def end(self) -> None:
        """End the process and those that it has started; return when it is gone."""
        with contextlib.suppress(ValueError):
            _running.remove(self)
        self._forwards.clear()
        # A JVM that runs Spark has temporary folders to remove; one that starts has nothing.
        for number in (signal.SIGTERM, signal.SIGKILL) if self._connected else (signal.SIGKILL,):
            if self._group_ends(number):
                break
        self._folder.cleanup()

    def _group_ends(self, number: int) -> bool:
        """Send a signal to the process and those that scripts have started with it; return whether they end in time."""
        for _ in range(round(PATIENCE_SECONDS / 0.05)):
            self.process.poll()
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):  # (the latter on macOS, for processes that have ended)
                return True
            number = 0
            sleep(0.05)
        return False

    def _read_errors(self) -> None:
        after_step = False
        for line in self.process.stderr or ():
            is_step = line.startswith(_WORKER_STEPS)
            is_shown = not is_step and not (after_step and line == b"\n")
            after_step = is_step
            if not is_shown:
                continue
            if self._forwards.is_set():
                with contextlib.suppress(OSError):
                    os.write(2, line)
            else:
                self._early.append(line)


def end_spark() -> None:
    """End every Spark that this process has started, also one that is still starting; take at most a few seconds.

    Nothing is said about what is cut off: a streaming query continues from its checkpoint when it is started again.
    """
    # Threads that wait for the JVM would log that the connection broke, or print it.
    for name in ("py4j", "pyspark"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    context: Any = SparkContext._active_spark_context
    if context is not None:
        context._accumulatorServer.handle_error = lambda *_: None
    for jvm in tuple(_running):
        jvm.end()
    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is None:  # started by PySpark itself
        process.kill()
        process.wait()


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _command(conf: Mapping[str, object]) -> list[str]:
    """Return the command that PySpark would run."""
    script = Path(_find_spark_home(), "bin", "spark-submit")
    options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    return [str(script), *options, *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))]

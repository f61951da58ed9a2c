"""A stand-alone cluster on loopback: a master and workers from the jars of the pyspark package (docs/cluster.md)."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark

from foretell.errors import InputError
from foretell.spark.session.java import java_home

_SPARK = Path(pyspark.__file__).parent
_LOOPBACK = ("--host", "127.0.0.1", "--webui-port", "0")
_PATIENCE_SECONDS = 120


@contextmanager
def standalone_cluster(
    folder: Path, environment: Mapping[str, str], *, workers: int, cores: int, memory: str
) -> Iterator[str]:
    """Start a master and workers, each with these cores and so much memory for executors; return the master's URL.

    All of them end with the context, and their logs and files are in the folder. `environment` has what the processes
    get besides the variables that every worker needs.
    """
    port = str(_free_port())
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with ExitStack() as parts:
        master = [f"{deploy}.master.Master", *_LOOPBACK, "--port", port]
        parts.enter_context(_process(folder, "master", environment, f"Starting Spark master at {url}", master))
        for number in range(workers):
            limits = ["--cores", str(cores), "--memory", memory, "--work-dir", str(folder / f"work-{number}")]
            worker = [f"{deploy}.worker.Worker", *_LOOPBACK, *limits, url]
            ready = "Successfully registered with master"
            parts.enter_context(_process(folder, f"worker-{number}", environment, ready, worker))
        yield url


@contextmanager
def _process(folder: Path, name: str, environment: Mapping[str, str], ready: str, command: list[str]) -> Iterator[None]:
    """A part of the cluster in a group of its own, so that all that it starts ends with it."""
    needed = {
        "PATH": "/usr/bin:/bin",
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(_SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(_SPARK / "bin" / "spark-class"), *command],
            env={**needed, **environment},
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
    try:
        _await_line(process, log, ready)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _await_line(process: subprocess.Popen[bytes], log: Path, ready: str) -> None:
    latest = time.monotonic() + _PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < latest:
        if ready in log.read_text():
            return
        time.sleep(0.05)
    raise InputError("no-spark", f"Spark's cluster does not start:\n{log.read_text()[-2000:]}")


def _end_with_parent() -> None:
    """Linux ends a process with the one that started it, whatever ended that; an executor ends with its worker."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

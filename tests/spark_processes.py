"""Processes of Spark, as the operating system lists them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from foretell.bench.processes import descendants


def java_children(parent: int) -> list[int]:
    return [process.number for process in descendants(parent) if b"java" in process.command[0]]


def await_end(processes: Iterable[int]) -> None:
    """Wait until processes are gone: one that was told to end takes a moment on a busy machine."""
    limit = time.monotonic() + 20
    while left := [number for number in processes if Path(f"/proc/{number}").exists()]:
        assert time.monotonic() < limit, left
        time.sleep(0.1)


def python_workers(parent: int) -> list[int]:
    """Return the Python processes that run tasks: Spark's daemon has forked them."""
    ours = {process.number: process for process in descendants(parent) if b"pyspark.daemon" in process.command}
    return [number for number, process in ours.items() if process.parent in ours]


def kill_with_descendants(parent: int) -> None:
    """Kill a process, its Java and its workers, as a machine that fails does."""
    for process in (parent, *(process.number for process in descendants(parent))):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

"""Ctrl-C: one line, status 130, no traceback, and no process left behind, at every moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STATEMENTS = "STREAM s (k STRING, time INT) TIME time;\nSUBSCRIBE m FROM s MATCH a , b;\n"
INTERRUPTED = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == module:
            raise KeyboardInterrupt

module = sys.argv.pop()
sys.meta_path.insert(0, Interrupt())
sys.argv = ["-m", "demo", "--small"]
runpy.run_module("foretell.cli", run_name="__main__")
"""
STOPPED = "stopped by Ctrl-C\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.ftl").write_text(STATEMENTS)
    (tmp_path / "s.jsonl").write_text('{"time": 1, "k": "a"}\n' * 1000)
    return tmp_path


@pytest.mark.parametrize("module", ["typer", "pyarrow", "foretell.cli.demo", "numba"])
def test_while_it_loads(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", STOPPED)


def test_nothing_is_logged_while_spark_ends() -> None:
    """The threads of Py4J log, through the root logger too, that the JVM has closed their connections."""
    code = """
import logging, sys, types
from foretell.cli import interrupts

spark = types.ModuleType("foretell.spark.session.jvm")
spark.end_spark = lambda: logging.error("Exception while sending command.")
sys.modules[spark.__name__] = spark
interrupts.leave()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, STOPPED)


def test_no_warning_is_printed_after_an_interrupt() -> None:
    """PySpark warns that it could not stop a Spark whose start was interrupted."""
    code = """
import os, signal, warnings
from foretell.cli import interrupts

signal.signal(signal.SIGINT, signal.default_int_handler)
interrupts.handle_interrupts()
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    warnings.warn("Unable to cleanly shutdown Spark JVM process.", RuntimeWarning)
    interrupts.leave()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, STOPPED)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a shell starts it: Ctrl-C interrupts the group."""
    command = [sys.executable, "-m", "foretell.cli", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def test_at_work(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    process = start(folder, "run", "m.ftl", "--input", "s=pipe.jsonl", "--engine", "embedded")
    with (folder / "pipe.jsonl").open("wb"):  # which waits until the command has opened it to read
        assert interrupt(process) == (130, "", STOPPED)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at /proc")
@pytest.mark.parametrize("library", ["numpy", "pyarrow/libarrow"])
def test_while_libraries_load(folder: Path, library: str) -> None:
    """An import in the middle may turn an interrupt into another error."""
    os.mkfifo(folder / "pipe.jsonl")
    process = start(folder, "run", "m.ftl", "--input", "s=pipe.jsonl", "--engine", "embedded")
    maps = Path(f"/proc/{process.pid}/maps")
    while library not in maps.read_text() and process.poll() is None:
        time.sleep(0.005)
    assert interrupt(process) == (130, "", STOPPED)


def _java_of(folder: Path) -> list[str]:
    """The Java processes that were started in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder and b"java" in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("moment", ["the JVM starts", "Spark starts", "Spark runs"])
def test_with_spark(folder: Path, moment: str) -> None:
    process = start(folder, "run", "m.ftl", "--input", "s=s.jsonl", "--engine", "spark")
    while not _java_of(folder) and process.poll() is None:
        time.sleep(0.02)
    time.sleep({"the JVM starts": 0.0, "Spark starts": 2.0, "Spark runs": 5.0}[moment])
    if process.poll() is not None:
        pytest.skip("the run has ended before the interrupt")
    assert interrupt(process) == (130, "", STOPPED)
    limit = time.monotonic() + 5
    while _java_of(folder) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not _java_of(folder)

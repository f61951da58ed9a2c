"""Exactly once: a query that is killed, or whose workers are, gives the notifications of an undisturbed one."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

import foretell as ft
from foretell.spark.session.local_files import use_plain_files
from foretell.spark.streaming.chunked_state import SMALL_BYTES
from foretell.spark.streaming.query import follow, matches
from tests.spark.streaming_queries import (
    TYPES,
    WATCH,
    crowd,
    expected,
    finish,
    frame,
    in_files,
    logins,
    put,
    read,
    rows_of,
)
from tests.spark_processes import kill_with_descendants, python_workers

LOG = logging.getLogger(__name__)

# Partial matches that wait long make a state that is large enough for pages.
LASTING = WATCH + "SUBSCRIBE return FROM logins PER ip MATCH a ; b DEFINE a AS NOT ok, b AS ok;"


def child(folder: Path) -> None:
    """Run the query to kill: from a folder to a folder, one small file at a time, written as `foretell run --follow`
    writes on one machine."""
    from foretell.spark.session import session

    spark = session("foretell-killed", **{"spark.master": "local[2,4]"})
    use_plain_files(spark)
    finish(query(spark, folder), folder)


def query(spark: SparkSession, folder: Path) -> DataFrame:
    return follow(LASTING, {"logins": frame(spark, folder / "in", TYPES["logins"])}, shards=2)


def start(folder: Path) -> subprocess.Popen[bytes]:
    code = f"from pathlib import Path; from tests.spark.test_exactly_once import child; child(Path({str(folder)!r}))"
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", code], start_new_session=True, cwd=Path(__file__).parents[2], stdout=log, stderr=log
        )


def commits(folder: Path) -> int:
    place = folder / "checkpoint" / "commits"
    return sum(path.name.isdecimal() for path in place.iterdir()) if place.exists() else 0


def wait_for(folder: Path, running: subprocess.Popen[bytes], wanted: int) -> bool:
    """Wait for a number of micro-batches, and return whether the query still runs."""
    while commits(folder) < wanted and running.poll() is None:
        time.sleep(0.02)
    return running.poll() is None


def kill_all(folder: Path, times: int, seed: int) -> int:
    """Kill Python, Java and the workers at random moments after micro-batches; return how often."""
    random, killed = Random(seed), 0
    for _ in range(times):
        running = start(folder)
        if wait_for(folder, running, commits(folder) + random.randrange(1, 3)):
            time.sleep(random.uniform(0, 1))
        if running.poll() is None:
            kill_with_descendants(running.pid)
            killed += 1
        running.wait()
    return killed


def kill_workers(folder: Path, times: int, seed: int) -> int:
    """Kill workers of one query, which continues; return how often."""
    random, killed = Random(seed), 0
    running = start(folder)
    for _ in range(times):
        wait_for(folder, running, commits(folder) + 1)
        time.sleep(random.uniform(0, 0.5))
        group = python_workers(running.pid)
        if group:
            os.kill(random.choice(group), signal.SIGKILL)
            killed += 1
    assert running.wait() == 0, (folder / "log").read_text()[-2000:]
    return killed


def events_in_files(folder: Path, count: int, size: int) -> list[dict[str, object]]:
    """Write a crowd of failed logins, and files in which some of the crowd come back."""
    crowded = crowd(3_000, "2026-02-28T23:00:00Z")
    put(folder, crowded, 0)
    events = logins(count)
    for at in range(0, count, size // 4):
        events[at]["ip"] = crowded[at]["ip"]
    in_files(folder, events, size, first=1)
    return [*crowded, *events]


def check(spark: SparkSession, folder: Path, events: list[dict[str, object]]) -> None:
    found = read(spark, folder)
    engine = ft.Engine(LASTING)
    assert rows_of(matches(found)) == expected(spark, [engine.push("logins", events)])
    assert len(engine.snapshot()) > 3 * SMALL_BYTES  # of two shards, so both have pages
    assert found.count() == matches(found).count()


def test_killed_now_and_then(spark: SparkSession, tmp_path: Path) -> None:
    """Kill the query once, then a worker of the next, which runs here: another process would take long to start."""
    events = events_in_files(tmp_path / "in", 160, 40)
    assert kill_all(tmp_path, 1, seed=1) == 1
    with ThreadPoolExecutor(1) as other:
        killed = other.submit(kill_worker, tmp_path, commits(tmp_path) + 1)
        finish(query(spark, tmp_path), tmp_path)
        assert killed.result() == 1
    check(spark, tmp_path, events)


def kill_worker(folder: Path, wanted: int) -> int:
    """Kill a worker of this process after a number of micro-batches; return how many were killed."""
    ends = time.monotonic() + 120
    while commits(folder) < wanted and time.monotonic() < ends:
        time.sleep(0.02)
    workers = python_workers(os.getpid())
    for process in workers[-1:]:
        os.kill(process, signal.SIGKILL)
    return len(workers[-1:])


@pytest.mark.soak
@pytest.mark.timeout(0)  # a busy machine takes half a minute for each start
def test_killed_twenty_times(spark: SparkSession, tmp_path: Path) -> None:
    events = events_in_files(tmp_path / "in", 1600, 20)
    killed = kill_all(tmp_path, 24, seed=3)
    done = commits(tmp_path)
    assert start(tmp_path).wait() == 0
    assert not [*(tmp_path / "checkpoint" / "commits").glob("*.crc")]  # written as `run --follow` does
    LOG.info("killed %d times, %d of %d micro-batches done by then", killed, done, commits(tmp_path))
    assert killed >= 20
    check(spark, tmp_path, events)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_workers_killed_twenty_times(spark: SparkSession, tmp_path: Path) -> None:
    events = events_in_files(tmp_path / "in", 1600, 20)
    killed = kill_workers(tmp_path, 24, seed=4)
    LOG.info("killed %d workers, %d micro-batches", killed, commits(tmp_path))
    assert killed >= 20
    check(spark, tmp_path, events)

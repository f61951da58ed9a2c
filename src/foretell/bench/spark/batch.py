"""Batch cases of `foretell bench spark`: ticks in Parquet, on one core, on two, and on a stand-alone cluster.

Notifications are encoded and sorted as for a sink, and discarded. `limit` is the speed at which the same code reads,
encodes, shuffles and decodes the events, without any matching, on the same cores. Processor time is that of the JVM,
the Python workers and the cluster together: it depends less than the clock on what else the machine does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

import pyarrow.parquet as pq

from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import declaration_of
from foretell.bench.engine import STREAM, WORKLOADS
from foretell.bench.processes import processor_seconds
from foretell.bench.result import BenchResult
from foretell.bench.spark.baselines import events_read, events_shuffled, notifications_sorted
from foretell.bench.spark.standalone_cluster import standalone_cluster
from foretell.bench.workloads.ticks import repeated_ticks
from foretell.errors import InputError
from foretell.language.subscriptions import parse
from foretell.spark.batch.job import BatchJob
from foretell.spark.session import end_spark, session

EVENTS = 10_000_000
#: The best of so many runs counts; of more events than `EVENTS` fewer, since they take long and start-up is a trifle.
RUNS, LONG_RUNS = 3, 2
#: The most memory of the JVM of a driver, which runs the tasks of `local[…]`, and of an executor of the cluster.
MEMORY = "3g"
#: What an event takes on the disk at most: as Parquet, in the shuffle, and w3's half a notification in the second one.
DISK_BYTES = 150
_FILE_EVENTS, _GROUPS = 2_500_000, 4

_BASELINES = {"read only": events_read, "read and shuffle": events_shuffled}
_CASES = (*_BASELINES, "w1", "w2", "w3")
_SHUFFLED = "read and shuffle"
_Conf: TypeAlias = dict[str, str | int | float | bool]
_TEXTS = {workload.name: STREAM + workload.text for workload in WORKLOADS}


def measure(events: int = EVENTS, *, cluster: bool = False) -> Iterator[BenchResult]:
    """Measure reading, the shuffle and the workloads on each master; then compare two cores with one."""
    with tempfile.TemporaryDirectory(prefix="foretell-bench-") as name:
        folder = Path(name)
        require_disk(folder, events)
        write(folder / "ticks", events)
        found: dict[str, dict[str, BenchResult]] = {}
        for master in ("local[1]", "local[2]", *(["cluster"] if cluster else [])):
            found[master] = {}
            for case, result in _on_master(master, folder, events):
                found[master][case] = result
                yield result
        yield from _comparison(found, "local[2]", "local[1]")
        if cluster:
            yield from _comparison(found, "cluster", "local[2]")


def require_disk(folder: Path, events: int) -> None:
    """Raise unless the events and the shuffles fit on the disk of the folder."""
    needed, free = events * DISK_BYTES, shutil.disk_usage(folder).free
    if needed > free:
        found = (
            f"{events:,} events take up to {needed / 1e9:.1f} GB in {folder.parent}, of which {free / 1e9:.1f} are free"
        )
        raise InputError("no-room", found, hint="set TMPDIR to a folder with more room, or ask for fewer --events")


def write(folder: Path, count: int) -> None:
    """Write the ticks in files of a few million, made in pieces: memory does not depend on their number."""
    folder.mkdir()
    files = (
        table.slice(at, _FILE_EVENTS) for table in repeated_ticks(count) for at in range(0, len(table), _FILE_EVENTS)
    )
    for number, part in enumerate(files):
        pq.write_table(part, folder / f"{number:04}.parquet", row_group_size=-(-len(part) // _GROUPS))


# ── one master ──


def _on_master(master: str, folder: Path, events: int) -> Iterator[tuple[str, BenchResult]]:
    """Every case by name, in a process of its own: the master's JVM compiles, and holds memory, for itself alone."""
    with ExitStack() as stack:
        conf: _Conf = {"spark.master": master, "spark.driver.memory": MEMORY, "spark.local.dir": str(folder / "local")}
        if master == "cluster":
            conf |= {"spark.master": stack.enter_context(_cluster(folder)), "spark.executor.memory": MEMORY}
            conf |= {"spark.driver.host": "127.0.0.1"}
        pool = stack.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        pool.submit(_start, conf).result()
        stack.callback(lambda: pool.submit(_end).result())
        limit = None
        for case in _CASES:
            result = _measured(pool, master, case, folder / "ticks", events, limit)
            limit = result if case == _SHUFFLED else limit
            yield case, result


def _cluster(folder: Path) -> AbstractContextManager[str]:
    """One worker with two cores, as `local[2]`, that reads the kernels that this user has compiled."""
    home = {name: os.environ[name] for name in ("HOME", "NUMBA_CACHE_DIR", "PYTHONPATH") if name in os.environ}
    (folder / "cluster").mkdir()
    return standalone_cluster(folder / "cluster", home, workers=1, cores=2, memory=MEMORY)


def _measured(
    pool: ProcessPoolExecutor, master: str, case: str, ticks: Path, events: int, shuffled: BenchResult | None
) -> BenchResult:
    """The best of some runs, by the clock and by processor time."""
    runs: list[tuple[float, float | None]] = []
    for _ in range(RUNS if events <= EVENTS else LONG_RUNS):
        before = processor_seconds()
        seconds, count = pool.submit(_run, case, str(ticks)).result()
        after = processor_seconds()
        runs.append((seconds, None if before is None or after is None else after - before))
    seconds = min(clock for clock, _ in runs)
    processor = min((used for _, used in runs if used is not None), default=None)
    part = None
    if shuffled is not None and shuffled.processor is not None and processor is not None:
        part = shuffled.processor / processor
    return BenchResult(
        "spark",
        f"{case}, {master}",
        events,
        seconds,
        events / seconds,
        matches=None if shuffled is None else count,
        limit=None if shuffled is None else shuffled.rate,
        of_plain=part,
        processor=processor,
    )


def _comparison(found: dict[str, dict[str, BenchResult]], master: str, other: str) -> Iterator[BenchResult]:
    """How the cases do on one master beside another; they must find the same matches."""
    for case, result in found[master].items():
        beside = found[other][case]
        if result.matches != beside.matches:
            raise AssertionError(f"{case}: {result.matches} matches on {master}, {beside.matches} on {other}")
        note = f"{result.rate / beside.rate:.2f} times the events per second"
        if result.processor is not None and beside.processor is not None:
            note += f", {result.processor / beside.processor:.2f} times the processor time"
        name = f"{case}, {master} beside {other}"
        yield BenchResult("spark", name, result.events, result.seconds, result.rate, note=note)


# ── in the driver's process ──


def _start(conf: _Conf) -> None:
    session("foretell-bench", **conf)


def _run(case: str, folder: str) -> tuple[float, int]:
    """Run a case in the session: the seconds, and the events or notifications that came out."""
    job = _job(_TEXTS.get(case, _TEXTS["w1"]), folder)
    started = time.perf_counter()
    count = _BASELINES.get(case, notifications_sorted)(job)
    return time.perf_counter() - started, count


@cache
def _job(text: str, folder: str) -> BatchJob:
    program = parse(text)
    declaration = declaration_of(program, "ticks", InputSettings())
    return BatchJob(program, {"ticks": folder}, {"ticks": declaration}, {}, None)


def _end() -> None:
    session().stop()
    end_spark()

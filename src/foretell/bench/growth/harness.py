"""Runtimes, events and memory for the growth benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.bench.growth.curves import LARGEST
from foretell.engine.planning import start_runtime
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.language.subscriptions import parse
from foretell.machine.runtime import MatchRuntime

RUNS = 3
BATCH = 1_000_000  # the largest batch: memory is then that of the engine, not of its input


def event_batch(table: pa.Table) -> EventBatch:
    return read(table, StreamDeclaration("ticks", {"ts": Type.INT}, "ts", open=True))


def runtime(text: str, batch: EventBatch, tables: Mapping[str, TemplateTable] | None = None) -> MatchRuntime:
    """A runtime for statements over the schema of a batch."""
    tables = tables or {}
    checked = parse(text).checked({"ticks": batch.schema}, {name: table.types for name, table in tables.items()})
    return start_runtime(checked, tables)


def timed(engine: MatchRuntime, batch: EventBatch) -> tuple[float, int]:
    """Process a batch: seconds and matches."""
    started = time.perf_counter()
    results = engine.process({"ticks": batch})
    return time.perf_counter() - started, sum(result.notification_count for result in results)


def best(text: str, batch: EventBatch, tables: Mapping[str, TemplateTable] | None = None) -> tuple[float, int]:
    """The best of several runs, each on a runtime of its own; one run is enough if it takes long."""
    seconds, matches = timed(runtime(text, batch, tables), batch)
    for _ in range(RUNS - 1 if seconds < 2 else 0):
        seconds = min(seconds, timed(runtime(text, batch, tables), batch)[0])
    return seconds, matches


def keyed_ticks(first: int, keys: Any) -> pa.Table:
    """Trades like the ticks, with the given keys: prices between 50 and 150, volumes of 1 to 1000."""
    count = len(keys)
    random = np.random.default_rng(first)
    columns: dict[str, Any] = {
        "ts": np.arange(first, first + count),
        "k": keys,
        "price": random.uniform(50, 150, count),
        "volume": random.integers(1, 1001, count),
    }
    return pa.table(columns)


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, so that its memory can be measured."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def resident_bytes() -> int:
    """The memory of this process (0 without /proc). Raises MemoryError above the limit."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    used = pages * os.sysconf("SC_PAGE_SIZE")
    if used > LARGEST:
        raise MemoryError
    return used

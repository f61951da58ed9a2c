"""Subscriptions as data: a FOR EACH table of a million rows is loaded, and rows come and go while events are pushed.

`rate` is rows a second where a table is loaded, written or restored, and changes a second where rows come and go, by
processor time; pushes of events in between count as well. The memory is what a process takes beyond one that has an
engine with one row, at its peak.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from foretell.bench.result import BenchResult
from foretell.engine import Engine

ROWS, QUICK_ROWS = 1_000_000, 20_000
BULK, QUICK_BULK = 100_000, 2_000
CHANGES, QUICK_CHANGES = 10_000, 400
NAMES = 10_000

_SOURCES = ("Arrow", "people.parquet", "people.csv", "people.jsonl")

_STREAM = "STREAM ticks (name STRING, price FLOAT, t INT) TIME t;"
_TEMPLATES = {
    "one event": "MATCH a DEFINE a AS name = :name AND price > :low",
    "two events": "MATCH a ; b DEFINE a AS name = :name AND price > :low, b AS name = a.name WITHIN 50",
}
_ONE_ROW = [{"id": 0, "name": "n0", "low": 1.0, "high": 1.0, "size": 1}]


def measure(quick: bool = False) -> Iterator[BenchResult]:
    """Loading, changes by their kind and by the pushes in between, and snapshots."""
    rows, bulk, changes = (QUICK_ROWS, QUICK_BULK, QUICK_CHANGES) if quick else (ROWS, BULK, CHANGES)
    with TemporaryDirectory() as folder:
        yield from _loading(Path(folder), rows, _SOURCES[:1] if quick else _SOURCES)
    for name, template in _TEMPLATES.items():
        work = _Work(name, template, rows)
        yield work.started()
        yield from work.in_bulk(bulk)
        for every in (1_000, 100, 10):
            yield work.one_by_one(changes, every)
        yield from work.snapshots()


def table(count: int, first: int = 0) -> pa.Table:
    """Rows with an id, a text and numbers."""
    chance = np.random.default_rng(first)
    names = np.array([f"n{number}" for number in range(NAMES)])[chance.integers(0, NAMES, count)]
    columns = {
        "id": pa.array(np.arange(first, first + count)),
        "name": pa.array(names.tolist()),
        "low": pa.array(chance.random(count) * 100),
        "high": pa.array(chance.random(count) * 1000),
        "size": pa.array(chance.integers(0, 1 << 40, count)),
    }
    return pa.table(columns)


def _text(template: str) -> str:
    return f"{_STREAM} SUBSCRIBE found FOR EACH people FROM ticks {template};"


# ── loading ──


def _loading(folder: Path, count: int, sources: Sequence[str]) -> Iterator[BenchResult]:
    rows = table(count)
    pq.write_table(rows, folder / "people.parquet")
    pa_csv.write_csv(rows, folder / "people.csv")
    with (folder / "people.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows.to_pylist())
    for source in sources:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as process:
            seconds, size = process.submit(_load, str(folder), source).result()
        case = f"load {count:,} rows, {source.removeprefix('people.')}"
        yield BenchResult("filter", case, count, seconds, count / seconds, processor=seconds)
        yield BenchResult("filter", f"{case}, memory", count, seconds, count / seconds, note=f"{size >> 20:,} MiB")


def _load(folder: str, source: str) -> tuple[float, int]:
    """The seconds until an engine with a table takes events, and the memory."""
    text = _text(_TEMPLATES["two events"])
    event = [{"name": "n0", "price": 2.0, "t": 0}]
    Engine(text, tables={"people": _ONE_ROW}).push("ticks", event)
    given = pq.read_table(f"{folder}/people.parquet") if source == "Arrow" else f"{folder}/{source}"
    before, started = _peak(), time.process_time()
    Engine(text, tables={"people": given}).push("ticks", event)
    return time.process_time() - started, _peak() - before


def _peak() -> int:
    """The most memory that this process has had. `getrusage` would count that of its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ── changes ──


@dataclass
class _Work:
    """An engine with so many rows, which come and go."""

    name: str
    template: str
    rows: int
    _next: int = 0
    _oldest: int = 0
    _time: int = 0
    _chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def __post_init__(self) -> None:
        self._started = time.process_time()
        self.engine = Engine(_text(self.template), tables={"people": table(self.rows)})
        self._push(1_000)
        self._next = self.rows

    def started(self) -> BenchResult:
        return self._result("start", self.rows, time.process_time() - self._started)

    def in_bulk(self, count: int) -> Iterator[BenchResult]:
        """So many rows at once, from Arrow and from dicts, and their removal; events after each."""
        given = table(count, self._next)
        started = time.process_time()
        self.engine.add_rows("people", given)
        self._push(100)
        yield self._result(f"add {count:,} rows from Arrow", count, time.process_time() - started)
        dicts = [{**row, "id": row["id"] + count} for row in given.to_pylist()]
        started = time.process_time()
        self.engine.add_rows("people", dicts)
        self._push(100)
        yield self._result(f"add {count:,} dicts", count, time.process_time() - started)
        ids = list(range(self._next, self._next + 2 * count))
        started = time.process_time()
        self.engine.remove_rows("people", ids)
        self._push(100)
        yield self._result(f"remove {2 * count:,} rows", 2 * count, time.process_time() - started)
        self._next += 2 * count

    def one_by_one(self, count: int, every: int) -> BenchResult:
        """Each change a call, half of them removals, and an event after every so many."""
        rows = table(count // 2, self._next).to_pylist()
        started, matches = time.process_time(), 0
        for number, row in enumerate(rows):
            self.engine.add_rows("people", [row])
            self.engine.remove_rows("people", [row["id"] if number % 2 else self._oldest])
            self._oldest += 1 - number % 2
            if 2 * number % every == 0:
                matches += self._push(1)
        self._next += count
        seconds = time.process_time() - started
        return self._result(f"one by one, an event after {every:,}", 2 * len(rows), seconds, matches)

    def snapshots(self) -> Iterator[BenchResult]:
        started = time.process_time()
        snapshot = self.engine.snapshot()
        yield self._result(f"snapshot of {len(snapshot) >> 20:,} MiB", self.rows, time.process_time() - started)
        started = time.process_time()
        Engine.restore(None, snapshot)
        yield self._result("restore", self.rows, time.process_time() - started)

    def _push(self, count: int) -> int:
        names = [f"n{number}" for number in self._chance.integers(0, NAMES, count)]
        times = np.arange(self._time, self._time + count)
        self._time += count
        prices = (100 * self._chance.random(count)).tolist()
        return len(self.engine.push("ticks", pa.table({"name": names, "price": prices, "t": times.tolist()})))

    def _result(self, case: str, count: int, seconds: float, matches: int | None = None) -> BenchResult:
        case = f"{self.rows:,} rows of {self.name}: {case}"
        return BenchResult("filter", case, count, seconds, count / seconds, matches, processor=seconds)

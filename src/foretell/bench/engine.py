"""`foretell bench engine`: the tick workloads in process, one core, events in Arrow, notifications as columns.

Each is measured in the match runtime, from events that are read to results, and by the public calls around it, by
processor time: `push` is `Engine.push` of an Arrow table, `push, to_arrow` gives the notifications as Arrow besides.

What other engines find and how fast they are stands in docs/results.md. `limit` is the speed of a bare compiled loop
that only reads the same columns: the ratio to it holds on any machine.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from foretell.bench.polars_baseline import polars_seconds
from foretell.bench.result import BenchResult
from foretell.bench.workloads.ticks import ticks
from foretell.engine import Engine
from foretell.engine.planning import start_runtime
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.template_tables import read_table
from foretell.events.types import Type
from foretell.forecast.online.factory import ForecasterFactory
from foretell.jit import compiled
from foretell.language.subscriptions import parse
from foretell.machine.observe.observer import NO_OBSERVERS

EVENTS = 1_000_000
RUNS = 5


@dataclass(frozen=True)
class Workload:
    """`matches` is what other engines found in the first million; `columns` are those its conditions read."""

    name: str
    text: str
    matches: int | None
    columns: tuple[str, ...]
    rows: int = 0
    forecasts: bool = False

    @property
    def statement(self) -> str:
        return self.text.split()[1]

    def with_forecasts(self) -> Workload:
        text = self.text.rstrip(";") + " FORECAST WITHIN 5 EVENTS ABOVE 0.5;"
        return replace(self, name=f"{self.name} with forecasts", text=text, forecasts=True)


_RISE = "DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price;"
_RUN = """MATCH a , b+ , c DEFINE b AS price > prev.price, c AS price <= prev.price {}
RETURN count(b) AS n, avg(b.price) AS mean;"""
_TEMPLATE = """SUBSCRIBE w6 FOR EACH row FROM ticks PER name MATCH a , b , c
DEFINE a AS name = :name AND volume > :volume, b AS price > a.price, c AS price > b.price;"""

WORKLOADS = (
    Workload("w1", f"SUBSCRIBE w1 FROM ticks PER name MATCH a , b , c {_RISE}", 23_627, ("price",)),
    Workload(
        "w2",
        "SUBSCRIBE w2 FROM ticks PER name MATCH a ;{volume > 900 AND price > a.price} b ;{volume < 100} c "
        "DEFINE a AS volume > 900 WITHIN 59999;",
        72_019,
        ("price", "volume"),
    ),
    Workload("w3", "SUBSCRIBE w3 FROM ticks PER name " + _RUN.format(""), 498_682, ("price",)),
    Workload(
        "w3 skip",
        "SUBSCRIBE w3 FROM ticks PER name " + _RUN.format("AFTER MATCH SKIP PAST LAST"),
        200_625,
        ("price",),
    ),
    Workload("w4", f"SUBSCRIBE w4 FROM ticks MATCH a , b , c {_RISE}", 40_462, ("price",)),
    Workload(
        "w5",
        "SUBSCRIBE w5 FROM ticks MATCH a ; b ; c DEFINE a AS volume BETWEEN 1 AND 20, "
        "b AS volume BETWEEN 101 AND 120, c AS volume BETWEEN 201 AND 220 WITHIN 1999;",
        156_930,
        ("volume",),
    ),
    *(
        Workload(f"w6 N={rows:,}", _TEMPLATE, matches, ("price", "volume"), rows)
        for rows, matches in ((1, 260), (10, 2_439), (100, 24_731), (1_000, 258_692), (100_000, None))
    ),
)


STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;\n"

#: Those that are run with forecasts too, which learn as they go.
FORETOLD = ("w1", "w2")

#: Those that are pushed as a live system would: in batches of so many events, and so many events each alone.
LIVE = ("w1", "w3")
BATCH, SINGLE = 10_000, 2_000

#: The least notifications whose JSON lines are measured.
MANY = 10_000


def measure() -> Iterator[BenchResult]:
    """A start, and each workload; the best of some runs, every one on an engine of its own."""
    yield _start()
    table = ticks(EVENTS)
    loaded = read(table, StreamDeclaration("ticks", {"ts": Type.INT}, "ts", open=True))
    # Strings come dictionary-encoded, as Parquet delivers them.
    named = loaded.table["name"].dictionary_encode()
    position = loaded.table.column_names.index("name")
    loaded = replace(loaded, table=loaded.table.set_column(position, "name", named))
    for workload in WORKLOADS:
        both = [workload, workload.with_forecasts()] if workload.name in FORETOLD else [workload]
        runs = [_Runs(variant, loaded) for variant in both]
        for _ in range(RUNS):  # one after the other, so that both meet the machine as it is
            for measured in runs:
                measured.run(loaded)
        for measured in runs:
            limit = EVENTS / bare(table, workload.columns)
            part = runs[0].busy / measured.busy if measured is not runs[0] else None
            name, best = measured.workload.name, measured.seconds
            yield BenchResult("engine", name, EVENTS, best, EVENTS / best, measured.found, limit, of_plain=part)
        if workload.matches is not None:
            yield from _public(both, table.set_column(position, "name", named))
        else:  # its notifications are too many for one table
            pushed = _push_time(workload, [table.set_column(position, "name", named)])
            yield BenchResult("engine", f"{workload.name}: push", EVENTS, pushed, EVENTS / pushed)
        if workload.name in LIVE:
            yield from _live(workload, table.set_column(position, "name", named))
    yield from _polars()


def _public(variants: Sequence[Workload], table: pa.Table) -> Iterator[BenchResult]:
    """The public calls, by processor time: from Arrow to notifications, and to Arrow."""
    calls = [_PublicCall(workload) for workload in variants]
    for _ in range(RUNS):
        for call in calls:
            call.run(table)
    for call in calls:
        name, matches = call.workload.name, call.workload.matches
        for label, seconds, plain in (
            ("push", call.pushed, calls[0].pushed),
            ("push, to_arrow", call.encoded, calls[0].encoded),
        ):
            part = None if call is calls[0] else plain / seconds
            yield BenchResult("engine", f"{name}: {label}", EVENTS, seconds, EVENTS / seconds, matches, of_plain=part)
    name, rows, written = calls[0].workload.name, calls[0].notifications, calls[0].written
    each = calls[0].encoded_bytes / rows
    note = f"{each:.0f} bytes per notification"
    yield BenchResult("engine", f"{name}: memory", rows, calls[0].encoded, rows / calls[0].encoded, matches, note=note)
    if rows >= MANY:
        yield BenchResult("engine", f"{name}: JSON lines out", rows, written, rows / written, rows)


class _PublicCall:
    """The calls of one workload: the least processor time of `push`, with `to_arrow`, and of `lines` alone."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.pushed = self.encoded = self.written = math.inf
        self.notifications = self.encoded_bytes = 0
        self._tables = {"row": _rows(workload.rows)} if workload.rows else None

    def run(self, table: pa.Table) -> None:
        engine = Engine(STREAM + self.workload.text, tables=self._tables)
        started = time.process_time()
        found = engine.push("ticks", table)
        self.pushed = min(self.pushed, time.process_time() - started)
        encoded = found.to_arrow()
        self.encoded = min(self.encoded, time.process_time() - started)
        self.encoded_bytes = encoded.nbytes
        started = time.process_time()
        self.notifications = sum(text.count(b"\n") for text in found.lines())
        self.written = min(self.written, time.process_time() - started)
        matches = found.summary.notifications[self.workload.statement].get("match", 0)
        if not encoded.num_rows == len(found) == self.notifications or matches != self.workload.matches:
            raise AssertionError(f"{self.workload.name}: {matches:,} matches, {self.workload.matches:,} are right")


def _polars() -> Iterator[BenchResult]:
    """The workloads that polars can say, by processor time."""
    for name, (seconds, matches) in polars_seconds(EVENTS).items():
        yield BenchResult("engine", name, EVENTS, seconds, EVENTS / seconds, matches)


def _live(workload: Workload, table: pa.Table) -> Iterator[BenchResult]:
    """Batches of a live system: 10,000 events, and single events, by processor time."""
    batches = [table.slice(first, BATCH) for first in range(0, EVENTS, BATCH)]
    whole = _push_time(workload, [table]) / EVENTS
    each = _push_time(workload, batches) / EVENTS
    note = f"{1e9 * each:,.1f} ns per event, {each / whole:.1f} times that of a million at once"
    yield BenchResult("engine", f"{workload.name}: push, batches of {BATCH:,}", EVENTS, each, 1 / each, note=note)
    rows = [table.slice(row, 1) for row in range(SINGLE)]
    for form, events in (("Arrow", rows), ("dict", [row.to_pylist() for row in rows])):
        alone = _push_time(workload, events) / SINGLE
        note = f"{1e6 * alone:,.0f} µs"
        yield BenchResult("engine", f"{workload.name}: push, one event ({form})", 1, alone, 1 / alone, note=note)


def _push_time(workload: Workload, batches: Sequence[object]) -> float:
    """The processor time of pushes to one engine; the least of some runs."""
    best = math.inf
    for _ in range(RUNS):
        engine = Engine(STREAM + workload.text, tables={"row": _rows(workload.rows)} if workload.rows else None)
        started = time.process_time()
        for batch in batches:
            engine.push("ticks", batch)
        best = min(best, time.process_time() - started)
    return best


class _Runs:
    """The runs of one workload: the fewest seconds, the least processor time, and what was found."""

    def __init__(self, workload: Workload, loaded: EventBatch) -> None:
        self.workload = workload
        self.seconds = self.busy = math.inf
        self.found = 0
        self._tables = {"row": read_table(_rows(workload.rows), "row")} if workload.rows else {}
        types = {name: table.types for name, table in self._tables.items()}
        self._checked = parse(workload.text).checked({"ticks": loaded.schema}, types)

    def run(self, loaded: EventBatch) -> None:
        workload = self.workload
        engine = start_runtime(
            self._checked, self._tables, observers=ForecasterFactory() if workload.forecasts else NO_OBSERVERS
        )
        started, busy = time.perf_counter(), time.process_time()
        results = engine.process({"ticks": loaded})
        self.busy = min(self.busy, time.process_time() - busy)
        self.seconds = min(self.seconds, time.perf_counter() - started)
        self.found = sum(result.notification_count for result in results if result.forecasts is None)
        if workload.matches is not None and self.found != workload.matches:
            raise AssertionError(f"{workload.name}: {self.found:,} matches, {workload.matches:,} are right")


_START = f"""
import foretell as ft
engine = ft.Engine("STREAM s (k STRING, price FLOAT, time INT) TIME time;"
                   "SUBSCRIBE m FROM s PER k MATCH a , b , c {_RISE}")
engine.push("s", [{{"time": 1, "k": "a", "price": 1.0}}])
"""


def _start() -> BenchResult:
    """A new process from its beginning to its end, with an engine that takes one event; its kernels are kept."""
    command = [sys.executable, "-c", _START]
    subprocess.run(command, check=True)  # now they are
    best = min(_timed(lambda: subprocess.run(command, check=True)) for _ in range(RUNS))
    return BenchResult("engine", "second start", 1, best, 1 / best)


def _rows(count: int) -> pa.Table:
    """The subscribers of w6: a name each in turn, and a volume that falls by one for every hundred."""
    names = [f"S{i % 100:02d}" for i in range(count)]
    volumes = [900 - i // 100 for i in range(count)]
    return pa.table({"id": list(range(count)), "name": names, "volume": volumes})


def bare(table: pa.Table, names: tuple[str, ...]) -> float:
    """The seconds in which a compiled loop reads the columns."""
    columns = [table[name].to_numpy() for name in names]
    return min(_timed(lambda: [_read(column) for column in columns]) for _ in range(RUNS))


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@compiled
def _read(column: Any) -> float:
    total = 0.0
    for i in range(column.size):
        total += column[i]
    return total

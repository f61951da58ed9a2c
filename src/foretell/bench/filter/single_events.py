"""Subscriptions on single events, F1 to F3, beside joins of events with subscriptions by Polars and DuckDB.

Batches go to Foretell, Polars, DuckDB and a bare loop in turn, all in one process, on one core and by processor time.
Of Foretell a reader's columns are made too (`to_arrow`). All must find the same matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from foretell.bench.filter.bare_loop import BareLoop, matched_times
from foretell.bench.filter.digests import digest, digest_of
from foretell.bench.filter.engine_runs import Pushes, affordable_batches, loaded, timed
from foretell.bench.filter.joins import Join, installed_joins
from foretell.bench.growth.curves import LONGEST, Point
from foretell.bench.growth.harness import in_new_process
from foretell.bench.workloads.conjunctions import WORKLOADS, Conjunctions

SIZES = (1_000, 100_000, 1_000_000)
BATCH = 100_000
EVENTS, FEWER_EVENTS = 1_000_000, 200_000


@dataclass(frozen=True)
class SystemRate:
    """The speed of one system."""

    system: str
    events: int
    seconds: float
    matches: int


@dataclass(frozen=True)
class SingleEventRun:
    """All systems on one table of subscriptions; `seconds` and `nbytes` are those of loading it into an engine."""

    seconds: float
    nbytes: int
    rates: tuple[SystemRate, ...]


def measure(quick: bool) -> Iterator[Point]:
    for workload in WORKLOADS:
        before: tuple[int, float] | None = None
        for count in (100, 1_000) if quick else SIZES:
            if before is not None and before[1] * count / before[0] > LONGEST:  # assuming linear growth
                note = f"left out: {before[0]:,} subscriptions took {before[1]:.0f} s to load"
                yield Point("filter", f"{workload.name}, {count:,}", 0, 0.0, 0.0, note=note)
                break
            events = 2_000 if quick else EVENTS if count < 1_000_000 else FEWER_EVENTS
            run: SingleEventRun = in_new_process(measured, workload.name, count, events)
            before = count, run.seconds
            yield from _points(workload, count, run)


def _points(workload: Conjunctions, count: int, run: SingleEventRun) -> Iterator[Point]:
    case = f"{workload.name}, {count:,}"
    limit = next(rate for rate in run.rates if rate.system == BareLoop.name)
    for rate in run.rates:
        speed = rate.events / rate.seconds
        yield Point(
            "filter",
            f"{case}: {rate.system}",
            rate.events,
            rate.seconds,
            speed,
            rate.matches,
            limit=limit.events / limit.seconds,
            figure=workload.name.lower(),
            curve=rate.system,
            x=count,
            y=round(speed),
            unit="/s",
        )
    note = f"{run.seconds:.2f} s of processor time, {run.nbytes / 1e6:,.0f} MB"
    yield Point("filter", f"{case}: load", count, run.seconds, count / run.seconds, note=note)


def measured(name: str, count: int, most: int, size: int = BATCH) -> SingleEventRun:
    """All systems on one table of subscriptions, in this process."""
    workload = next(w for w in WORKLOADS if w.name == name)
    subscriptions = workload.subscriptions(count)
    ready = loaded(workload.text, {"wanted": subscriptions}, workload.events)
    joins = installed_joins(workload, subscriptions)
    bare = BareLoop(workload, subscriptions)
    bare.matches(bare.prepared(workload.events(1)))  # compiles it
    for join in joins:
        join.matches(workload.events(1_000))
    pushes = Pushes()
    systems: list[tuple[str, _Matching]] = [(join.name, partial(_joined, join)) for join in joins]
    systems.append((bare.name, partial(_looped, bare)))
    seconds, matches = dict.fromkeys(dict(systems), 0.0), dict.fromkeys(dict(systems), 0)
    for batch in affordable_batches(ready.engine, workload.events, most, size):
        pushes.add(ready.engine, batch)
        for system, matching in systems:
            found, spent, count_found = matching(batch)
            seconds[system] += spent
            matches[system] += count_found
            if found != pushes.digests[-1]:
                message = f"{name}, {count:,} subscriptions: {system} finds other matches than the engine"
                raise AssertionError(message)
    rates = [
        SystemRate("push", pushes.events, pushes.pushed, pushes.matches),
        SystemRate("push, to_arrow", pushes.events, pushes.read, pushes.matches),
        *(SystemRate(system, pushes.events, spent, matches[system]) for system, spent in seconds.items()),
    ]
    return SingleEventRun(ready.seconds, ready.nbytes, tuple(rates))


#: The digest of the matches of a batch, the processor time that they took, and how many there are.
_Matching = Callable[[pa.Table], tuple[int, float, int]]


def _joined(join: Join, batch: pa.Table) -> tuple[int, float, int]:
    table, spent = timed(partial(join.matches, batch))
    return digest_of(table, "time", "id"), spent, table.num_rows


def _looped(bare: BareLoop, batch: pa.Table) -> tuple[int, float, int]:
    """The columns that the loop reads are made before."""
    table, spent = timed(partial(bare.matches, bare.prepared(batch)))
    return digest(matched_times(table, batch), np.asarray(table["id"].to_numpy())), spent, table.num_rows

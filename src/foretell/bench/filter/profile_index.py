"""The profile index by itself: processor time of one core, columns in and numbers of profiles out.

The workloads of single events with 1,000 to a million profiles; profiles that come and go while events are matched; and
what the planner makes of events that are not as it assumed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.bench.filter.bare_loop import BareLoop
from foretell.bench.result import BenchResult
from foretell.bench.workloads.conjunctions import F1, WORKLOADS, Conjunctions
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Type
from foretell.filter.arrow_conversion import column_from_arrow
from foretell.filter.column import Column, no_nulls
from foretell.filter.planned_index import PlannedIndex
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import ProfileComparison
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Attribute, This

COUNTS, QUICK_COUNTS = (1_000, 100_000, 1_000_000), (1_000, 10_000)
EVENTS, QUICK_EVENTS = 200_000, 10_000
RUNS = 4

Columns = Mapping[str, Column]


def measure(quick: bool = False) -> Iterator[BenchResult]:
    counts, events = (QUICK_COUNTS, QUICK_EVENTS) if quick else (COUNTS, EVENTS)
    for workload in WORKLOADS:
        for count in counts:
            yield _matching(workload, count, events)
    for count in counts[1:]:
        yield from _changes(F1, count, counts[0] if quick else 100_000)
    yield from _choices(events)


# ── workloads as columns ───────────────────────────────────────────────────────────────────────────────────────────


def comparisons_of(workload: Conjunctions) -> list[ProfileComparison]:
    """The comparisons of a workload's statement."""
    found = []
    for name in workload.sizes:
        kind = Type.STRING if name in workload.texts else Type.INT
        found.append(_comparison(name, kind, "=", name, name if workload.optional else None))
    for name in workload.bounded:
        if workload.closed:
            waived_by = f"{name}_from" if workload.optional else None
            found.append(_comparison(name, Type.FLOAT, ">=", f"{name}_from", waived_by))
            found.append(_comparison(name, Type.FLOAT, "<=", f"{name}_to", waived_by))
        else:
            found.append(_comparison(name, Type.FLOAT, ">", f"{name}_above", None))
    return found


def _comparison(name: str, kind: Type, operator: str, parameter: str, waived_by: str | None) -> ProfileComparison:
    return ProfileComparison(Attribute(This(), name), kind, operator, parameter, waived_by=waived_by)


def columns_of(table: pa.Table, strings: StringDictionary) -> Columns:
    return {name: _column(table[name], strings) for name in table.column_names}


def _column(values: ArrowArray, strings: StringDictionary) -> Column:
    if pa.types.is_string(values.type):
        return column_from_arrow(values, Type.STRING, strings)
    kind = Type.FLOAT if pa.types.is_floating(values.type) else Type.INT
    return column_from_arrow(values, kind, strings)


def _events(columns: Columns) -> EventColumns:
    """A new batch, of which nothing is evaluated yet."""
    when = columns["time"]
    return EventColumns(columns, {name: column.kind for name, column in columns.items()}, when, when, when)


def _part(columns: Columns, begin: int, stop: int) -> Columns:
    return {n: Column(c.kind, c.values[begin:stop], c.nulls[begin:stop]) for n, c in columns.items()}


# ── speed ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _matching(workload: Conjunctions, count: int, events: int) -> BenchResult:
    strings = StringDictionary()
    table, batch = workload.subscriptions(count), workload.events(events)
    columns, parameters = columns_of(batch, strings), columns_of(table.drop(["id"]), strings)
    started = time.process_time()
    index = PlannedIndex(comparisons_of(workload), parameters)
    index.match(_events(_part(columns, 0, 0)), strings)
    built = time.process_time() - started
    seconds, matches = _best(index, columns, strings)
    limit = events / _seconds_of_loop(workload, table, batch, matches)
    note = (
        f"{events / seconds:,.0f} /s, {seconds / events * 1e9:,.0f} ns and {matches / events:.2f} matches an event; "
        f"built in {built:.2f} s, {index.nbytes / 1e6:.1f} MB; a bare loop {limit:,.0f} /s; {index.summary}"
    )
    case = f"index, {workload.name}, {count:,}"
    return BenchResult("filter", case, events, seconds, events / seconds, matches, limit, note, processor=seconds)


def _best(index: PlannedIndex, columns: Columns, strings: StringDictionary) -> tuple[float, int]:
    """The least processor time of several runs over the events, and their matches."""
    best, matches = float("inf"), 0
    for _ in range(RUNS):
        events = _events(columns)
        started = time.process_time()
        matches = sum(len(part.profiles) for part in index.slices(events, strings))
        best = min(best, time.process_time() - started)
    return best, matches


def _seconds_of_loop(workload: Conjunctions, table: pa.Table, batch: pa.Table, matches: int) -> float:
    """The processor time of a bare loop, which must find as many matches."""
    loop = BareLoop(workload, table)
    columns = loop.prepared(batch)
    found = loop.matches(columns).num_rows
    if found != matches:
        raise ValueError(f"{workload.name}: the index finds {matches:,} matches and a bare loop {found:,}")
    started = time.process_time()
    loop.matches(columns)
    return time.process_time() - started


# ── changes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _changes(workload: Conjunctions, count: int, changes: int) -> Iterator[BenchResult]:
    """Profiles added and removed, in bulk with a batch of a thousand events after each ten thousand, and one by one
    with ten events after every tenth."""
    strings = StringDictionary()
    columns = columns_of(workload.events(1_000), strings)
    parameters = columns_of(workload.subscriptions(count + changes).drop(["id"]), strings)
    for case, each, events, every in (("in bulk", 10_000, 1_000, 1), ("one by one", 1, 10, 10)):
        index = PlannedIndex(comparisons_of(workload), _part(parameters, 0, count))
        batch = _part(columns, 0, events)
        index.match(_events(batch), strings)
        stops = range(count, count + (changes if each > 1 else min(changes, 10_000)) + 1, min(each, changes))
        parts = [_part(parameters, begin, stop) for begin, stop in pairwise(stops)]
        added: list[Ints] = []
        for change in ("added", "removed"):
            started, longest = time.process_time(), 0.0
            for number, part in enumerate(parts):
                before = time.process_time()
                if change == "added":
                    added.append(index.add(part))
                else:
                    index.remove(added[number])
                if number % every == 0:
                    index.match(_events(batch), strings)
                longest = max(longest, time.process_time() - before)
            seconds = time.process_time() - started
            total = stops[-1] - count
            note = f"{total / seconds:,.0f} a second with the matching in between, the longest {longest * 1e3:.0f} ms"
            name = f"index, {workload.name}, {count:,}: {change} {case}"
            yield BenchResult("filter", name, total, seconds, total / seconds, note=note, processor=seconds)


# ── the planner ────────────────────────────────────────────────────────────────────────────────────────────────────


def _choices(events: int) -> Iterator[BenchResult]:
    """Workloads for which the planner changes its mind: the time at first, and once it has seen the events."""
    chance = np.random.default_rng(1)
    for name, comparisons, parameters, columns in (_thresholds(chance, events), _boxes(chance, events)):
        strings = StringDictionary()
        index = PlannedIndex(comparisons, parameters)
        parts = [_part(columns, begin, begin + events // 100) for begin in range(0, events, events // 100)]
        first = _matching_time(index, parts[:1], strings)
        for _ in range(20):
            _matching_time(index, parts, strings)
        later = _matching_time(index, parts, strings)
        ns = [seconds * 1e9 / count for seconds, count in ((first, events // 100), (later, events))]
        note = f"{ns[0]:,.0f} ns an event at first, later {ns[1]:,.0f}: {index.summary}"
        yield BenchResult("filter", f"index, choice: {name}", events, later, events / later, note=note, processor=later)


def _matching_time(index: PlannedIndex, parts: list[Columns], strings: StringDictionary) -> float:
    started = time.process_time()
    for part in parts:
        index.match(_events(part), strings)
    return time.process_time() - started


Choice = tuple[str, list[ProfileComparison], Columns, Columns]


def _thresholds(chance: np.random.Generator, events: int) -> Choice:
    """Two thresholds, of which nearly all events reach one and nearly none the other."""
    count = 10_000
    comparisons = [_comparison(name, Type.FLOAT, ">", name, None) for name in ("x", "y")]
    parameters = {name: Column(Type.FLOAT, chance.random(count), no_nulls(count)) for name in ("x", "y")}
    columns = {"time": _ints(np.arange(events))}
    columns["x"] = Column(Type.FLOAT, 0.001 * chance.random(events), no_nulls(events))
    columns["y"] = Column(Type.FLOAT, 1 - 0.001 * chance.random(events), no_nulls(events))
    return "thresholds", comparisons, parameters, columns


def _boxes(chance: np.random.Generator, events: int) -> Choice:
    """A hundred profiles with ranges of a tenth of three attributes."""
    count = 100
    comparisons: list[ProfileComparison] = []
    parameters: dict[str, Column] = {}
    columns = {"time": _ints(np.arange(events))}
    for name in ("x", "y", "z"):
        comparisons.append(_comparison(name, Type.INT, ">=", f"{name}_from", None))
        comparisons.append(_comparison(name, Type.INT, "<=", f"{name}_to", None))
        begin = chance.integers(0, 9_000, count)
        parameters |= {f"{name}_from": _ints(begin), f"{name}_to": _ints(begin + 1_000)}
        columns[name] = _ints(chance.integers(0, 10_000, events))
    return "boxes", comparisons, parameters, columns


def _ints(values: Ints) -> Column:
    return Column(Type.INT, np.ascontiguousarray(values, np.int64), no_nulls(len(values)))

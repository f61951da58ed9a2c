"""`foretell bench forecast`: the experiments of P-ToPSS, section 6, on its own workloads.

Fig. 9 is about matching: states and time against the number of subscriptions, of `;`, of steps, of distinct events.
Figs. 10 and 11 are about forecasts (bench/ptopss/experiments.py).

The paper's subscriptions have no window, and its automata only report that a state is reached. Here every combination
of events is a match, so that a partial match which waits forever after `;` would match again and again. Where time is
measured, the statements therefore have a window of a few planted sequences.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from foretell.bench.growth.curves import Point
from foretell.bench.ptopss.experiments import Backtest, heat_waves, synthetic, train_and_backtest
from foretell.bench.ptopss.merged_graph import merged, transitions
from foretell.bench.workloads.planted_patterns import Composites, composites, planted
from foretell.engine.planning import start_runtime
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import parse
from foretell.plan.explain import Codes
from foretell.plan.sharing_report import sharing_report

WITHIN = 500  # events
RUNS = 2
WORKLOADS = {"uniform_cs": False, "gaussian_cs": True}
STREAMS = {"uniform_pub": False, "gaussian_pub": True}


def measure(quick: bool, backtest: Backtest = train_and_backtest) -> Iterator[Point]:
    """All figures. `quick` makes them small: they then only show that the program works."""
    for experiment in (measure_subscriptions, measure_waits, measure_lengths, measure_pool, measure_transitions):
        yield from experiment(quick)
    yield from synthetic(quick, backtest)
    yield from heat_waves(quick, backtest)


def _point(figure: str, curve: str, x: float, y: float, unit: str = "", **measured: Any) -> Point:
    events, seconds = measured.get("events", 0), measured.get("seconds", 0.0)
    rate = events / seconds if seconds else 0.0
    case = f"{figure}: {curve}, {x:,g}"
    return Point(
        "forecast",
        case,
        events,
        seconds,
        rate,
        measured.get("matches"),
        figure=figure,
        curve=curve,
        x=x,
        y=y,
        unit=unit,
    )


# ── Fig. 9 (a), (b): the number of subscriptions ──


def measure_subscriptions(quick: bool) -> Iterator[Point]:
    cases = (("pool of 10", 10, False), ("pool of 50", 50, False), ("pool of 100", 100, False))
    for curve, pool, gaussian in (*cases, ("pool of 50, gaussian_cs", 50, True)):
        for count in (20, 40) if quick else (125, 250, 500, 1000):
            subscriptions = composites(count, pool=pool, gaussian=gaussian)
            yield _point("fig9a", curve, count, merged(subscriptions).states, "states")
            yield _timed("fig9b", curve, count, subscriptions, quick)
            if pool == 50 and not gaussian:
                yield _point(
                    "fig9a", "pool of 50, as the engine merges", count, _states_in_engine(subscriptions), "states"
                )


def _states_in_engine(subscriptions: Composites) -> int:
    statements = parse(subscriptions.text(within=WITHIN)).checked().statements
    return sharing_report([s for s in statements if isinstance(s, CheckedSubscription)], Codes()).states_together


def _timed(figure: str, curve: str, x: float, subscriptions: Composites, quick: bool) -> Point:
    """Processor time per event, the best of several runs, each in a new runtime that has taken some events before: its
    first batch flattens its NFAs."""
    stream = planted(subscriptions).events
    before = _loaded(stream.slice(0, WITHIN))
    loaded = _loaded(stream.slice(WITHIN, 1_000 if quick else 50_000))
    checked = parse(subscriptions.text(within=WITHIN)).checked({"events": loaded.schema})
    best, matches = float("inf"), 0
    for _ in range(1 if quick else RUNS):
        runtime = start_runtime(checked, {})
        runtime.process({"events": before})
        started = time.process_time()
        results = runtime.process({"events": loaded})
        best = min(best, time.process_time() - started)
        matches = sum(result.notification_count for result in results)
    events = loaded.table.num_rows
    return _point(figure, curve, x, best / events, "s", events=events, seconds=best, matches=matches)


def _loaded(events: pa.Table) -> EventBatch:
    return read(events, StreamDeclaration("events", {}, "time", open=True))


# ── Fig. 9 (c): the number of non-contiguous operators ──


def measure_waits(quick: bool) -> Iterator[Point]:
    for curve, gaussian in WORKLOADS.items():
        for waits in (1, 4) if quick else (0, 1, 2, 3, 4, 5, 6, 7, 8):
            subscriptions = composites(20 if quick else 500, waits=waits, gaussian=gaussian)
            yield _timed("fig9c", curve, waits, subscriptions, quick)


# ── Fig. 9 (d): the number of steps ──


def measure_lengths(quick: bool) -> Iterator[Point]:
    for curve, gaussian in WORKLOADS.items():
        for length in (3, 5) if quick else (3, 4, 5, 6, 8, 10, 12, 15, 20):
            graph = merged(composites(length=length, gaussian=gaussian))
            yield _point("fig9d", f"{curve}, shared states", length, 100 * graph.shared / graph.unmerged, "%")
            saved = 100 * (1 - graph.states / graph.unmerged)
            yield _point("fig9d", f"{curve}, states saved", length, saved, "%")


# ── Fig. 9 (e), (f): the size of the event pool ──


def measure_pool(quick: bool) -> Iterator[Point]:
    for curve, gaussian in WORKLOADS.items():
        for pool in (10, 20) if quick else (10, 20, 30, 50, 70, 100):
            yield _point("fig9e", curve, pool, merged(composites(pool=pool, gaussian=gaussian)).states, "states")


def measure_transitions(quick: bool) -> Iterator[Point]:
    """Over the whole stream, with 20 partial and 20 full matches of each subscription."""
    for workload, gaussian in WORKLOADS.items():
        for stream, shorter in STREAMS.items():
            for pool in (10, 20) if quick else (10, 20, 30, 50, 70, 100):
                subscriptions = composites(20 if quick else 1000, pool=pool, gaussian=gaussian)
                kinds = planted(subscriptions, gaussian=shorter).events["kind"].to_numpy()
                taken = transitions(merged(subscriptions), kinds)
                yield _point("fig9f", f"{workload}, {stream}", pool, taken, "transitions")

"""`foretell bench growth`: how the time for an event grows with windows, lanes, subscriptions, partial matches.

Every curve comes with the exponent of its growth: the slope of its points where both axes are logarithmic, of all of
them and of the last decade alone, since what is cheap at first may be steep at the end. An exponent of 1 is linear.
What becomes too slow or too large is left out, with a note, so that a curve that explodes does not take the machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.bench.engine import bare
from foretell.bench.growth.curves import LARGEST, Point, Sample, Samples, curves, decades, left_out
from foretell.bench.workloads.ticks import ticks
from foretell.engine import Engine
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.template_tables import TemplateTable, read_table
from foretell.language.subscriptions import parse
from foretell.machine.runtime import MatchRuntime

RUNS = 3
BATCH = 1_000_000  # no batch is larger, so that memory is what the engine keeps and not what it is given


def measure(quick: bool) -> Iterator[Point]:
    """All curves. Quick ones are short and say little; they show that the program works."""
    for part in (_windows, _ages, _lanes, _templates, _statements, _partial_matches, _batches, _subscribing, _starting):
        yield from part(quick)


# ── an engine and its events ──


def _loaded(table: pa.Table) -> EventBatch:
    return read(table, StreamDeclaration("ticks", {}, "ts", open=True))


def _engine(text: str, loaded: EventBatch, tables: Mapping[str, TemplateTable] | None = None) -> MatchRuntime:
    """Statements at work in process, the notifications as columns."""
    given = tables or {}
    checked = parse(text).checked({"ticks": loaded.schema}, {name: table.types for name, table in given.items()})
    return MatchRuntime(checked, given)


def _fed(engine: MatchRuntime, loaded: EventBatch) -> tuple[float, int]:
    """Seconds and matches."""
    started = time.perf_counter()
    told = engine.tell({"ticks": loaded})
    return time.perf_counter() - started, sum(one.notification_count for one in told)


def _best(text: str, loaded: EventBatch, tables: Mapping[str, TemplateTable] | None = None) -> tuple[float, int]:
    """The same, the best of some runs, each on an engine of its own. One long run is as good as several."""
    best, matches = _fed(_engine(text, loaded, tables), loaded)
    for _ in range(RUNS - 1 if best < 2 else 0):
        best = min(best, _fed(_engine(text, loaded, tables), loaded)[0])
    return best, matches


def _keyed(first: int, keys: Any) -> pa.Table:
    """Trades like the ticks, with keys of one's own: a price between 50 and 150, a volume of 1 to 1000."""
    count = len(keys)
    random = np.random.default_rng(first)
    columns: dict[str, Any] = {
        "ts": np.arange(first, first + count),
        "k": keys,
        "price": random.uniform(50, 150, count),
        "volume": random.integers(1, 1001, count),
    }
    return pa.table(columns)


def _apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function in a process of its own, whose memory is its alone."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _resident() -> int:
    """The bytes of memory this process has (0 where there is no /proc). Too many are an error."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    used = pages * os.sysconf("SC_PAGE_SIZE")
    if used > LARGEST:
        raise MemoryError
    return used


# ── 1: the length of the window ──

_MATCH = "MATCH a ; b ; c DEFINE a AS volume BETWEEN 1 AND 20, b AS volume BETWEEN 101 AND 120, c AS {} WITHIN {}"
_WINDOW = f"SUBSCRIBE w FROM ticks {_MATCH};"
_OFTEN, _RARELY = "volume BETWEEN 201 AND 220", "volume = 201 AND price > 149.9"
_NEVER = "price > 1000"


def _windows(quick: bool) -> Iterator[Point]:
    loaded = _loaded(ticks(20_000 if quick else 200_000))
    count = loaded.table.num_rows
    limit = count / bare(loaded.table, ("volume",))

    def matching(within: int) -> Samples:
        seconds, matches = _best(_WINDOW.format(_OFTEN, within), loaded)
        return {
            ("window", "per event"): Sample(count, seconds, seconds / count, matches, limit),
            ("window", "per event and match"): Sample(count, seconds, seconds / (count + matches), matches, limit),
        }

    def keeping(within: int) -> Samples:
        seconds, matches = _best(_WINDOW.format(_RARELY, within), loaded)
        return {("window-kept", "per event"): Sample(count, seconds, seconds / count, matches, limit)}

    yield from curves(decades(100, 2_000 if quick else 20_000, (1, 2, 5)), matching)
    yield from curves(decades(100, 10_000 if quick else 1_000_000, (1, 3)), keeping)


_AGES = {
    "what has left a window": f"SUBSCRIBE w FROM ticks {_MATCH.format(_NEVER, 200)};",
    "while some lanes wait": "SUBSCRIBE w FROM ticks PER k MATCH a , b DEFINE a AS price < 60, b AS price > a.price;",
}


def _ages(quick: bool) -> Iterator[Point]:
    """A stream that goes on: neither what has left the window nor a lane left alone may make later events dearer."""
    for name, text in _AGES.items():
        aged: dict[int, Samples] = _apart(_aged, name, text, *((1_000, 50) if quick else (10_000, 200)))
        yield from curves(sorted(aged), aged.__getitem__)


def _aged(name: str, text: str, size: int, batches: int) -> dict[int, Samples]:
    random = np.random.default_rng(size)
    # A hundred lanes get one event each and then no more; some of them wait for another from then on.
    engine = _engine(text, first := _loaded(_keyed(0, -np.arange(1, 101))))
    _fed(engine, first)
    found: dict[int, Samples] = {}
    base, timed = 0, []
    told = set(np.geomspace(5, batches, 9).astype(int).tolist())
    for number in range(1, batches + 1):
        timed.append(_fed(engine, _loaded(_keyed(number * size, random.integers(0, 100, size)))))
        base = base or _resident()  # with all kernels loaded
        if number in told:
            seconds, matches = sorted(timed[-5:])[2]  # now and then Python collects its garbage
            kept = max(1, _resident() - base)
            found[number * size] = {
                ("age", name): Sample(size, seconds, seconds / size, matches),
                ("age-memory", name): Sample(size, seconds, kept, matches, unit="B"),
            }
    return found


# ── 2: the number of lanes ──

_LANES = {
    "a , b , c": "MATCH a , b , c DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price",
    "a ;{θ} b ;{θ} c": "MATCH a ;{volume > 900 AND price > a.price} b ;{volume < 100} c DEFINE a AS volume > 900",
}


def _lanes(quick: bool) -> Iterator[Point]:
    most, events = (10_000, 5_000) if quick else (10_000_000, BATCH)
    for name, pattern in _LANES.items():
        text = f"SUBSCRIBE w FROM ticks PER k {pattern};"

        def one(lanes: int, name: str = name, text: str = text) -> Samples:
            found: Samples = _apart(_in_lanes, name, text, lanes, events)
            return found

        yield from curves(decades(1, most), one)


def _in_lanes(name: str, text: str, lanes: int, events: int) -> Samples:
    """Opens all lanes, then times events of any of them, then single ones."""
    random = np.random.default_rng(lanes)
    warm = _loaded(_keyed(0, np.arange(100)))
    _fed(_engine(text, warm), warm)
    engine, base = _engine(text, warm), _resident()
    opening, clock = 0.0, 0
    for first in range(0, lanes, BATCH):
        loaded = _loaded(_keyed(clock, np.arange(first, min(first + BATCH, lanes))))
        opening += _fed(engine, loaded)[0]
        clock += loaded.table.num_rows
        _resident()
    kept = max(0, _resident() - base)
    timed = []
    for _ in range(RUNS):
        timed.append(_fed(engine, _loaded(_keyed(clock, random.integers(0, lanes, events)))))
        clock += events
    single = [_fed(engine, _loaded(_keyed(clock + i, random.integers(0, lanes, 1))))[0] for i in range(20)]
    seconds, matches = min(timed)
    latency = statistics.median(single)
    samples = {
        ("lanes", name): Sample(events, seconds, seconds / events, matches),
        ("lanes-opening", name): Sample(lanes, opening, opening / lanes),
        ("lanes-push", name): Sample(1, latency, latency),
    }
    if lanes >= 10_000:  # fewer are lost in the noise
        samples["lanes-memory", name] = Sample(lanes, opening, max(kept, 1) / lanes, unit="B")
    return samples


# ── 3: the number of subscriptions ──

_TEMPLATES = {
    "threshold in the first step": "MATCH a , b , c DEFINE a AS name = :name AND volume > :least, "
    "b AS price > a.price, c AS price > b.price",
    "threshold in the second step": "MATCH a , b , c DEFINE a AS volume > 990, "
    "b AS name = :name AND price > a.price + :more, c AS price > b.price",
}


def _templates(quick: bool) -> Iterator[Point]:
    loaded = _loaded(ticks(10_000 if quick else 200_000))
    count = loaded.table.num_rows
    for name, pattern in _TEMPLATES.items():
        text = f"SUBSCRIBE w FOR EACH row FROM ticks PER name {pattern};"

        def one(rows: int, name: str = name, text: str = text) -> Samples:
            tables = {"row": read_table(_rows(rows), "row")}
            started = time.perf_counter()
            _engine(text, loaded, tables)
            start = time.perf_counter() - started
            seconds, matches = _best(text, loaded, tables)
            return {
                ("template", name): Sample(count, seconds, seconds / count, matches),
                ("template-start", name): Sample(rows, start, start),
            }

        yield from curves(decades(1, 100 if quick else 1_000_000), one)


def _rows(count: int) -> pa.Table:
    """Subscribers: a name each in turn, and thresholds between those that a tenth of the events pass and that none."""
    number = np.arange(count)
    columns: dict[str, Any] = {
        "id": number,
        "name": [f"S{i % 100:02d}" for i in range(count)],
        "least": 900 + 100 * number / count,
        "more": 5 * number / count,
    }
    return pa.table(columns)


_STATEMENTS = {
    "first step in common": "SUBSCRIBE w{0} FROM ticks PER name MATCH a , b , c "
    "DEFINE a AS volume > 990, b AS price > a.price + {1}, c AS price > b.price + {1};",
    "nothing in common": "SUBSCRIBE w{0} FROM ticks PER name MATCH a , b , c "
    "DEFINE a AS name = 'S{2:02d}' AND volume > {3}, b AS price > a.price + {1}, c AS price > b.price + {1};",
}


def _statements(quick: bool) -> Iterator[Point]:
    loaded = _loaded(ticks(5_000 if quick else 100_000))
    count = loaded.table.num_rows
    for name, statement in _STATEMENTS.items():

        def one(several: int, name: str = name, statement: str = statement) -> Samples:
            text = "\n".join(statement.format(i, i / 1000, i % 100, 900 + i % 97) for i in range(several))
            started = time.perf_counter()
            _engine(text, loaded)
            start = time.perf_counter() - started
            seconds, matches = _best(text, loaded)
            return {
                ("statements", name): Sample(count, seconds, seconds / count, matches),
                ("statements-each", name): Sample(count, seconds, seconds / count / several, matches),
                ("statements-start", name): Sample(several, start, start),
            }

        yield from curves(decades(1, 30 if quick else 1_000, (1, 3)), one)


# ── 4: partial matches alive ──


def _partial_matches(quick: bool) -> Iterator[Point]:
    text = "SUBSCRIBE w FROM ticks MATCH a ; b DEFINE a AS kind = 1, b AS kind = 2 AND price > a.price;"

    def events(kind: int, price: float, count: int, first: int) -> EventBatch:
        columns: dict[str, Any] = {
            "ts": np.arange(first, first + count),
            "kind": np.full(count, kind),
            "price": np.full(count, price),
        }
        return _loaded(pa.table(columns))

    def one(alive: int) -> Samples:
        engine = _engine(text, events(1, 100.0, 1, 0))
        _fed(engine, events(1, 100.0, alive, 0))
        clock, found = alive, {}
        # Those that touch all are fewer, or they would take all the time there is.
        for name, kind, count in (
            ("touches none", 0, 100_000),
            ("touches all", 2, max(10, min(100_000, 10**7 // alive))),
        ):
            timed = []
            for _ in range(RUNS):
                timed.append(_fed(engine, events(kind, 50.0, count, clock)))
                clock += count
            seconds, matches = min(timed)
            found["partial", name] = Sample(count, seconds, seconds / count, matches)
        pushed = [_fed(engine, events(0, 50.0, 1, clock + i))[0] for i in range(20)]
        latency = statistics.median(pushed)
        return {**found, ("partial-push", "one event"): Sample(1, latency, latency)}

    yield from curves(decades(1, 1_000 if quick else 1_000_000), one)


# ── 5: the size of batches ──


def _batches(quick: bool) -> Iterator[Point]:
    count, most = (10_000, 100) if quick else (BATCH, 1_000)
    table = ticks(count)
    text = f"SUBSCRIBE w FROM ticks PER name {_LANES['a , b , c']};"
    makers: dict[str, Callable[[pa.Table], object]] = {
        "Arrow": lambda part: part,
        "dicts": lambda part: part.to_pylist(),
    }
    for name, maker in makers.items():

        def one(size: int, name: str = name, maker: Callable[[pa.Table], object] = maker) -> Samples:
            pushes = max(1, min(table.num_rows // size, most))
            engine = Engine(text, time={"ticks": "ts"})
            timed, matches = [], 0
            for batch in [maker(table.slice(i * size, size)) for i in range(pushes)]:
                started = time.perf_counter()
                matches += len(engine.push("ticks", batch))
                timed.append(time.perf_counter() - started)
            seconds, count = sum(timed), size * pushes
            latency = statistics.median(timed)
            return {
                ("batch", name): Sample(count, seconds, seconds / count, matches),
                ("push", name): Sample(count, seconds, latency, matches),
            }

        yield from curves(decades(1, table.num_rows), one)


# ── 6: subscribing, starting ──


def _subscribing(quick: bool) -> Iterator[Point]:
    """Adding one subscription to an engine at work."""
    if not hasattr(Engine, "subscribe"):
        yield left_out("subscribe", "one more", "left out: Engine has no `subscribe` yet")
        return
    statement = _STATEMENTS["nothing in common"]
    table = ticks(1_000)

    def one(several: int) -> Samples:
        text = "\n".join(statement.format(i, i / 1000, i % 100, 900 + i % 97) for i in range(several))
        engine: Any = Engine(text, time={"ticks": "ts"})
        engine.push("ticks", table.slice(0, 10))
        timed = []
        for i in range(several, several + RUNS):
            started = time.perf_counter()
            engine.subscribe(statement.format(i, i / 1000, i % 100, 900 + i % 97))
            timed.append(time.perf_counter() - started)
        return {("subscribe", "one more"): Sample(1, min(timed), min(timed))}

    yield from curves(decades(1, 10 if quick else 10_000), one)


_START = """
import time; marks = [time.perf_counter()]
import foretell as ft; ft.Engine; marks.append(time.perf_counter())
engine = ft.Engine("SUBSCRIBE w FROM s MATCH a , b DEFINE a AS v < 2, b AS v > a.v;", time={"s": "t"})
marks.append(time.perf_counter())
engine.push("s", [{"t": 1, "v": 1}, {"t": 2, "v": 2}]); marks.append(time.perf_counter())
engine.push("s", [{"t": 3, "v": 1}, {"t": 4, "v": 2}]); marks.append(time.perf_counter())
print(*(after - before for before, after in zip(marks, marks[1:])))
"""
_STAGES = ("import foretell", "Engine(...)", "first push", "second push")


def _starting(quick: bool) -> Iterator[Point]:
    """From nothing to the first notifications, in a new process that finds its kernels compiled."""
    _python("-c", _START)  # now they are
    runs = []
    for _ in range(1 if quick else RUNS):
        started = time.perf_counter()
        inside = [float(part) for part in _python("-c", _START).stdout.split()]
        runs.append((time.perf_counter() - started, inside))
    whole, inside = min(runs)
    yield _stage("start", "in all", whole)
    yield _stage("start", "Python's own start and end", whole - sum(inside))
    for name, seconds in zip(_STAGES, inside, strict=True):
        yield _stage("start", name, seconds)
    slowest = sorted(_import_times().items(), key=lambda one: -one[1])[:10]
    for package, seconds in slowest:
        yield _stage("imports", package, seconds)


def _stage(figure: str, name: str, seconds: float) -> Point:
    rate = 1 / max(seconds, 1e-9)
    return Point("growth", f"{figure}: {name}", 1, seconds, rate, figure=figure, curve=name, y=seconds)


def _import_times() -> dict[str, float]:
    """The seconds that each package takes to load, without what it loads of others."""
    said = _python("-X", "importtime", "-c", "import foretell; foretell.Engine").stderr
    seconds: dict[str, float] = {}
    for line in said.splitlines():
        own, _, name = line.removeprefix("import time:").split("|") if line.count("|") == 2 else ("", "", "")
        if own.strip().isdigit():
            package = name.strip().partition(".")[0]
            seconds[package] = seconds.get(package, 0.0) + int(own) / 1_000_000
    return seconds


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)

"""The time of one more `subscribe`, and from a new process to its first notification."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from foretell.bench.growth.curves import Point, Sample, Samples, curves, decades
from foretell.bench.growth.harness import RUNS
from foretell.bench.growth.subscriptions import STATEMENTS, statement
from foretell.bench.workloads.ticks import ticks
from foretell.engine import Engine


def subscribing(quick: bool) -> Iterator[Point]:
    """Adding one subscription to a running engine."""
    template = STATEMENTS["nothing in common"]
    table = ticks(1_000)

    def measure(count: int) -> Samples:
        text = "\n".join(statement(template, i) for i in range(count))
        engine = Engine(text, time={"ticks": "ts"})
        engine.push("ticks", table.slice(0, 10))
        timings = []
        for i in range(count, count + RUNS):
            started = time.perf_counter()
            engine.subscribe(statement(template, i))
            timings.append(time.perf_counter() - started)
        return {("subscribe", "one more"): Sample(1, min(timings), min(timings))}

    yield from curves(decades(1, 10 if quick else 10_000), measure)


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


def starting(quick: bool) -> Iterator[Point]:
    """A new process that finds its kernels in the disk cache, up to the first notifications."""
    _python("-c", _START)  # fills the cache
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
    slowest = sorted(_import_times().items(), key=lambda item: -item[1])[:10]
    for package, seconds in slowest:
        yield _stage("imports", package, seconds)


def _stage(figure: str, name: str, seconds: float) -> Point:
    rate = 1 / max(seconds, 1e-9)
    return Point("growth", f"{figure}: {name}", 1, seconds, rate, figure=figure, curve=name, y=seconds)


def _import_times() -> dict[str, float]:
    """The seconds that each package takes to load, without the packages it imports."""
    report = _python("-X", "importtime", "-c", "import foretell; foretell.Engine").stderr
    seconds: dict[str, float] = {}
    for line in report.splitlines():
        own, _, name = line.removeprefix("import time:").split("|") if line.count("|") == 2 else ("", "", "")
        if own.strip().isdigit():
            package = name.strip().partition(".")[0]
            seconds[package] = seconds.get(package, 0.0) + int(own) / 1_000_000
    return seconds


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)

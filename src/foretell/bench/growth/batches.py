"""Time per event and latency of a push against the size of batches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from foretell.bench.growth import lanes
from foretell.bench.growth.curves import Point, Sample, Samples, curves, decades
from foretell.bench.growth.harness import BATCH
from foretell.bench.workloads.ticks import ticks
from foretell.engine import Engine


def batches(quick: bool) -> Iterator[Point]:
    count, most = (10_000, 100) if quick else (BATCH, 1_000)
    table = ticks(count)
    text = f"SUBSCRIBE w FROM ticks PER name {lanes.PATTERNS['a , b , c']};"
    makers: dict[str, Callable[[pa.Table], object]] = {
        "Arrow": lambda part: part,
        "dicts": lambda part: part.to_pylist(),
    }
    for name, maker in makers.items():

        def measure(size: int, name: str = name, maker: Callable[[pa.Table], object] = maker) -> Samples:
            pushes = max(1, min(table.num_rows // size, most))
            engine = Engine(text, time={"ticks": "ts"})
            timings, matches = [], 0
            for batch in [maker(table.slice(i * size, size)) for i in range(pushes)]:
                started = time.perf_counter()
                matches += len(engine.push("ticks", batch))
                timings.append(time.perf_counter() - started)
            seconds, count = sum(timings), size * pushes
            latency = statistics.median(timings)
            return {
                ("batch", name): Sample(count, seconds, seconds / count, matches),
                ("push", name): Sample(count, seconds, latency, matches),
            }

        yield from curves(decades(1, table.num_rows), measure)

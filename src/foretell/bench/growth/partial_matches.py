"""Time per event against the number of partial matches alive."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.bench.growth.curves import Point, Sample, Samples, curves, decades
from foretell.bench.growth.harness import RUNS, event_batch, runtime, timed
from foretell.events.ingest.reader import EventBatch


def partial_matches(quick: bool) -> Iterator[Point]:
    text = "SUBSCRIBE w FROM ticks MATCH a ; b DEFINE a AS kind = 1, b AS kind = 2 AND price > a.price;"

    def events(kind: int, price: float, count: int, first: int) -> EventBatch:
        columns: dict[str, Any] = {
            "ts": np.arange(first, first + count),
            "kind": np.full(count, kind),
            "price": np.full(count, price),
        }
        return event_batch(pa.table(columns))

    def measure(alive: int) -> Samples:
        engine = runtime(text, events(1, 100.0, 1, 0))
        timed(engine, events(1, 100.0, alive, 0))
        clock, samples = alive, {}
        # Events that touch every partial match are fewer: each takes time in proportion to `alive`.
        for name, kind, count in (
            ("touches none", 0, 100_000),
            ("touches all", 2, max(10, min(100_000, 10**7 // alive))),
        ):
            timings = []
            for _ in range(RUNS):
                timings.append(timed(engine, events(kind, 50.0, count, clock)))
                clock += count
            seconds, matches = min(timings)
            samples["partial", name] = Sample(count, seconds, seconds / count, matches)
        pushed = [timed(engine, events(0, 50.0, 1, clock + i))[0] for i in range(20)]
        latency = statistics.median(pushed)
        return {**samples, ("partial-push", "one event"): Sample(1, latency, latency)}

    yield from curves(decades(1, 1_000 if quick else 1_000_000), measure)

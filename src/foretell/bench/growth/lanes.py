"""Time per event, memory and latency against the number of lanes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from foretell.bench.growth.curves import Point, Sample, Samples, curves, decades
from foretell.bench.growth.harness import (
    BATCH,
    RUNS,
    event_batch,
    in_new_process,
    keyed_ticks,
    resident_bytes,
    runtime,
    timed,
)

PATTERNS = {
    "a , b , c": "MATCH a , b , c DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price",
    "a ;{θ} b ;{θ} c": "MATCH a ;{volume > 900 AND price > a.price} b ;{volume < 100} c DEFINE a AS volume > 900",
}


def lanes(quick: bool) -> Iterator[Point]:
    most, events = (10_000, 5_000) if quick else (10_000_000, BATCH)
    for name, pattern in PATTERNS.items():
        text = f"SUBSCRIBE w FROM ticks PER k {pattern};"

        def measure(count: int, name: str = name, text: str = text) -> Samples:
            samples: Samples = in_new_process(_open_and_push, name, text, count, events)
            return samples

        yield from curves(decades(1, most), measure)


def _open_and_push(name: str, text: str, lanes: int, events: int) -> Samples:
    """Open all lanes, then time batches of events of random lanes, then single events."""
    random = np.random.default_rng(lanes)
    warm = event_batch(keyed_ticks(0, np.arange(100)))
    timed(runtime(text, warm), warm)
    engine, base = runtime(text, warm), resident_bytes()
    opening, clock = 0.0, 0
    for first in range(0, lanes, BATCH):
        batch = event_batch(keyed_ticks(clock, np.arange(first, min(first + BATCH, lanes))))
        opening += timed(engine, batch)[0]
        clock += batch.table.num_rows
        resident_bytes()
    kept = max(0, resident_bytes() - base)
    timings = []
    for _ in range(RUNS):
        timings.append(timed(engine, event_batch(keyed_ticks(clock, random.integers(0, lanes, events)))))
        clock += events
    single = [timed(engine, event_batch(keyed_ticks(clock + i, random.integers(0, lanes, 1))))[0] for i in range(20)]
    seconds, matches = min(timings)
    latency = statistics.median(single)
    samples = {
        ("lanes", name): Sample(events, seconds, seconds / events, matches),
        ("lanes-opening", name): Sample(lanes, opening, opening / lanes),
        ("lanes-push", name): Sample(1, latency, latency),
    }
    if lanes >= 10_000:  # the memory of fewer is lost in the noise
        samples["lanes-memory", name] = Sample(lanes, opening, max(kept, 1) / lanes, unit="B")
    return samples

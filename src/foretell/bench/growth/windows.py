"""Time per event against the length of WITHIN, and against the age of the stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foretell.bench.engine import bare
from foretell.bench.growth.curves import Point, Sample, Samples, curves, decades
from foretell.bench.growth.harness import best, event_batch, in_new_process, keyed_ticks, resident_bytes, runtime, timed
from foretell.bench.workloads.ticks import ticks

_MATCH = "MATCH a ; b ; c DEFINE a AS volume BETWEEN 1 AND 20, b AS volume BETWEEN 101 AND 120, c AS {} WITHIN {}"
_WINDOW = f"SUBSCRIBE w FROM ticks {_MATCH};"
_OFTEN, _RARELY = "volume BETWEEN 201 AND 220", "volume = 201 AND price > 149.9"
_NEVER = "price > 1000"


def windows(quick: bool) -> Iterator[Point]:
    batch = event_batch(ticks(20_000 if quick else 200_000))
    count = batch.table.num_rows
    limit = count / bare(batch.table, ("volume",))

    def matching(within: int) -> Samples:
        seconds, matches = best(_WINDOW.format(_OFTEN, within), batch)
        return {
            ("window", "per event"): Sample(count, seconds, seconds / count, matches, limit),
            ("window", "per event and match"): Sample(count, seconds, seconds / (count + matches), matches, limit),
        }

    def keeping(within: int) -> Samples:
        seconds, matches = best(_WINDOW.format(_RARELY, within), batch)
        return {("window-kept", "per event"): Sample(count, seconds, seconds / count, matches, limit)}

    yield from curves(decades(100, 2_000 if quick else 20_000, (1, 2, 5)), matching)
    yield from curves(decades(100, 10_000 if quick else 1_000_000, (1, 3)), keeping)


_AGES = {
    "what has left a window": f"SUBSCRIBE w FROM ticks {_MATCH.format(_NEVER, 200)};",
    "while some lanes wait": "SUBSCRIBE w FROM ticks PER k MATCH a , b DEFINE a AS price < 60, b AS price > a.price;",
}


def ages(quick: bool) -> Iterator[Point]:
    """A long stream: neither expired events nor idle lanes may make later events slower."""
    for name, text in _AGES.items():
        aged: dict[int, Samples] = in_new_process(_aged, name, text, *((1_000, 50) if quick else (10_000, 200)))
        yield from curves(sorted(aged), aged.__getitem__)


def _aged(name: str, text: str, size: int, batches: int) -> dict[int, Samples]:
    random = np.random.default_rng(size)
    # A hundred lanes get one event each and no more; in some of them a partial match waits for ever.
    engine = runtime(text, first := event_batch(keyed_ticks(0, -np.arange(1, 101))))
    timed(engine, first)
    samples: dict[int, Samples] = {}
    base, timings = 0, []
    reported = set(np.geomspace(5, batches, 9).astype(int).tolist())
    for number in range(1, batches + 1):
        timings.append(timed(engine, event_batch(keyed_ticks(number * size, random.integers(0, 100, size)))))
        base = base or resident_bytes()  # with all kernels loaded
        if number in reported:
            seconds, matches = sorted(timings[-5:])[2]  # the median: now and then Python collects garbage
            kept = max(1, resident_bytes() - base)
            samples[number * size] = {
                ("age", name): Sample(size, seconds, seconds / size, matches),
                ("age-memory", name): Sample(size, seconds, kept, matches, unit="B"),
            }
    return samples

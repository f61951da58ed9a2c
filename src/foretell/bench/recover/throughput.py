"""How fast estimates are made, and how much state they keep: the shoplifting query of AYAC over RFID reads.

Each case is a statement with LOSING and the same one without, through the public call, from Arrow to Arrow, by
processor time, in turn in one run. `of_plain` is the ratio of the two.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from foretell.bench.growth.harness import in_new_process, resident_bytes
from foretell.bench.result import BenchResult
from foretell.bench.workloads.rfid_reads import HOUR, MINUTE, RecoverCase, reads
from foretell.engine import Engine

TAGS = 10_000
LOSS = 0.05
WINDOW = 12 * HOUR

#: So many pieces are somewhat over a million events.
PIECES = 4
RUNS = 3

#: What is varied, one at a time.
LOSSES = (0.01, 0.05, 0.1, 0.3)
WINDOWS = (10 * MINUTE, HOUR, WINDOW)
THRESHOLDS = (0.8, 0.0)

#: The pieces after which the cost of an event is reported, about a million, ten million and a hundred million events.
GROWTH = (4, 37, 370)

#: State is measured with so many tags, after so many pieces: most tags have a lane then.
STATE_TAGS, STATE_PIECES = 300_000, 4

_SEED = 1
_BATCH = 20_000


def throughput(quick: bool) -> Iterator[BenchResult]:
    for case in _cases(quick):
        yield from _compared(case, 1 if quick else PIECES)
    yield from state(TAGS if quick else STATE_TAGS, 1 if quick else STATE_PIECES)
    yield from growth((2, 4) if quick else GROWTH)


def _cases(quick: bool) -> Iterator[RecoverCase]:
    for lanes in (True, False):
        for above in THRESHOLDS:
            yield RecoverCase(lanes, LOSS, WINDOW, above)
    for loss in () if quick else LOSSES:
        for window in WINDOWS:
            if (loss, window) != (LOSS, WINDOW):
                yield RecoverCase(True, loss, window, THRESHOLDS[0])


# ── speed ──


def _compared(case: RecoverCase, count: int) -> Iterator[BenchResult]:
    pieces = list(islice(reads(TAGS, case.loss, _SEED), count))
    events = sum(map(len, pieces))
    best = {True: math.inf, False: math.inf}
    found = dict[bool, int]()
    for _ in range(RUNS):
        for is_plain in best:
            seconds, found[is_plain] = _timed(case.engine(plain=is_plain), pieces)
            best[is_plain] = min(best[is_plain], seconds)
    plain, losing = best[True], best[False]
    yield BenchResult("recover", f"{case.name}: without LOSING", events, plain, events / plain, found[True])
    yield BenchResult("recover", case.name, events, losing, events / losing, found[False], of_plain=plain / losing)


def _timed(engine: Engine, pieces: Sequence[pa.Table]) -> tuple[float, int]:
    """The processor time from Arrow to Arrow, and the notifications."""
    found = 0
    started = time.process_time()
    for piece in pieces:
        found += engine.push("reads", piece).to_arrow().num_rows
    return time.process_time() - started, found


# ── state ──


def state(tags: int, pieces: int) -> Iterator[BenchResult]:
    """How much memory the engine takes after so many pieces, and how large its snapshot is."""
    for above in THRESHOLDS:
        case = RecoverCase(True, LOSS, WINDOW, above)
        events, seconds, resident, snapshot = in_new_process(_state, case, tags, pieces)
        note = f"{resident / tags:,.0f} bytes of memory for a tag, {snapshot / tags:,.1f} in a snapshot"
        yield BenchResult("recover", f"{case.name}, {tags:,} tags", events, seconds, events / seconds, note=note)


def _state(case: RecoverCase, tags: int, pieces: int) -> tuple[int, float, int, int]:
    _timed(case.engine(), [next(reads(TAGS, LOSS, _SEED))])  # loads the kernels
    engine, base, events, seconds = case.engine(), resident_bytes(), 0, 0.0
    for piece in islice(reads(tags, LOSS, _SEED), pieces):
        for first in range(0, len(piece), _BATCH):  # small beside the state
            seconds += _timed(engine, [piece.slice(first, _BATCH)])[0]
        events += len(piece)
    return events, seconds, max(0, resident_bytes() - base), len(engine.snapshot())


# ── growth ──


def growth(counts: Sequence[int]) -> Iterator[BenchResult]:
    """The cost of an event after so many pieces: the mean of the latest two."""
    engine, done = RecoverCase(True, LOSS, WINDOW, THRESHOLDS[0]).engine(), 0
    latest: deque[tuple[int, float]] = deque(maxlen=2)
    for number, piece in enumerate(islice(reads(TAGS, LOSS, _SEED), max(counts)), 1):
        done += len(piece)
        latest.append((len(piece), _timed(engine, [piece])[0]))
        if number in counts:
            events, seconds = map(sum, zip(*latest, strict=True))
            note = f"{1e9 * seconds / events:,.0f} ns per event"
            yield BenchResult("recover", f"after {done:,} events", done, seconds, events / seconds, note=note)

"""Time per event against the number of subscriptions: rows of a template, and statements."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.bench.growth.curves import Point, Sample, Samples, curves, decades
from foretell.bench.growth.harness import best, event_batch, runtime
from foretell.bench.workloads.ticks import ticks
from foretell.events.ingest.template_tables import read_table

_TEMPLATES = {
    "threshold in the first step": "MATCH a , b , c DEFINE a AS name = :name AND volume > :least, "
    "b AS price > a.price, c AS price > b.price",
    "threshold in the second step": "MATCH a , b , c DEFINE a AS volume > 990, "
    "b AS name = :name AND price > a.price + :more, c AS price > b.price",
}


def templates(quick: bool) -> Iterator[Point]:
    batch = event_batch(ticks(10_000 if quick else 200_000))
    count = batch.table.num_rows
    for name, pattern in _TEMPLATES.items():
        text = f"SUBSCRIBE w FOR EACH row FROM ticks PER name {pattern};"

        def measure(rows: int, name: str = name, text: str = text) -> Samples:
            tables = {"row": read_table(_rows(rows), "row")}
            started = time.perf_counter()
            runtime(text, batch, tables)
            start = time.perf_counter() - started
            seconds, matches = best(text, batch, tables)
            return {
                ("template", name): Sample(count, seconds, seconds / count, matches),
                ("template-start", name): Sample(rows, start, start),
            }

        yield from curves(decades(1, 100 if quick else 1_000_000), measure)


def _rows(count: int) -> pa.Table:
    """Subscribers: names in turn, and thresholds that between a tenth and none of the events pass."""
    number = np.arange(count)
    columns: dict[str, Any] = {
        "id": number,
        "name": [f"S{i % 100:02d}" for i in range(count)],
        "least": 900 + 100 * number / count,
        "more": 5 * number / count,
    }
    return pa.table(columns)


STATEMENTS = {
    "first step in common": "SUBSCRIBE w{0} FROM ticks PER name MATCH a , b , c "
    "DEFINE a AS volume > 990, b AS price > a.price + {1}, c AS price > b.price + {1};",
    "nothing in common": "SUBSCRIBE w{0} FROM ticks PER name MATCH a , b , c "
    "DEFINE a AS name = 'S{2:02d}' AND volume > {3}, b AS price > a.price + {1}, c AS price > b.price + {1};",
}


def statement(template: str, number: int) -> str:
    """One of many statements with thresholds of their own."""
    return template.format(number, number / 1000, number % 100, 900 + number % 97)


def statements(quick: bool) -> Iterator[Point]:
    batch = event_batch(ticks(5_000 if quick else 100_000))
    events = batch.table.num_rows
    for name, template in STATEMENTS.items():

        def measure(count: int, name: str = name, template: str = template) -> Samples:
            text = "\n".join(statement(template, i) for i in range(count))
            started = time.perf_counter()
            runtime(text, batch)
            start = time.perf_counter() - started
            seconds, matches = best(text, batch)
            return {
                ("statements", name): Sample(events, seconds, seconds / events, matches),
                ("statements-each", name): Sample(events, seconds, seconds / events / count, matches),
                ("statements-start", name): Sample(count, start, start),
            }

        yield from curves(decades(1, 30 if quick else 1_000, (1, 3)), measure)

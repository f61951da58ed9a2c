"""Subscriptions on feed items (Cayuga, section 4.3 and Fig. 8): 10,000 to 40,000 of each template."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from foretell.bench.filter.engine_runs import EngineRun, measured_run
from foretell.bench.growth.curves import Point
from foretell.bench.growth.harness import in_new_process
from foretell.bench.workloads.feed_items import ITEMS, FeedTemplate, items, subscriptions

NUMBERS, BATCH = (10_000, 20_000, 40_000), 5_000


def measure(quick: bool) -> Iterator[Point]:
    for template in FeedTemplate:
        for number in (100, 1_000) if quick else NUMBERS:
            run: EngineRun = in_new_process(measured, template, number, 2_000 if quick else ITEMS)
            yield run.point(f"feeds: {template.value}, {number:,}", figure="feeds", curve=template.value, x=number)


def measured(template: FeedTemplate, number: int, events: int) -> EngineRun:
    """One template with so many subscriptions over the feed, in this process."""
    feed = items()

    def part(count: int, first: int) -> pa.Table:
        return feed.slice(first, count)

    return measured_run(template.text, template.table(subscriptions(number)), part, events, BATCH)

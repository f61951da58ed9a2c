"""Matches of the workloads of `foretell bench filter`, found by trying every subscription at every event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from foretell.bench.workloads.cayuga_templates import ATTRIBUTES, STEPS, TICKS, CayugaTemplate
from foretell.bench.workloads.conjunctions import Conjunctions
from foretell.bench.workloads.feed_items import FeedTemplate

Row = Mapping[str, Any]
Chain = tuple[Row, ...]


def conjunction_matches(workload: Conjunctions, rows: Sequence[Row], events: Sequence[Row]) -> list[tuple[int, int]]:
    """The numbers of events and subscriptions."""
    return sorted((event["time"], row["id"]) for row in rows for event in events if _holds(workload, row, event))


def _holds(workload: Conjunctions, row: Row, event: Row) -> bool:
    if any(row[name] not in (None, event[name]) for name in workload.sizes):
        return False
    if not workload.closed:
        return all(event[name] > row[f"{name}_above"] for name in workload.bounded)
    return all(_in_range(event[name], row[f"{name}_from"], row[f"{name}_to"]) for name in workload.bounded)


def _in_range(value: float, low: float | None, high: float | None) -> bool:
    return low is None or high is None or low <= value <= high


# ── Cayuga ──


def cayuga_matches(template: CayugaTemplate, rows: Sequence[Row], events: Sequence[Row]) -> list[tuple[int, int, int]]:
    """Start, end and subscription of each match."""
    return sorted(
        (chain[0]["time"], chain[-1]["time"], row["id"]) for row in rows for chain in _chains(template, row, events)
    )


def _chains(template: CayugaTemplate, row: Row, events: Sequence[Row]) -> Iterator[Chain]:
    """The events of the three steps."""
    for first, event in enumerate(events):
        if _theta(row, "a", event):
            for b in _next(template, row, events, first, first):
                if _theta(row, "b", events[b]) and _dynamic(template, row, "b", event, events[b]):
                    for c in _next(template, row, events, first, b):
                        if _theta(row, "c", events[c]) and _dynamic(template, row, "c", events[b], events[c]):
                            yield event, events[b], events[c]


def _next(template: CayugaTemplate, row: Row, events: Sequence[Row], first: int, at: int) -> Iterator[int]:
    """The events that a following step may take: the next one, the next with the primary value, or any such."""
    if template in (CayugaTemplate.LINEAR_STAT, CayugaTemplate.LINEAR_DYN):
        yield from range(at + 1, min(at + 2, len(events)))
        return
    for later in range(at + 1, min(first + TICKS, len(events))):
        if all(row[f"p{k}"] in (None, events[later][f"d{k}"]) for k in range(ATTRIBUTES)):
            yield later
            if not template.iterates:
                return


def _theta(row: Row, step: str, event: Row) -> bool:
    equal = all(row[f"{step}_d{k}"] in (None, event[f"d{k}"]) for k in range(ATTRIBUTES))
    return equal and all(
        _in_range(event[f"c{k}"], row[f"{step}_c{k}_from"], row[f"{step}_c{k}_to"]) for k in range(ATTRIBUTES)
    )


def _dynamic(template: CayugaTemplate, row: Row, step: str, before: Row, event: Row) -> bool:
    assert step in STEPS
    return template is not CayugaTemplate.LINEAR_DYN or event["c0"] >= row[f"{step}_factor"] * before["c0"]


# ── feeds ──


def feed_matches(template: FeedTemplate, rows: Sequence[Row], items: Sequence[Row]) -> list[tuple[int, int, int]]:
    """Start, end and subscription of each match."""
    found = []
    for row in rows:
        for first, item in enumerate(items):
            if item["website"] == row["website"]:
                found += [(item["time"], last, row["id"]) for last in _feed_ends(template, row, items, first)]
    return sorted(found)


def _feed_ends(template: FeedTemplate, row: Row, items: Sequence[Row], first: int) -> Iterator[int]:
    following = [item for item in items[first : first + 100] if item["website"] == row["website"]]
    popular = [item for item in following if item["popularity"] > row.get("popularity", -1)]
    if template is FeedTemplate.STATELESS and popular[:1] == following[:1]:
        yield first
    elif template is FeedTemplate.CONCATENATION and popular[:1] == following[:1] and len(popular) >= 3:
        yield popular[2]["time"]
    elif template in (FeedTemplate.PARAMETERIZATION, FeedTemplate.ITERATION):
        channel = [item for item in following if item["channel"] == items[first]["channel"]]
        counts = range(3, 4) if template is FeedTemplate.PARAMETERIZATION else range(2, len(channel) + 1)
        for count in counts:
            if len(channel) >= count and _rises(channel[:count]):
                yield channel[count - 1]["time"]


def _rises(items: Sequence[Row]) -> bool:
    return all(before["popularity"] < item["popularity"] for before, item in pairwise(items))

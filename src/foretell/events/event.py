"""An event, and the total order of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foretell.events.types import Scalar

#: A sort key of all events: base events by (end, tie-breaker, stream, arrival); a derived event has the key of the
#: event that completed it with one more level, and so comes directly after it.
OrderKey = tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a stream. `name` is its name in notifications where the stream has an ID column."""

    stream: str
    attributes: Mapping[str, Scalar]
    start: int | float
    end: int | float
    key: OrderKey = field(repr=False)
    name: Scalar = None
    probability: float = 1.0  # below 1 where the event is an estimate


def base_key(end: int | float, tie: Scalar, stream_rank: int, arrival: int) -> OrderKey:
    """By end time, then tie-breaker (none and NULL first), then the stream's rank, then arrival."""
    kind = 0 if tie is None else 2 if isinstance(tie, str) else 1
    return ((end, 0, kind, 0 if tie is None else tie, stream_rank, arrival),)


def deadline_key(end: int | float) -> OrderKey:
    """The key of a match that time alone completes: after every event of that instant, before any later one."""
    return ((end, 1),)


def derived_key(completed_by: OrderKey, statement: int, index: int) -> OrderKey:
    return (*completed_by, (statement, index))

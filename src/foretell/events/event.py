"""An event, and the total order of events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from foretell.events.types import Scalar

#: A sort key of all events: base events by (end, tie-breaker, stream, arrival); a derived event has the key of the
#: event that completed it with one more level, and so comes directly after it.
OrderKey = tuple[tuple[object, ...], ...]

#: What may be lost: the statement, its step, and the position of the event present before it (or after a first step).
Hidden = tuple[str, str, int]


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
    rests_on: frozenset[Hidden] = frozenset()  # what such an estimate assumes to be lost


def joint_probability(events: Iterable[Event]) -> float:
    """The probability that all events happened: a product, but of those that rest on the same lost event the least.

    >>> def event(probability, *hidden):
    ...     return Event("s", {}, 0, 0, (), None, probability, frozenset(hidden))
    >>> joint_probability([event(0.5, ("m", "b", 0)), event(0.25, ("m", "b", 0)), event(0.5, ("m", "b", 7))])
    0.125
    """
    groups: list[tuple[frozenset[Hidden], float]] = []
    for event in events:
        joined, least = event.rests_on, event.probability
        apart = []
        for hidden, probability in groups:
            if hidden & joined:
                joined, least = joined | hidden, min(least, probability)
            else:
                apart.append((hidden, probability))
        groups = [*apart, (joined, least)]
    return math.prod(probability for _, probability in groups)


def base_key(end: int | float, tie: Scalar, stream_rank: int, arrival: int) -> OrderKey:
    """By end time, then tie-breaker (none and NULL first), then the stream's rank, then arrival."""
    kind = 0 if tie is None else 2 if isinstance(tie, str) else 1
    return ((end, 0, kind, 0 if tie is None else tie, stream_rank, arrival),)


def deadline_key(end: int | float) -> OrderKey:
    """The key of a match that time alone completes: after every event of that instant, before any later one."""
    return ((end, 1),)


def derived_key(completed_by: OrderKey, statement: int, index: int) -> OrderKey:
    return (*completed_by, (statement, index))

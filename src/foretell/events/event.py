"""An event, and the total order of events."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from foretell.events.types import Scalar

#: A sort key of all events: base events by (end, tie-breaker, stream, arrival); a derived event has the key of the
#: event that completed it with one more level, and so comes directly after it.
OrderKey = tuple[tuple[object, ...], ...]

#: What may be lost: the statement, its step, and the position of the event present before it (or after a first step).
Hidden = tuple[str, str, int]
AnyHidden = TypeVar("AnyHidden", bound=Hashable)


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


#: The attributes of an estimate as an event, which no statement can name: its probability, and what it assumes to be
#: lost, as text.
PROBABILITY, RESTS_ON = "\0probability", "\0rests on"


def joint_probability(events: Iterable[tuple[float, frozenset[AnyHidden]]]) -> float:
    """The probability that all events happened: a product, but of those that rest on the same lost event the least.
    Each event has a probability and what it rests on.

    >>> joint_probability([(0.5, frozenset("b")), (0.25, frozenset("b")), (0.5, frozenset("c"))])
    0.125
    """
    groups: list[tuple[frozenset[AnyHidden], float]] = []
    for least, joined in events:
        apart: list[tuple[frozenset[AnyHidden], float]] = []
        for hidden, probability in groups:
            if not hidden.isdisjoint(joined):
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

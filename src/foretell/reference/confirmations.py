"""Late events that confirm an estimate or take it back.

A late event gives no matches. But where it lies in a gap of an estimate that was reported before, the truth is known:
together with the events of the estimate it is a match of the whole pattern, or it is what the pattern forbids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from foretell.events.event import Event, OrderKey
from foretell.events.notification import CONFIRMED, WITHDRAWN
from foretell.events.types import Scalar
from foretell.language.checked import CheckedSubscription
from foretell.language.reduced_patterns import undisputed, without
from foretell.reference.lane import Lane, PlacedEvent
from foretell.reference.matches import Match, ReferenceMatcher


@dataclass(frozen=True)
class LateArrival:
    """An event that came too late, at a time that the stream has reached. `key` is the place at which it came among
    what the stream has brought."""

    event: Event
    time: int | float
    key: OrderKey


@dataclass(frozen=True)
class Revision:
    """The end of an estimate that was reported: confirmed or withdrawn, when this was known, and the names of the late
    events in the places of lost steps."""

    match: Match
    kind: str
    time: int | float
    key: OrderKey
    late: Mapping[str, Scalar] = field(default_factory=dict)


def revisions_by_late(matcher: ReferenceMatcher, estimate: Match, arrivals: Iterable[LateArrival]) -> list[Revision]:
    """The revision of an estimate by the first late event that decides, if there is one."""
    statement = matcher.subscription
    until = math.inf if statement.within is None else estimate.end + 2 * statement.within
    reduced = replace(statement, tree=replace(statement.tree, having=None))
    came: list[Event] = []
    instants = {binding.at.event.end for binding in estimate.bound}
    for arrival in arrivals:
        late = arrival.event
        if arrival.key <= estimate.completed_by or arrival.time > until or late.end in instants:
            continue
        complete = list(_matches(matcher, statement, estimate, [*came, late])) if estimate.lost else []
        if complete:
            first = min(complete, key=lambda match: [binding.at.number for binding in match.bound])
            names = {b.step: b.at.event.name for b in first.bound if b.step in estimate.lost}
            return [Revision(estimate, CONFIRMED, arrival.time, arrival.key, names)]
        if not any(_matches(matcher, undisputed(reduced, estimate.lost), estimate, [*came, late])):
            return [Revision(estimate, WITHDRAWN, arrival.time, arrival.key)]
        if not any(_matches(matcher, without(reduced, estimate.lost), estimate, [late])):
            came.append(late)  # one of several lost steps
    return []


def _matches(
    matcher: ReferenceMatcher, statement: CheckedSubscription, estimate: Match, late: Sequence[Event]
) -> Iterator[Match]:
    """The matches with the events of an estimate, among these and late ones alone, when all time has passed."""
    own = {binding.step: binding.at.event for binding in estimate.bound}
    events = sorted([*own.values(), *late], key=lambda event: event.end)
    placed = tuple(PlacedEvent(event, number, number) for number, event in enumerate(events))
    lane = Lane(matcher.lane.key, placed, matcher.lane.simultaneous)
    for match in replace(matcher, subscription=statement, lane=lane, now=math.inf).matches():
        if all(b.at.event is own[b.step] for b in match.bound if b.step in own):
            yield match

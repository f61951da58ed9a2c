"""The reference run of a program on finite inputs: each statement in turn; its results are a stream for later ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from foretell.events.delays.delay_model import DelayModel
from foretell.events.event import Event, Hidden, OrderKey, deadline_key, derived_key, joint_probability
from foretell.events.notification import CONFIRMED, WITHDRAWN, Notification, estimate_id
from foretell.events.types import EPOCH, Scalar, Type, format_timestamp
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.estimate_scorer import check_delays
from foretell.reference.absence import silences
from foretell.reference.confirmations import LateArrival
from foretell.reference.correlation import tokens
from foretell.reference.derived_attributes import with_derived
from foretell.reference.expressions import Frame, holds, scalar, value
from foretell.reference.functions import Value
from foretell.reference.lane import Lane, PlacedEvent, lanes
from foretell.reference.lost_events import estimated
from foretell.reference.matches import Match, ReferenceMatcher, after_match
from foretell.reference.withdrawals import reported

#: A row of a FOR EACH table, timestamps as datetimes.
Row = Mapping[str, Value]


@dataclass(frozen=True)
class ReferenceResult:
    """A notification with the data for its order and for the derived event."""

    notification: Notification
    attributes: Mapping[str, Scalar]
    completed_by: OrderKey
    positions: tuple[int, ...]
    steps: tuple[int, ...]
    rests_on: frozenset[Hidden] = frozenset()

    @property
    def order(self) -> tuple[object, ...]:
        """By end, then subscription, then the positions of the events."""
        n = self.notification
        key = json.dumps(n.key, sort_keys=True, default=str)
        number = (n.id, "") if isinstance(n.id, int | float) else (math.inf, str(n.id))
        return n.end, n.subscription, self.positions, self.steps, number, key


def run(
    program: CheckedProgram,
    events: Mapping[str, Iterable[Event]],
    tables: Mapping[str, Iterable[Row]] | None = None,
    *,
    until: int | float | None = None,
    timing: Mapping[str, DelayModel] | None = None,
    late: Iterable[LateArrival] = (),
) -> list[Notification]:
    """All notifications of the program, in order. `until` lets time pass beyond the last event. Events that come too
    `late` tell only whether estimates are true."""
    for statement in program.statements:
        if isinstance(statement, CheckedSubscription):
            check_delays(statement, (timing or {}).get(statement.name))
    streams = {
        name: sorted(with_derived(unordered, program, name), key=lambda e: e.key) for name, unordered in events.items()
    }
    arrivals = sorted(late, key=lambda arrival: arrival.key)
    clock = {name: ordered[-1].end for name, ordered in streams.items() if ordered}
    results: list[ReferenceResult] = []
    for statement in program.statements:
        sources = statement.tree.streams
        merged = sorted((_typed(e, statement) for name in sources for e in streams.get(name, [])), key=lambda e: e.key)
        times = [clock[name] for name in sources if name in clock]
        if until is not None:
            times.append(until)
        own: list[ReferenceResult] = []
        if times:
            clock[statement.name] = max(times)
            own = list(_results(statement, merged, max(times), dict(tables or {}), dict(timing or {}), arrivals))
        streams[statement.name] = list(_derived(statement.name, own, program.ranks[statement.name]))
        results += own
    return [r.notification for r in sorted(results, key=lambda r: r.order)]


def lane_counts(program: CheckedProgram, events: Mapping[str, Iterable[Event]]) -> dict[str, int]:
    """The number of lanes of each statement that has no PER, or reads no other statement."""
    counts: dict[str, int] = {}
    for statement in program.statements:
        sources, per = statement.tree.streams, statement.tree.per
        if not per:
            counts[statement.name] = 1
        elif all(name in events for name in sources):
            typed = (_typed(event, statement).attributes for name in sources for event in events[name])
            counts[statement.name] = len({tuple(map(attributes.get, per)) for attributes in typed})
    return counts


def _results(
    statement: CheckedStatement,
    merged: list[Event],
    now: int | float,
    tables: Mapping[str, Iterable[Row]],
    timing: Mapping[str, DelayModel],
    arrivals: Iterable[LateArrival],
) -> Iterator[ReferenceResult]:
    if isinstance(statement, CheckedCorrelator):
        yield from _tokens(statement, merged)
        return
    rows: Iterable[Row] = [{}]
    if statement.tree.table is not None:
        rows = tables[statement.tree.table]
    for row in rows:
        for lane in lanes(merged, statement.tree.per, statement.simultaneous):
            matcher = ReferenceMatcher(statement, lane, now, row)
            if isinstance(statement.pattern, tree.Silence):
                yield from _silences(matcher, statement.pattern)
                continue
            if statement.tree.losing is not None:
                own = _arriving(arrivals, statement, lane)
                yield from _estimates(matcher, timing.get(statement.name, DelayModel()), own)
                continue
            for match in after_match(matcher.matches(), statement.tree.after, lane, statement.positive):
                yield _matched(matcher, match)


def _arriving(arrivals: Iterable[LateArrival], statement: CheckedSubscription, lane: Lane) -> list[LateArrival]:
    """The late events of the streams of a statement that belong to a lane, in the order in which they come."""
    own = (replace(a, event=_typed(a.event, statement)) for a in arrivals if a.event.stream in statement.tree.streams)
    return [a for a in own if all(a.event.attributes.get(name) == lane.key[name] for name in statement.tree.per)]


def _derived(name: str, results: list[ReferenceResult], statement: int) -> Iterator[Event]:
    """The results as events of the derived stream, each directly after the event that completed it. What is withdrawn
    stays: other statements have read it."""
    revised = CONFIRMED, WITHDRAWN
    ordered = sorted(
        (r for r in results if r.notification.kind not in revised), key=lambda r: (r.completed_by, r.order)
    )
    for index, result in enumerate(ordered):
        key = derived_key(result.completed_by, statement, index)
        note = result.notification
        yield Event(name, result.attributes, note.start, note.end, key, None, note.probability, result.rests_on)


def _typed(event: Event, statement: CheckedStatement) -> Event:
    """The event with the types of the merged stream: INT becomes FLOAT where another stream has FLOAT; so does time."""
    wide = {n for n, kind in statement.attributes.items() if kind is Type.FLOAT}
    attributes = {n: float(v) if n in wide and v is not None else v for n, v in event.attributes.items()}
    if "stream" in statement.tree.per and "stream" not in attributes:
        attributes["stream"] = event.stream
    if statement.time is not Type.FLOAT:
        return replace(event, attributes=attributes)
    return replace(event, attributes=attributes, start=float(event.start), end=float(event.end))


# ── rows ──


def _notification(
    statement: CheckedSubscription | CheckedCorrelator,
    lane: Lane,
    start: int | float,
    end: int | float,
    attributes: Mapping[str, Scalar],
    *,
    kind: str = "match",
    probability: float = 1.0,
    id: Scalar = None,  # noqa: A002 - the column's name
    events: Mapping[str, Scalar | list[Scalar]] | None = None,
) -> Notification:
    types = statement.returns if isinstance(statement, CheckedSubscription) else {"token": Type.STRING}
    return Notification(
        subscription=statement.name,
        kind=kind,
        key=_shown(lane.key, statement.attributes) if statement.tree.per else None,
        start=start,
        end=end,
        probability=probability,
        horizon=None,
        id=id,
        bindings=_shown(attributes, types),
        events=events or {},
        time_type=statement.time,
    )


def _estimates(matcher: ReferenceMatcher, model: DelayModel, arrivals: list[LateArrival]) -> Iterator[ReferenceResult]:
    """The results of a statement with LOSING."""
    matches, revisions = reported(matcher, estimated(matcher, matcher.matches(), model), arrivals)
    for match in matches:
        yield _matched(matcher, match)
    for revision in revisions:
        result = _matched(matcher, revision.match)
        estimate = result.notification
        notification = replace(
            estimate,
            kind=revision.kind,
            end=revision.time,
            probability=float(revision.kind == CONFIRMED),
            events={**estimate.events, **revision.late},
            estimate=None,
        )
        yield replace(result, notification=notification, completed_by=revision.key)


def _matched(matcher: ReferenceMatcher, match: Match) -> ReferenceResult:
    statement = matcher.subscription
    values: Mapping[str, Value] = match.variables
    if statement.tree.returns:
        frame = matcher.match_frame(match)
        values = {r.name: value(r.expression, frame) for r in statement.tree.returns}
    attributes = _attributes(statement, values)
    # A match over estimates is no more certain than they are.
    probability = match.probability * joint_probability(
        (b.at.event.probability, b.at.event.rests_on) for b in match.bound
    )
    events = {name: _named(statement, match, name) for name in statement.positive}
    estimate = probability < 1.0 or bool(match.lost)
    notification = _notification(
        statement,
        matcher.lane,
        match.start,
        match.end,
        attributes,
        kind="estimate" if estimate else "match",
        probability=probability,
        id=_id(matcher),
        events=events,
    )
    if estimate and match.scorer is not None:
        ends = {b.step: b.at.event.end for b in match.bound}
        detail = match.scorer.detail(ends, match.last.event.end - match.first.event.start)
        notification = replace(notification, estimate=detail[0])
    if estimate and notification.id is None:
        notification = replace(notification, id=estimate_id(notification))
    positions = tuple(b.at.position for b in match.bound)
    steps = tuple(statement.positive.index(b.step) for b in match.bound)
    rests_on = _rests_on(statement, match) if probability < 1.0 else frozenset[Hidden]()
    return ReferenceResult(notification, attributes, match.completed_by, positions, steps, rests_on)


def _rests_on(statement: CheckedSubscription, match: Match) -> frozenset[Hidden]:
    """The events that a match assumes to be lost, and those that the estimates among its events assume."""
    found = {hidden for b in match.bound for hidden in b.at.event.rests_on}
    at = {b.step: b.at.position for b in match.bound}
    before = match.first.position
    for name, step in statement.steps.items():
        before = at.get(name, before)
        if name in match.lost or (step.shape.negated and statement.loss.get(name, 0) > 0):
            found.add((statement.name, name, before))
    return frozenset(found)


def _attributes(statement: CheckedSubscription, values: Mapping[str, Value]) -> dict[str, Scalar]:
    """The RETURN columns, without RETURN the variables, as attributes: timestamps as microseconds."""
    return {name: scalar(values.get(name), kind) for name, kind in statement.returns.items()}


def _shown(attributes: Mapping[str, Scalar], types: Mapping[str, Type]) -> dict[str, Scalar]:
    """Attributes as a notification carries them: timestamps as text."""
    return {
        name: format_timestamp(int(found)) if found is not None and types.get(name) is Type.TIMESTAMP else found
        for name, found in attributes.items()
    }


def _id(matcher: ReferenceMatcher) -> Scalar:
    found = matcher.parameters.get("id")
    if isinstance(found, datetime):
        return format_timestamp((found - EPOCH) // timedelta(microseconds=1))
    return None if isinstance(found, timedelta) else found


def _named(statement: CheckedSubscription, match: Match, step: str) -> Scalar | list[Scalar]:
    names = [at.name for at in match.events_of(step)]
    if not names:
        return None
    return list(names) if statement.steps[step].shape.repeated else names[0]


def _silences(matcher: ReferenceMatcher, pattern: tree.Silence) -> Iterator[ReferenceResult]:
    statement = matcher.subscription
    frame = Frame(statement.attributes, statement.time, parameters=matcher.parameters)

    def satisfies(at: PlacedEvent) -> bool:
        seen = replace(frame, this=at.event)
        return any(all(holds(c, seen) for c in statement.steps[n.step.name].conditions) for n in pattern.absent)

    assert statement.within is not None
    for start, end in silences(matcher.lane, satisfies, statement.within, matcher.now):
        # A silence lasts from its start to its end, and that is its duration.
        ends = [Event(statement.name, {}, time, time, deadline_key(time)) for time in (start, end)]
        whole = replace(frame, first=ends[0], last=ends[1])
        if statement.tree.having is not None and not holds(statement.tree.having, whole):
            continue
        attributes = _attributes(statement, {r.name: value(r.expression, whole) for r in statement.tree.returns})
        yield ReferenceResult(
            _notification(statement, matcher.lane, start, end, attributes, id=_id(matcher)),
            attributes,
            deadline_key(end),
            (),
            (),
        )


def _tokens(statement: CheckedCorrelator, merged: list[Event]) -> Iterator[ReferenceResult]:
    for lane in lanes(merged, statement.tree.per, simultaneous=False):
        for order, (token, at) in enumerate(tokens(statement, lane)):
            attributes = {"token": token}
            time = at.event.end
            yield ReferenceResult(
                _notification(statement, lane, time, time, attributes, kind="token"),
                attributes,
                at.event.key,
                (at.position,),
                (order,),
            )

"""Trials of an answer: the reference evaluator runs one statement on the events of a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretell.check.automata.alphabet import Example
from foretell.check.automata.event_scope import EventScope
from foretell.check.witness import Witness, WitnessEvent
from foretell.events.event import Event, base_key
from foretell.events.notification import Notification
from foretell.events.types import Scalar, Type
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.reference.run import run

#: The time from one event to the next, by the type of the time.
_STEP: Mapping[Type, int | float] = {Type.TIMESTAMP: 1_000_000, Type.FLOAT: 1.0}

#: The keys of a lane, and of another one.
_KEYS: Mapping[Type, tuple[Scalar, Scalar]] = {
    Type.BOOL: (False, True),
    Type.INT: (1, 2),
    Type.FLOAT: (1.0, 2.0),
    Type.TIMESTAMP: (0, 1_000_000),
}


def time_step(scope: EventScope, events: int, window: int | float | None) -> int | float:
    """The time between two events, so that all of them lie within a window."""
    step = _STEP.get(scope.time, 1)
    if window is None or events < 2 or step * (events - 1) <= window:
        return step
    fitting = window / (events - 1)
    return fitting if scope.time is Type.FLOAT else int(fitting)


def witness_of(examples: Sequence[Example], scope: EventScope, times: Sequence[int | float]) -> Witness:
    """Events of one lane at these times."""
    return Witness(tuple(_event(example, scope, time) for example, time in zip(examples, times, strict=True)))


def in_another_lane(event: WitnessEvent, scope: EventScope, keys: frozenset[str]) -> WitnessEvent:
    """The event with other values of these keys."""
    return replace(event, attributes={**event.attributes, **_keys(scope, keys, 1)})


def _event(example: Example, scope: EventScope, time: int | float) -> WitnessEvent:
    source = next(source for source in scope.sources if source.name == example.stream)
    attributes = {**_keys(scope, scope.per, 0), **example.attributes}
    if source.schema.time is not None:
        attributes[source.schema.time] = time
    return WitnessEvent(example.stream, time, {name: value for name, value in attributes.items() if source.has(name)})


def _keys(scope: EventScope, keys: frozenset[str], lane: int) -> dict[str, Scalar]:
    return {name: _KEYS.get(scope.types.get(name, Type.STRING), ("x", "y"))[lane] for name in sorted(keys)}


def notified_events(statement: CheckedSubscription, program: CheckedProgram, witness: Witness) -> frozenset[int]:
    """The numbers of the events at which a subscription notifies."""
    found = set[int]()
    # RETURN has no part in it, and of a stream without a schema its types are unknown.
    bare = replace(statement, tree=replace(statement.tree, returns=()), returns=statement.variables)
    for notification in _run(bare, program, witness):
        last = max(_numbers(notification), default=-1)
        if last >= 0 and notification.end == witness.events[last].time:
            found.add(last)
    return frozenset(found)


def emitted_tokens(statement: CheckedCorrelator, program: CheckedProgram, witness: Witness) -> list[list[str]]:
    """The tokens at each event. No two events may have the same time."""
    number = {event.time: place for place, event in enumerate(witness.events)}
    tokens: list[list[str]] = [[] for _ in witness.events]
    for notification in _run(statement, program, witness):
        tokens[number[notification.end]].append(str(notification.bindings["token"]))
    return tokens


def _run(statement: CheckedStatement, program: CheckedProgram, witness: Witness) -> list[Notification]:
    # Of a stream without a schema the keys of a lane have no type yet.
    keys = {str(name): Type.UNKNOWN for name in statement.tree.per}
    statement = replace(statement, attributes={**keys, **statement.attributes})
    alone = CheckedProgram(program.streams, (statement,), program.ranks, program.derived)
    events: dict[str, list[Event]] = {str(name): [] for name in statement.tree.streams}
    for number, event in enumerate(witness.events):
        if event.stream in events:
            schema = program.streams.get(event.stream)
            tie = None if schema is None or schema.order is None else event.attributes.get(schema.order)
            key = base_key(event.time, tie, program.ranks.get(event.stream, 0), number)
            made = Event(event.stream, event.attributes, event.time, event.time, key, name=number)
            events[event.stream].append(made)
    return run(alone, events)


def _numbers(notification: Notification) -> list[int]:
    found: list[int] = []
    values: Sequence[Any] = [*notification.events.values()]
    for value in values:
        found += value if isinstance(value, list) else [] if value is None else [value]
    return found

"""The verification of witnesses: the reference evaluator runs the events before anybody sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from foretell.check.witness import Witness, WitnessEvent
from foretell.errors import ForetellError
from foretell.events.event import Event, base_key
from foretell.events.notification import Notification
from foretell.events.types import EPOCH, Scalar, Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.reference.functions import Value
from foretell.reference.run import run

#: A row of a FOR EACH table.
TableRow = Mapping[str, Scalar]


def replayed(
    statement: CheckedStatement,
    program: CheckedProgram,
    witness: Witness,
    row: TableRow | None = None,
    kinds: Mapping[str, Type] | None = None,
) -> list[Notification]:
    """The notifications of one statement, alone, on the events of a witness. Streams that are results of other
    statements are taken as the witness has them. `row` is that of the FOR EACH table, of columns of these `kinds`."""
    alone = replace(program, statements=(statement,))
    streams: dict[str, list[Event]] = {str(name): [] for name in statement.tree.streams}
    for arrival, event in enumerate(witness.events):
        streams[event.stream].append(event_of(event, program, arrival))
    tables = {}
    if isinstance(statement, CheckedSubscription) and statement.tree.table is not None:
        tables = {str(statement.tree.table): [{"id": 1, **reference_row(row or {}, kinds or {})}]}
    try:
        return run(alone, streams, tables, until=witness.until)
    except (ForetellError, TypeError, AttributeError):  # a type that was assumed does not fit
        return []


def holding(statement: CheckedSubscription) -> CheckedSubscription:
    """The statement with AFTER MATCH HOLD, which reports every match."""
    return replace(statement, tree=replace(statement.tree, after=tree.AfterMatch()))


def event_of(event: WitnessEvent, program: CheckedProgram, arrival: int) -> Event:
    """An event of a witness as the reference evaluator takes it."""
    schema = program.streams.get(event.stream)
    order = None if schema is None else schema.order
    tie = event.attributes.get(order) if order is not None else None
    start = event.time if event.start is None else event.start
    key = base_key(event.time, tie, program.ranks.get(event.stream, 0), arrival)
    return Event(event.stream, event.attributes, start, event.time, key)


def reference_row(row: TableRow, kinds: Mapping[str, Type]) -> dict[str, Value]:
    """A row as the reference evaluator takes it: timestamps as datetimes."""
    return {
        name: EPOCH + timedelta(microseconds=int(value))
        if kinds.get(name) is Type.TIMESTAMP and isinstance(value, int)
        else value
        for name, value in row.items()
    }

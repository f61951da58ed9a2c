"""One input through both engines: the compiled one and the reference, whose rows must be the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa

from foretell import parse
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import observed_schema, read_inputs, read_tables
from foretell.engine.planning import start_runtime
from foretell.events.ingest.reader import EventBatch, events_of
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import Notification
from foretell.language.checked import CheckedProgram
from foretell.machine.matches.notification_order import notifications_of
from foretell.reference.run import run as run_reference
from foretell.reference.table_rows import table_rows


class EnginePair:
    """A program with its input, read and checked once. A text that is wrong raises as `foretell.api.run` does."""

    def __init__(
        self,
        text: str,
        streams: Mapping[str, object],
        *,
        time: Mapping[str, str] | None = None,
        tables: Mapping[str, object] | None = None,
        until: int | float | None = None,
    ) -> None:
        program = parse(text)
        self.text = text
        self.until = until
        self.loaded: dict[str, EventBatch] = read_inputs(program, streams, InputSettings(time or {}), False)
        self.given: dict[str, TemplateTable] = read_tables(program.tables, tables or {})
        self.checked: CheckedProgram = program.checked(
            {name: observed_schema(events_read) for name, events_read in self.loaded.items()},
            {name: table.types for name, table in self.given.items()},
        )

    def reference(self) -> list[Notification]:
        given = {name: table_rows(table) for name, table in self.given.items()}
        events = {name: events_of(events_read, self.checked.ranks[name]) for name, events_read in self.loaded.items()}
        return run_reference(self.checked, events, given, until=self.until)

    def embedded(self) -> list[Notification]:
        return notifications_of(start_runtime(self.checked, self.given).process(self.loaded, self.until, ends=True))

    def cut_at(self, cuts: Iterable[int]) -> list[Mapping[str, EventBatch]]:
        """The input in batches, cut before the events with these numbers in the order of all events."""
        keyed = [
            (event.key, name, row)
            for name, loaded in self.loaded.items()
            for row, event in enumerate(events_of(loaded, self.checked.ranks[name]))
        ]
        ordered = sorted(keyed, key=lambda k: k[0])
        edges = sorted({0, len(ordered), *(cut % (len(ordered) + 1) for cut in cuts)})
        batches: list[Mapping[str, EventBatch]] = []
        for first, stop in pairwise(edges):
            rows = {name: [row for _, n, row in ordered[first:stop] if n == name] for name in self.loaded}
            taken = {name: self.loaded[name].table.take(pa.array(rows[name], pa.int64())) for name in rows}
            batches.append({name: replace(loaded, table=taken[name]) for name, loaded in self.loaded.items()})
        return batches or [self.loaded]

    def embedded_in_batches(self, batches: Sequence[Mapping[str, EventBatch]]) -> list[Notification]:
        """Processes one batch after the other; with the last, time advances to `until`."""
        runtime = start_runtime(self.checked, self.given)
        notifications: list[Notification] = []
        for number, batch in enumerate(batches, 1):
            ends = number == len(batches)
            notifications += notifications_of(runtime.process(batch, self.until if ends else None, ends=ends))
        return notifications


def comparable_rows(notifications: Iterable[Notification]) -> list[tuple[Any, ...]]:
    """Notifications as values to compare, with types: 1 is neither 1.0 nor true."""
    return [
        (
            n.subscription,
            n.kind,
            _exactly(n.key),
            _exactly(n.start),
            _exactly(n.end),
            n.probability,
            n.horizon,
            _exactly(n.id),
            _exactly(n.bindings),
            _exactly(n.events),
            n.time_type,
            n.estimate,
        )
        for n in notifications
    ]


def _exactly(value: object) -> object:
    match value:
        case Mapping():
            return tuple((name, _exactly(item)) for name, item in value.items())
        case list() | tuple():
            return tuple(_exactly(item) for item in value)
    return type(value).__name__, repr(value)

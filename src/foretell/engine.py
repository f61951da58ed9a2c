"""The engine in process: subscriptions at work on events that are pushed to them, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from foretell.errors import ForetellError, InputError, suggestion
from foretell.events.notification import Notification
from foretell.events.read import Declaration, Loaded, read
from foretell.events.types import Schema, Type
from foretell.events.waiting import Waiting, shown_time
from foretell.given.arguments import by_name, columns_by_name
from foretell.given.sources import declaration_of, known_schema, tables_of
from foretell.given.statements import statements_of
from foretell.given.until import end_of_time
from foretell.language.checked import Checked
from foretell.language.streams import length_of
from foretell.machine.running import Running
from foretell.machine.told import rows
from foretell.notify.notifications import Notifications
from foretell.plan.program import UnsupportedError


class Engine:
    """Subscriptions at work.

    >>> engine = Engine("STREAM s (k STRING, time INT) TIME time;"
    ...                 "SUBSCRIBE pair FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';")
    >>> len(engine.push("s", [{"time": 1, "k": "a"}]))
    0
    >>> engine.push("s", [{"time": 2, "k": "b"}])[0].events
    {'a': 0, 'b': 1}
    """

    def __init__(
        self,
        subscriptions: Any,
        *,
        time: Mapping[str, str] | None = None,
        tables: Mapping[str, object] | None = None,
    ) -> None:
        self.subscriptions = statements_of(subscriptions)
        self._time = columns_by_name({} if time is None else time, "time", "time={'logins': 'time'}")
        given = by_name({} if tables is None else tables, "tables", "tables={'limits': 'limits.csv'}")
        self._tables = tables_of(self.subscriptions, given)
        self._schemas: dict[str, Schema] = {}
        self._work: _Work | None = None

    @property
    def late(self) -> dict[str, int]:
        """How many events of each stream have come later than LATE BY allows."""
        return {} if self._work is None else dict(self._work.waiting.late)

    def push(self, stream: str, batch: object, *, strict: bool = False) -> Notifications:
        """What a batch of events brings. Its events may be in any order.

        None may be earlier than those before it, less the LATE BY of the streams; such events are set aside, in `late`,
        or where the stream has no LATE BY the batch is refused. Malformed events are set aside, in `bad`. A batch that
        is refused leaves the engine as it was.
        """
        if stream not in self.subscriptions.sources:
            hint = suggestion(str(stream), self.subscriptions.sources)
            raise InputError("unread-input", f"no statement reads a stream '{stream}'", hint=hint)
        loaded = read(batch, self._declaration(stream), strict=strict)
        totals = ((stream, loaded.total),)
        if not loaded.table.num_rows:
            return Notifications((), loaded.bad, totals)
        work = self._at_work(stream, loaded)
        late = work.waiting.add(loaded)
        self._schemas[stream] = loaded.schema
        return Notifications(work.go_on(), loaded.bad, totals, late=late.events())

    def advance(self, now: str | int | float | date | datetime) -> Notifications:
        """Lets time go on: what only time completes by then, with the events before it that were held back.

        An event at `now` itself may still come; those that have come wait for it.
        """
        kinds = {schema.time_type for schema in self._schemas.values()} - {Type.UNKNOWN}
        until = end_of_time(now, kinds)
        if self._work is None or until is None:
            return Notifications(())
        waiting = self._work.waiting
        if until < waiting.time:
            shown = shown_time(waiting.time, next(iter(kinds)))
            raise InputError("out-of-order", f"time does not go back: it is {shown} already")
        waiting.advance(until)
        return Notifications(self._work.tell(waiting.ready(), until))

    def end(self) -> Notifications:
        """No more events will come: what those bring that were held back. Time ends with the last of them."""
        return Notifications(() if self._work is None else self._work.tell(self._work.waiting.end()))

    def _declaration(self, stream: str) -> Declaration:
        """How a stream's batches are read: after the first, with the types that one had."""
        declaration = declaration_of(self.subscriptions, stream, self._time)
        if stream not in self._schemas:
            return declaration
        return replace(declaration, attributes=self._schemas[stream].attributes, open=False)

    def _at_work(self, stream: str, loaded: Loaded) -> _Work:
        """The statements at work: they begin with the first events, which show what the text leaves open."""
        if self._work is None:
            schemas = {name: self._schema(name, stream, loaded) for name in self.subscriptions.sources}
            lateness = {name: self._lateness(name, schema) for name, schema in schemas.items()}
            columns = {name: table.types for name, table in self._tables.items()}
            checked = self.subscriptions.checked(schemas, columns)
            try:
                self._work = _Work(Running(checked, self._tables), Waiting(lateness), _clocks(checked))
            except UnsupportedError as error:
                raise InputError("not-in-engine", f"this engine does not run {error} yet") from None
            self._schemas = schemas
        return self._work

    def _lateness(self, name: str, schema: Schema) -> int | float | None:
        """A stream's LATE BY in the unit of its time, which the text need not have told."""
        stream = self.subscriptions.declared.get(name)
        try:
            return None if stream is None else length_of(stream.lateness, schema.time_type, "LATE BY")
        except ForetellError as error:
            raise error.within(self.subscriptions.text, self.subscriptions.file) from None

    def _schema(self, name: str, stream: str, loaded: Loaded) -> Schema:
        if name == stream:
            return known_schema(loaded)
        declaration = declaration_of(self.subscriptions, name, self._time)
        if declaration.open:
            hint = f"declare it: STREAM {name} (attribute TYPE, ...) TIME column"
            raise InputError("undeclared-stream", f"nothing is known of stream '{name}' yet", hint=hint)
        # What the text leaves open of a stream that has not come yet is taken to be as in the one that has.
        attributes = {
            n: loaded.schema.time_type if n == declaration.time and kind is Type.UNKNOWN else kind
            for n, kind in declaration.attributes.items()
        }
        roles = declaration.time, declaration.id, declaration.order
        return Schema(attributes, *roles, declaration.simultaneous, declaration.lateness)


@dataclass(frozen=True)
class _Work:
    """The statements at work, and the events that wait for them. `clocks` are the streams that each statement reads."""

    running: Running
    waiting: Waiting
    clocks: frozenset[frozenset[str]]

    def go_on(self) -> tuple[Notification, ...]:
        """What has come to be known by the events that have come."""
        return self.tell(self.waiting.ready(), self._passed())

    def tell(self, ready: Mapping[str, Loaded], until: int | float | None = None) -> tuple[Notification, ...]:
        return tuple(rows(self.running.tell(ready, until)))

    def _passed(self) -> int | float | None:
        """What time has passed for every statement. Those events that wait are not told yet, but time has gone on.

        A stream that a statement does not read is no clock for it (decision 0002, item 3), and `until` is for all of
        them: where they read different streams, it is what the slowest allows.
        """
        passed = min(map(self.waiting.clock, self.clocks), default=-math.inf)
        return passed if self.waiting.longest and math.isfinite(passed) else None


def _clocks(checked: Checked) -> frozenset[frozenset[str]]:
    """The streams from outside that each statement reads, directly or through others."""
    read: dict[str, frozenset[str]] = {}
    for statement in checked.statements:
        parts = (read.get(str(name), frozenset({str(name)})) for name in statement.tree.streams)
        read[statement.name] = frozenset().union(*parts)
    return frozenset(read.values())

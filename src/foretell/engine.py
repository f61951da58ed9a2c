"""The engine in process: subscriptions at work on events that are pushed to them, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from foretell.errors import InputError, suggestion
from foretell.events.read import Declaration, Loaded, read
from foretell.events.types import Schema, Type, format_timestamp
from foretell.given.arguments import by_name, columns_by_name
from foretell.given.sources import declaration_of, known_schema, tables_of
from foretell.given.statements import statements_of
from foretell.given.until import end_of_time
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
        self._running: Running | None = None
        self._now: int | float = -math.inf

    def push(self, stream: str, batch: object, *, strict: bool = False) -> Notifications:
        """What a batch of events brings. Its events may be in any order; none may be earlier than those before it.

        A batch that is refused leaves the engine as it was. Malformed events are set aside, in `bad`.
        """
        if stream not in self.subscriptions.sources:
            hint = suggestion(str(stream), self.subscriptions.sources)
            raise InputError("unread-input", f"no statement reads a stream '{stream}'", hint=hint)
        loaded = read(batch, self._declaration(stream), strict=strict)
        self._check_order(stream, loaded)
        running = self._at_work(stream, loaded)
        found = rows(running.tell({stream: loaded}))
        if loaded.table.num_rows:
            self._now = max(self._now, _latest(loaded))
        return Notifications(tuple(found), loaded.bad, ((stream, loaded.total),))

    def advance(self, now: str | int | float | date | datetime) -> Notifications:
        """Lets time go on: what only time completes by then."""
        kinds = {schema.time_type for schema in self._schemas.values()} - {Type.UNKNOWN}
        until = end_of_time(now, kinds)
        if self._running is None or until is None:
            return Notifications(())
        if until < self._now:
            raise InputError("out-of-order", f"time does not go back: it is {self._shown(self._now)} already")
        self._now = until
        return Notifications(tuple(rows(self._running.tell({}, until))))

    def _declaration(self, stream: str) -> Declaration:
        """How a stream's batches are read: after the first, with the types that one had."""
        declaration = declaration_of(self.subscriptions, stream, self._time)
        if stream not in self._schemas:
            return declaration
        return replace(declaration, attributes=self._schemas[stream].attributes, open=False)

    def _check_order(self, stream: str, loaded: Loaded) -> None:
        if not loaded.table.num_rows:
            return
        column = loaded.schema.time
        times = _times(loaded)
        early = times < self._now
        if early.any():
            row = int(early.argmax())
            raise InputError(
                "out-of-order",
                f"stream '{stream}': row {row + 1} has {column} {self._shown(times[row].item(), loaded.schema)}, "
                f"but time is {self._shown(self._now, loaded.schema)} already",
                hint="push events in the order of time, all streams together",
            )

    def _shown(self, time: int | float, schema: Schema | None = None) -> str:
        schemas = [schema] if schema is not None else list(self._schemas.values())
        if any(s.time_type is Type.TIMESTAMP for s in schemas):
            return format_timestamp(int(time))
        return str(time)

    def _at_work(self, stream: str, loaded: Loaded) -> Running:
        """The statements at work: they begin with the first batch, which shows what the text leaves open."""
        if self._running is None:
            schemas = {name: self._schema(name, stream, loaded) for name in self.subscriptions.sources}
            columns = {name: table.types for name, table in self._tables.items()}
            checked = self.subscriptions.checked(schemas, columns)
            try:
                self._running = Running(checked, self._tables)
            except UnsupportedError as error:
                raise InputError("not-in-engine", f"this engine does not run {error} yet") from None
            self._schemas = schemas
        return self._running

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


def _times(loaded: Loaded) -> Any:
    assert loaded.schema.time is not None
    column = loaded.table[loaded.schema.time]
    return column.cast(pa.int64()).to_numpy() if loaded.schema.time_type is Type.TIMESTAMP else column.to_numpy()


def _latest(loaded: Loaded) -> int | float:
    latest: int | float = _times(loaded).max().item()
    return latest

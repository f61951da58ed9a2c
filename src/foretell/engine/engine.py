"""The engine in process: subscriptions at work on events that are pushed to them, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from foretell.arguments.model import as_learning, as_model
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.until import parse_until
from foretell.arguments.validation import as_tables, as_time_columns
from foretell.engine.checkpoint import RestoreRequest, restore_snapshot, take_snapshot
from foretell.engine.deployment import Deployment
from foretell.engine.input_registry import InputRegistry
from foretell.engine.settings import EngineSettings, as_limits, live_tables
from foretell.errors import ForetellError, InputError
from foretell.events.ingest.reader import QuarantinedEvent, read
from foretell.events.reorder_buffer import LateEvents, format_time
from foretell.events.types import Scalar, Type
from foretell.forecast.chain.match_interval import Asked
from foretell.forecast.online.factory import untrained
from foretell.forecast.online.outlook import Outlook, outlooks
from foretell.language import tree
from foretell.language.printer import horizon_text
from foretell.language.statement_registry import StatementRegistry
from foretell.language.subscriptions import Subscriptions
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.machine.matches.results import ResultBatch
from foretell.notify.arrow_encoder import to_notifications
from foretell.notify.notifications import Notifications


@dataclass(frozen=True)
class ColumnarResult:
    """What batches bring, as columns: the results of each statement, and the late events of each stream."""

    told: tuple[ResultBatch, ...]
    bad: tuple[QuarantinedEvent, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    late: tuple[LateEvents, ...] = ()


class Engine:
    """Subscriptions at work.

    >>> engine = Engine("STREAM s (k STRING, time INT) TIME time;"
    ...                 "SUBSCRIBE pair FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';")
    >>> len(engine.push("s", [{"time": 1, "k": "a"}]))
    0
    >>> engine.push("s", [{"time": 2, "k": "b"}])[0].events
    {'a': 0, 'b': 1}

    Subscriptions come and go while it runs, each from the next event on:

    >>> engine.subscribe("SUBSCRIBE again FROM s MATCH a DEFINE a AS k = 'a'")
    >>> engine.unsubscribe("pair")
    >>> [n.subscription for n in engine.push("s", [{"time": 3, "k": "a"}])]
    ['again']
    """

    #: Of a restored engine: the statements that go on, those that begin anew, and those that are here no more.
    carried: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def __init__(
        self,
        subscriptions: Any,
        *,
        time: Mapping[str, str] | None = None,
        tables: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        model: object = None,
        learning: Learning | None = None,
    ) -> None:
        statements = StatementRegistry(as_subscriptions(subscriptions))
        settings = EngineSettings.of(limits, model, learning)
        #: What a model has nothing to say of.
        self.untrained = untrained(settings.model, statements.subscriptions())
        inputs = InputRegistry(statements, as_time_columns(time))
        self._here = Deployment(statements, inputs, live_tables(statements.templates, as_tables(tables)), settings)

    @property
    def subscriptions(self) -> Subscriptions:
        """The statements that are here now."""
        return self._here.statements.subscriptions()

    @property
    def late(self) -> dict[str, int]:
        """How many events of each stream have come later than LATE BY allows."""
        return {} if self._here.work is None else dict(self._here.work.waiting.late)

    @property
    def partial_matches(self) -> int:
        """How many partial matches there are, of all subscriptions in all lanes."""
        return 0 if self._here.work is None else sum(self._here.work.running.ledger.held.values())

    @property
    def waiting(self) -> int:
        """How many events wait for later ones, of streams with LATE BY."""
        return 0 if self._here.work is None else len(self._here.work.waiting)

    @property
    def refused(self) -> tuple[tuple[str, Mapping[str, Scalar]], ...]:
        """The subscriptions that are told nothing more in a lane, with its key, since the limits were passed there."""
        return () if self._here.work is None else tuple(self._here.work.running.ledger.refused)

    @property
    def dropped_matches(self) -> dict[str, int]:
        """How many partial matches of each subscription the limits have cost."""
        return {} if self._here.work is None else dict(self._here.work.running.ledger.dropped)

    # ── events ──

    def push(self, stream: str, batch: object, *, strict: bool = False) -> Notifications:
        """What a batch of events brings. Its events may be in any order.

        None may be earlier than those before it, less the LATE BY of the streams; such events are set aside, in `late`,
        or where the stream has no LATE BY the batch is refused. Malformed events are set aside, in `bad`. A batch that
        is refused leaves the engine as it was.
        """
        loaded = read(batch, self._here.inputs.declaration(self._here.inputs.expected(stream)), strict=strict)
        totals = ((stream, loaded.total),)
        if not loaded.table.num_rows:
            return Notifications((), loaded.bad, totals)
        work = self._here.at_work(loaded)
        late = work.waiting.add(loaded)
        self._here.inputs.schemas[stream] = loaded.schema
        found = work.go_on()
        return Notifications(found, loaded.bad, totals, work.running.ledger.tell(), late.events())

    def push_together(
        self, batches: Mapping[str, object], latest: Mapping[str, int | float] | None = None
    ) -> Notifications:
        """What batches of several streams bring that come at once: none makes events of another late.

        Where several engines share the lanes of the streams, each is told in `latest` how far every stream has come in
        all of them (a TIMESTAMP in microseconds), so that time passes for all lanes together.
        """
        told = self.tell_together(batches, latest)
        set_aside = tuple(event for one in told.late for event in one.events())
        return Notifications(to_notifications(told.told), told.bad, told.totals, told.notes, set_aside)

    def tell_together(
        self, batches: Mapping[str, object], latest: Mapping[str, int | float] | None = None
    ) -> ColumnarResult:
        """The same as columns, for those who hand them on as such."""
        streams = [self._here.inputs.expected(stream) for stream in batches]
        read_in = [read(batches[stream], self._here.inputs.declaration(stream)) for stream in streams]
        for loaded in read_in:
            self._here.at_work(loaded)
            self._here.inputs.schemas[loaded.stream] = loaded.schema
        bad = tuple(one for loaded in read_in for one in loaded.bad)
        totals = tuple((loaded.stream, loaded.total) for loaded in read_in)
        if self._here.work is None:
            return ColumnarResult((), bad, totals)
        late = self._here.work.waiting.add_together(read_in)
        self._here.work.waiting.see(latest or {})
        told = self._here.work.told()
        return ColumnarResult(tuple(told), bad, totals, self._here.work.running.ledger.tell(), tuple(late))

    def advance(self, now: str | int | float | date | datetime) -> Notifications:
        """Lets time go on: what only time completes by then, with the events before it that were held back.

        An event at `now` itself may still come; those that have come wait for it.
        """
        kinds = {schema.time_type for schema in self._here.inputs.schemas.values()} - {Type.UNKNOWN}
        until = parse_until(now, kinds)
        if self._here.work is None or until is None:
            return Notifications(())
        waiting = self._here.work.waiting
        if until < waiting.time:
            shown = format_time(waiting.time, next(iter(kinds)))
            raise InputError("out-of-order", f"time does not go back: it is {shown} already")
        waiting.advance(until)
        found = self._here.work.tell(waiting.ready(), until)
        return Notifications(found, notes=self._here.work.running.ledger.tell())

    def end(self) -> Notifications:
        """No more events will come: what those bring that were held back. Time ends with the last of them."""
        return Notifications(() if self._here.work is None else self._here.work.tell(self._here.work.waiting.end()))

    def outlook(self, name: str, *, confidence: float = 0.8, reach: float = 4.0) -> list[Outlook]:
        """What a subscription with FORECAST may expect now, likeliest first: for each lane that has been seen or, where
        a value tells partial matches of a lane apart, for each value that has any.

        The intervals hold the next match with this `confidence`; they look `reach` times as far as the FORECAST.
        """
        asked = Asked(confidence, reach)
        horizon = horizon_text(self._forecast_of(name))
        if self._here.work is None:
            return []
        watched = self._here.work.running.watched(name)
        found = [one for whose in watched for one in outlooks(name, horizon, whose, asked)]
        return sorted(found, key=lambda one: -1.0 if one.probability is None else one.probability, reverse=True)

    def _forecast_of(self, name: object) -> tree.Forecast:
        said = self._here.statements.known(name)
        forecast = said.forecast if isinstance(said, tree.Subscription) else None
        if forecast is None:
            hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to it"
            raise InputError("no-forecasts", f"'{name}' does not ask for forecasts", hint=hint)
        return forecast

    # ── subscriptions ──

    def subscribe(self, subscriptions: Any, *, tables: Mapping[str, object] | None = None) -> None:
        """More statements, from the next event on: their matches have only events that come after this.

        They may read the streams and statements that are here, and streams that they declare. `tables` has the rows of
        those that are FOR EACH. What is refused changes nothing.
        """
        said = as_subscriptions(subscriptions)
        given = as_tables(tables)
        for name in given:
            if name in self._here.tables:
                hint = f"change it with add_rows({name!r}, ...) and remove_rows"
                raise InputError("known-table", f"the table '{name}' is there already", hint=hint)
        try:
            new = self._here.statements.new(said)
            self._here.add(new, live_tables([name for name in new.tables if name not in self._here.tables], given))
        except ForetellError as error:
            raise error.within(said.text, said.file) from None

    def unsubscribe(self, name: str) -> None:
        """A statement less; no other may read it. It is told nothing more, not even of what has begun already."""
        self._here.remove(self._here.statements.leaving(name))

    def add_rows(self, table: str, rows: object) -> None:
        """More rows of a FOR EACH table: each is a subscription from the next event on."""
        known = self._here.table(table)
        self._here.add_rows(known, known.new(rows))

    def remove_rows(self, table: str, ids: Iterable[Scalar]) -> None:
        """Rows less, by their ids. They are told nothing more, not even of what has begun already."""
        known = self._here.table(table)
        self._here.remove_rows(known, known.leaving(ids))

    # ── snapshots ──

    def snapshot(self) -> bytes:
        """All of the engine as bytes, for `restore`: statements, tables, and all that they wait for."""
        return take_snapshot(self._here)

    @classmethod
    def restore(
        cls,
        subscriptions: Any,
        snapshot: bytes,
        *,
        time: Mapping[str, str] | None = None,
        tables: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        model: object = None,
        learning: Learning | None = None,
    ) -> Engine:
        """An engine that goes on from a snapshot, with the statements of the snapshot where `subscriptions` is None.

        Statements that say the same, and read the same, go on (`carried`). Others begin with the next event (`fresh`);
        those that are not named any more are gone (`dropped`). Where tables are given, rows that are not in them are
        removed and rows that are new are added. Where a `model` is given, forecasts begin anew with it.
        """
        wanted = RestoreRequest(
            None if subscriptions is None else as_subscriptions(subscriptions),
            as_time_columns(time),
            as_tables(tables),
            as_limits(limits),
            None if model is None else as_model(model),
            as_learning(learning),
        )
        engine = cls.__new__(cls)
        engine._here, changed = restore_snapshot(snapshot, wanted)
        engine.untrained = ()
        engine.carried, engine.fresh, engine.dropped = changed.carried, changed.fresh, changed.dropped
        return engine

"""The engine in process: push events, get notifications.

A pushed batch goes through `events.ingest` (types, quarantine), the reorder buffer (LATE BY) and the match runtime; see
`EventPipeline` in `engine.deployment`. Statements can be added and removed between batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from foretell.arguments.estimate import EstimateLike, as_estimate
from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.limits import as_limits
from foretell.arguments.model import ModelLike, as_learning, as_model
from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.until import parse_until
from foretell.arguments.validation import as_tables
from foretell.display import View, Viewed, counted, listed
from foretell.engine.deployment import Deployment
from foretell.engine.exclusive_use import ExclusiveUse, changes, exclusive
from foretell.engine.input_registry import InputRegistry
from foretell.engine.live_tables import live_tables
from foretell.engine.settings import EngineSettings
from foretell.engine.snapshot import RestoreRequest, restore_snapshot, take_snapshot
from foretell.errors import ForetellError, InputError
from foretell.events.ingest.nulled_values import NulledValues, unreadable_values
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import reading_notes
from foretell.events.reorder_buffer import LateEvents
from foretell.events.types import Scalar, Type, format_time
from foretell.language import tree
from foretell.language.printer import horizon_text
from foretell.language.statement_registry import StatementRegistry
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.machine.matches.results import ResultBatch
from foretell.notify.notifications import Notifications
from foretell.notify.ordered_notifications import to_notifications
from foretell.records import record

if TYPE_CHECKING:
    from foretell.forecast.online.outlook import Outlooks


@record
class ColumnarResult:
    """The results of pushed batches as columns; the other fields are those of `Notifications`."""

    results: tuple[ResultBatch, ...]
    bad: tuple[QuarantinedEvent, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    late: tuple[LateEvents, ...] = ()
    unreadable: tuple[NulledValues, ...] = ()


class Engine(Viewed):
    """Runs subscriptions on batches of events as they are pushed.

    >>> engine = Engine("STREAM s (k STRING, time INT) TIME time;"
    ...                 "SUBSCRIBE pair FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';")
    >>> len(engine.push("s", [{"time": 1, "k": "a"}]))
    0
    >>> engine.push("s", [{"time": 2, "k": "b"}])[0].events
    {'a': 0, 'b': 1}

    Subscriptions can be added and removed at any time, with effect from the next event on:

    >>> engine.subscribe("SUBSCRIBE again FROM s MATCH a DEFINE a AS k = 'a'")
    >>> engine.unsubscribe("pair")
    >>> [n.subscription for n in engine.push("s", [{"time": 3, "k": "a"}])]
    ['again']
    >>> engine
    Engine: 1 statement on s, 0 partial matches
      statement  from  match
      again      s     a
    """

    #: Of a restored engine: the statements that continue, those that started anew, and those that it no longer has.
    carried: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def __init__(
        self,
        subscriptions: SubscriptionsLike,
        *,
        time: Mapping[str, str] | str | None = None,
        read: ReadOptions | Mapping[str, ReadOptions] | None = None,
        tables: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        model: ModelLike | None = None,
        learning: Learning | None = None,
    ) -> None:
        registry = StatementRegistry(as_subscriptions(subscriptions))
        settings = EngineSettings.of(limits, model, learning)
        settings.check_delays(registry.subscriptions())
        #: Notes on the subscriptions with FORECAST that the model was not trained for.
        self.untrained = settings.untrained_notes(registry.subscriptions())
        inputs = InputRegistry(registry, as_input_settings(time, read))
        self._use = ExclusiveUse()
        loaded = live_tables(registry.templates, as_tables(tables), settings.limits)
        self._deployment = Deployment(registry, inputs, loaded, settings)

    def _view(self, rows: int) -> View:
        view = self.subscriptions._view(rows)
        state = [counted(self.partial_matches, "partial match", "partial matches")]
        if self.waiting:
            state.append(f"{counted(self.waiting, 'event')} held back")
        late = [f"{stream} {count:,}" for stream, count in self.late.items() if count]
        remarks = [f"late events: {listed(late)}"] if late else []
        stopped = sorted(self.stopped_lanes.items())
        remarks += [f"{name} stopped in {counted(lanes, 'lane')}: see .refused" for name, lanes in stopped]
        return replace(view, title=f"Engine: {', '.join([view.title, *state])}", remarks=remarks)

    @property
    def subscriptions(self) -> Subscriptions:
        """The statements that the engine has now."""
        return self._deployment.registry.subscriptions()

    @property
    def late(self) -> dict[str, int]:
        """How many events of each stream came later than LATE BY allows."""
        pipeline = self._deployment.pipeline
        return {} if pipeline is None else dict(pipeline.buffer.late_counts)

    @property
    def partial_matches(self) -> int:
        """How many partial matches the engine holds, of all subscriptions in all lanes."""
        pipeline = self._deployment.pipeline
        return 0 if pipeline is None else sum(pipeline.runtime.ledger.held.values())

    @property
    def waiting(self) -> int:
        """How many events of streams with LATE BY the reorder buffer holds back."""
        pipeline = self._deployment.pipeline
        return 0 if pipeline is None else len(pipeline.buffer)

    @property
    def awaits_time(self) -> bool:
        """Whether time alone may bring results, without further events."""
        pipeline = self._deployment.pipeline
        return pipeline is not None and pipeline.awaits_time

    @property
    def refused(self) -> tuple[tuple[str, Mapping[str, Scalar]], ...]:
        """The subscriptions that stopped in a lane because they exceeded the limits, with the lane's key: the first
        10,000. `stopped_lanes` counts all."""
        pipeline = self._deployment.pipeline
        return () if pipeline is None else tuple(pipeline.runtime.ledger.refused)

    @property
    def stopped_lanes(self) -> dict[str, int]:
        """In how many lanes each subscription stopped because it exceeded the limits."""
        pipeline = self._deployment.pipeline
        return {} if pipeline is None else dict(pipeline.runtime.ledger.stopped)

    @property
    def dropped_matches(self) -> dict[str, int]:
        """How many partial matches of each subscription the limits have removed."""
        pipeline = self._deployment.pipeline
        return {} if pipeline is None else dict(pipeline.runtime.ledger.dropped)

    # ── events ──

    @exclusive
    def push(self, stream: str, batch: object, *, strict: bool = False) -> Notifications:
        """Process a batch of events, which may be in any order, and return the notifications that they complete.

        An event that is earlier than those of earlier batches, less the LATE BY of the streams, is late: it goes to
        `late`, or, where the stream has no LATE BY, the batch is refused. Malformed events go to `bad`; a value that
        cannot be read is NULL, and counted in `unreadable`. A refused batch leaves the engine as it was.
        """
        events = self._deployment.inputs.read(stream, batch, strict=strict)
        totals, notes = ((stream, events.total),), reading_notes(events)
        unreadable = unreadable_values(events.nulled) if events.nulled else ()
        if not events.table.num_rows:
            return Notifications((), events.quarantined, totals, notes)
        with self._use.changing:
            pipeline = self._deployment.ensure_pipeline(events)
            pipeline.require_room((events,))
            (late,) = pipeline.buffer.add_together((events,))
            self._deployment.inputs.schemas[stream] = events.schema
            rows = pipeline.notifications(pipeline.revised_by((late,), self._deployment.tables))
        notes += pipeline.limit_notes()
        bad, statements = events.quarantined, pipeline.statements
        return Notifications(rows, bad, totals, notes, late.events(), statements, unreadable=unreadable)

    def push_together(
        self, batches: Mapping[str, object], latest: Mapping[str, int | float] | None = None
    ) -> Notifications:
        """Process batches of several streams at once: none makes events of another late.

        Where several engines share the lanes of the streams, `latest` tells each the latest event time of every stream
        in all of them (a TIMESTAMP in microseconds), so that time advances for all lanes together.
        """
        result = self.push_columns(batches, latest)
        late = tuple(event for events in result.late for event in events.events())
        rows, pipeline = to_notifications(result.results), self._deployment.pipeline
        statements = () if pipeline is None else pipeline.statements
        bad, notes, unreadable = result.bad, result.notes, result.unreadable
        return Notifications(rows, bad, result.totals, notes, late, statements, unreadable=unreadable)

    @exclusive
    def push_columns(
        self,
        batches: Mapping[str, object],
        latest: Mapping[str, int | float] | None = None,
        take: Callable[[list[ResultBatch]], None] | None = None,
    ) -> ColumnarResult:
        """The same as `push_together`, with columns for the result. Where there is a function to `take` results, it
        gets them in parts, one after the other in their order, and the result has none."""
        read_batches = [self._deployment.inputs.read(stream, batch) for stream, batch in batches.items()]
        with self._use.changing:
            for events in read_batches:
                self._deployment.ensure_pipeline(events)
                self._deployment.inputs.schemas[events.stream] = events.schema
        bad = tuple(bad for events in read_batches for bad in events.quarantined)
        totals = tuple((events.stream, events.total) for events in read_batches)
        notes = tuple(note for events in read_batches for note in reading_notes(events))
        unreadable = tuple(values for events in read_batches for values in unreadable_values(events.nulled))
        pipeline = self._deployment.pipeline
        if pipeline is None:
            return ColumnarResult((), bad, totals, notes, (), unreadable)
        with self._use.changing:
            pipeline.require_room(read_batches)
            late = pipeline.buffer.add_together(read_batches)
            revised = pipeline.revised_by(late, self._deployment.tables)
            pipeline.buffer.observe_latest(latest or {})
            results: tuple[ResultBatch, ...] = ()
            if take is None:
                results = tuple(pipeline.process(revised))
            else:
                for part in pipeline.parts(revised):
                    take(part)
        return ColumnarResult(results, bad, totals, notes + pipeline.limit_notes(), tuple(late), unreadable)

    @changes
    def advance(self, now: str | int | float | date | datetime) -> Notifications:
        """Advance time to `now`: release the events before it that are held back, and complete matches that only
        need time to pass.

        An event at `now` itself may still come; those that have come wait for it.
        """
        kinds = {schema.time_type for schema in self._deployment.inputs.schemas.values()} - {Type.UNKNOWN}
        until = parse_until(now, kinds)
        pipeline = self._deployment.pipeline
        if pipeline is None or until is None:
            return Notifications(())
        if until < pipeline.buffer.watermark:
            watermark = format_time(pipeline.buffer.watermark, next(iter(kinds)))
            raise InputError("out-of-order", f"time cannot go back: it is {watermark} already")
        pipeline.buffer.advance(until)
        rows = pipeline.process_until(pipeline.buffer.release(), until)
        return Notifications(rows, notes=pipeline.limit_notes(), statements=pipeline.statements)

    @changes
    def end(self) -> Notifications:
        """Process the events that are held back, because no more will come. Time ends with the last of them.

        AFTER MATCH LONGEST takes the matches that waited for further events.
        """
        pipeline = self._deployment.pipeline
        if pipeline is None:
            return Notifications(())
        return Notifications(pipeline.process_until(pipeline.buffer.drain(), ends=True), statements=pipeline.statements)

    @exclusive
    def outlook(self, name: str, *, confidence: float = 0.8, reach: float = 4.0) -> Outlooks:
        """The present forecasts of a statement with FORECAST, likeliest first: one for each lane that has had events
        or, where a value separates the partial matches of a lane, one for each value that has any.

        The intervals contain the next match with this `confidence`; they look `reach` times as far as the FORECAST.
        """
        from foretell.forecast.chain.match_interval import IntervalRequest
        from foretell.forecast.online.outlook import Outlooks, outlooks

        asked = IntervalRequest(confidence, reach)
        horizon = horizon_text(self._forecast_clause(name))
        pipeline = self._deployment.pipeline
        if pipeline is None:
            return Outlooks()
        found = [o for observed in pipeline.runtime.observed(name) for o in outlooks(name, horizon, observed, asked)]
        return Outlooks(sorted(found, key=lambda o: -1.0 if o.probability is None else o.probability, reverse=True))

    def _forecast_clause(self, name: object) -> tree.Forecast:
        statement = self._deployment.registry.require(name)
        forecast = statement.forecast if isinstance(statement, tree.Subscription | tree.Correlator) else None
        if forecast is None:
            hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to it"
            raise InputError("no-forecasts", f"'{name}' has no FORECAST clause", hint=hint)
        return forecast

    # ── estimates ──

    @changes
    def confirm(self, estimate: EstimateLike, *, happened: bool = True) -> Notifications:
        """Say that an estimate is true, or with `happened=False` that it is not: the truth became known. Returns its
        row of the kind "confirmed" or "withdrawn", which ends at the present time.

        The estimate is its notification, a dict with columns of it, or its `id`. A confirmed one is never withdrawn.
        """
        rows = to_notifications(self._deployment.settled(as_estimate(estimate), happened=happened))
        pipeline = self._deployment.pipeline
        return Notifications(rows, statements=() if pipeline is None else pipeline.statements)

    @changes
    def confirm_columns(self, estimate: EstimateLike, *, happened: bool = True) -> list[ResultBatch]:
        """The same as `confirm`, with columns for the result."""
        return self._deployment.settled(as_estimate(estimate), happened=happened)

    # ── subscriptions ──

    @changes
    def subscribe(self, subscriptions: SubscriptionsLike, *, tables: Mapping[str, object] | None = None) -> None:
        """Add statements from the next event on: their matches contain only events that come after this call.

        They may read the streams and statements that the engine has, and streams that they declare. `tables` has the
        rows of new FOR EACH tables. If a statement is refused, nothing changes.
        """
        deployment = self._deployment
        added = as_subscriptions(subscriptions)
        given = as_tables(tables)
        for name in given:
            if name in deployment.tables:
                hint = f"change it with add_rows({name!r}, ...) and remove_rows({name!r}, ...)"
                raise InputError("known-table", f"the table '{name}' exists already", hint=hint)
        try:
            new = deployment.registry.unregistered(added)
            fresh = [name for name in new.tables if name not in deployment.tables]
            deployment.add(new, live_tables(fresh, given, deployment.settings.limits))
        except ForetellError as error:
            raise error.within(added.text, added.file) from None

    @changes
    def unsubscribe(self, name: str) -> None:
        """Remove a statement and its partial matches. No other statement may read it."""
        self._deployment.remove(self._deployment.registry.require_unread(name))

    @changes
    def add_rows(self, table: str, rows: object) -> None:
        """Add rows to a FOR EACH table: each is a subscription from the next event on."""
        live_table = self._deployment.table(table)
        self._deployment.add_rows(live_table, live_table.read_new(rows, self._deployment.table_budget))

    @changes
    def remove_rows(self, table: str, ids: Iterable[Scalar]) -> None:
        """Remove rows of a FOR EACH table by their ids, with their partial matches."""
        live_table = self._deployment.table(table)
        self._deployment.remove_rows(live_table, live_table.require_ids(ids))

    # ── models and snapshots ──

    @exclusive
    def model(self) -> Model:
        """The model of the engine, with what statements with LOSING have learned since; that of forecasts stays as it
        was trained. A snapshot has both."""
        return self._deployment.learned_model()

    @exclusive
    def snapshot(self) -> bytes:
        """The engine as bytes, for `restore`: statements, tables, partial matches, and events that are held back."""
        return take_snapshot(self._deployment)

    @classmethod
    def restore(
        cls,
        subscriptions: SubscriptionsLike | None,
        snapshot: bytes,
        *,
        time: Mapping[str, str] | str | None = None,
        read: ReadOptions | Mapping[str, ReadOptions] | None = None,
        tables: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        model: ModelLike | None = None,
        learning: Learning | None = None,
    ) -> Engine:
        """An engine that continues from a snapshot, with the snapshot's statements where `subscriptions` is None.

        Statements that are the same, and read the same, continue (`carried`). Others start with the next event
        (`fresh`); those of the snapshot that are not requested any more are removed (`dropped`). Where a table is
        given, rows that it lacks are removed and new rows are added. Where a `model` is given, forecasts start anew
        with it. A snapshot has no read options: give them again.
        """
        request = RestoreRequest(
            None if subscriptions is None else as_subscriptions(subscriptions),
            as_input_settings(time, read),
            as_tables(tables),
            as_limits(limits),
            None if model is None else as_model(model),
            as_learning(learning),
        )
        engine = cls.__new__(cls)
        engine._use = ExclusiveUse()
        engine._deployment, diff = restore_snapshot(snapshot, request)
        engine.untrained = ()
        engine.carried, engine.fresh, engine.dropped = diff.carried, diff.fresh, diff.dropped
        return engine

"""The deployed statements of an engine: their streams, tables and settings, and the pipeline that runs them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from foretell.arguments.estimate import EstimateName, no_estimate, several_estimates
from foretell.arguments.table_budget import TableBudget
from foretell.engine.input_registry import InputRegistry
from foretell.engine.live_tables import LiveTable
from foretell.engine.planning import Delays, extend_runtime, restore_runtime, start_runtime
from foretell.engine.settings import EngineSettings
from foretell.errors import ForetellError, InputError, refuse, suggestion
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import Notification
from foretell.events.reorder_buffer import LateEvents, ReorderBuffer
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.check import Checker
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.parser import parse as parse_text
from foretell.language.statement_registry import StatementRegistry
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import place_of
from foretell.learn.model import Model
from foretell.machine.estimate_revisions import reported_estimates, revised_by_late
from foretell.machine.matches.results import ResultBatch, ResultPiece
from foretell.machine.matches.settled_results import SettledResults
from foretell.machine.result_stage import ResultStage
from foretell.machine.runtime import MatchRuntime
from foretell.notify.collected_notifications import collect
from foretell.plan.match_plan import MatchPlan
from foretell.records import record


@record
class PlannedStatements:
    """The statements of a plan: notifications of the engine refer to those of the time when they were made. In place of
    hidden statements there are those with LOSING."""

    plan: MatchPlan
    stages: Mapping[str, ResultStage]

    def __iter__(self) -> Iterator[CheckedSubscription]:
        hidden = {name for stage in self.stages.values() for name in stage.patterns}
        yield from (s.subscription for s in self.plan.statements if s.subscription.name not in hidden)
        yield from (stage.subscription for stage in self.stages.values())


#: So many results are handed over together, at least.
PART_RESULTS = 131_072


@record
class EventPipeline:
    """The way of an event through a running engine: reorder buffer, then match runtime."""

    buffer: ReorderBuffer
    runtime: MatchRuntime

    def add(self, statement: CheckedStatement, table: LiveTable | None, delays: Delays) -> None:
        extend_runtime(self.runtime, statement, {} if table is None else {table.name: table.template()}, delays)

    def remove(self, name: str) -> None:
        if name in self.runtime:
            self.runtime.remove(name)

    def require_room(self, batches: Sequence[EventBatch]) -> None:
        """Make room in the budget for batches; raises InputError where there is none, and changes nothing then."""
        self.runtime.ledger.bytes[id(self.buffer)] = self.buffer.nbytes
        # All memory that a table refers to is quickly known, but where it is a slice of another that is too much.
        size = 0
        for batch in batches:
            size += batch.table.get_total_buffer_size()
        if not self.runtime.memory.has_room(size):
            self.runtime.memory.require_room(sum([batch.table.nbytes for batch in batches]))

    def revised_by(self, late: Sequence[LateEvents], tables: Mapping[str, LiveTable]) -> list[ResultBatch]:
        """The estimates that late events confirm or withdraw, before events that come with them are processed."""
        if not self.runtime.stages or not any(map(len, late)):
            return []
        return revised_by_late(self.runtime, late, {name: table.template() for name, table in tables.items()})

    def notifications(self, revised: list[ResultBatch]) -> Sequence[Notification]:
        """The notifications of `process`, of which there may be very many."""
        return collect(self._pieces(revised), self.runtime.ledger)

    def parts(self, revised: list[ResultBatch]) -> Iterator[list[ResultBatch]]:
        """The results of `process`, in parts that follow one another in the order of notifications."""
        return SettledResults(self.runtime.ledger, PART_RESULTS, patient=True).parts(self._pieces(revised))

    def process(self, revised: list[ResultBatch]) -> list[ResultBatch]:
        """Process the events that the watermark has passed. Each statement's clock advances with the streams that it
        reads, also where their latest events still wait (decision 0002, item 3). Results that were `revised` before
        come with theirs."""
        return revised + self.runtime.process(self.buffer.release(), clocks=self.buffer.stream_clocks())

    def _pieces(self, revised: list[ResultBatch]) -> Iterator[ResultPiece]:
        pieces = self.runtime.pieces(self.buffer.release(), clocks=self.buffer.stream_clocks())
        return chain([ResultPiece(revised, -math.inf)], pieces) if revised else pieces

    def process_until(
        self, events: Mapping[str, EventBatch], until: int | float | None = None, *, ends: bool = False
    ) -> Sequence[Notification]:
        return collect(self.runtime.pieces(events, until, ends=ends), self.runtime.ledger)

    @property
    def awaits_time(self) -> bool:
        """Whether time alone may bring results: events wait for it, it completes matches, or there are forecasts."""
        groups = self.runtime.groups.values()
        observed = any(nfa_group.observer is not None for group in groups for nfa_group in group.nfa_groups)
        return bool(len(self.buffer)) or observed or any(group.waits for group in groups)

    @property
    def statements(self) -> PlannedStatements:
        return PlannedStatements(self.runtime.plan, dict(self.runtime.stages))

    def limit_notes(self) -> tuple[str, ...]:
        """The limits that subscriptions have exceeded since the last call, as notes for the user."""
        return self.runtime.ledger.take_warnings()


@dataclass
class Deployment:
    """Statements that can be added and removed while events are processed.

    The pipeline is built with the first events, because these show the types that the statements leave open. `checker`
    exists from the first `add` on, or from the first events on.
    """

    registry: StatementRegistry
    inputs: InputRegistry
    tables: dict[str, LiveTable]
    settings: EngineSettings
    checker: Checker | None = None
    pipeline: EventPipeline | None = None

    # ── statements ──

    def add(self, new: Subscriptions, tables: Mapping[str, LiveTable]) -> None:
        """Add statements and their tables, or none of them if one is refused."""
        self._refuse_unknown_streams(new)
        checker = self._checker()
        self.registry.add(new)
        self.tables |= tables
        try:
            for name in [*new.declared, *new.sources]:
                self._add_stream(str(name))
            for statement in checker.add(new.program, self._table_types()):
                self._start(statement)
            self._account_tables()
        except ForetellError:
            for statement_tree in reversed(new.program.statements):
                self.remove(str(statement_tree.name))
            raise

    def _start(self, statement: CheckedStatement) -> None:
        if self.pipeline is None:
            return
        table = statement.tree.table
        self.pipeline.add(statement, None if table is None else self.tables[table], self.settings.delays)

    def remove(self, name: str) -> None:
        """Remove a statement, also one that `add` has refused halfway."""
        statement = self.registry.by_name[name].tree
        self.registry.remove(name)
        if self.pipeline is not None:
            self.pipeline.remove(name)
        if isinstance(statement, tree.Stream):
            self.remove_stream(name)
        if self.checker is not None:
            self.checker.remove(name)
        table = statement.table if isinstance(statement, tree.Subscription | tree.Correlator) else None
        if table is not None and table not in self.registry.templates:
            self.tables.pop(table, None)
            self._account_tables()

    def replace_registry(self, registry: StatementRegistry) -> None:
        """Take over the same statements in another order or text, which may have another LATE BY."""
        self.registry = self.inputs.registry = registry
        if self.pipeline is not None:
            for name in self.inputs.schemas:
                self.pipeline.buffer.set_lateness(name, self.inputs.lateness(name))

    # ── streams ──

    def remove_stream(self, stream: str) -> None:
        """Forget the schema of a stream."""
        self.inputs.schemas.pop(stream, None)
        if self.checker is not None:
            self.checker.streams.pop(stream, None)
        if self.pipeline is not None:
            self.pipeline.buffer.remove_stream(stream)

    def _add_stream(self, name: str) -> None:
        """Take up a stream while events are processed: a statement begins to read it, or its first events come."""
        if self.pipeline is None or name in self.pipeline.buffer.lateness or self.registry.is_derived(name):
            return
        assert self.checker is not None
        self.checker.streams[name] = self.inputs.add(name)
        self.pipeline.buffer.set_lateness(name, self.inputs.lateness(name))

    def _refuse_unknown_streams(self, new: Subscriptions) -> None:
        for stream in new.sources:
            known = stream in new.declared or stream in self.registry or stream in self.inputs
            if not known and stream not in self.inputs.time:
                hint = suggestion(stream, [*self.registry.by_name, *self.registry.readers])
                hint = hint or f"declare it: STREAM {stream} (attribute TYPE, ...) TIME column"
                refuse("unknown-stream", f"unknown stream '{stream}'", place_of(stream), hint)

    # ── FOR EACH tables ──

    def table(self, name: object) -> LiveTable:
        if not isinstance(name, str) or name not in self.tables:
            statement = self.registry.by_name.get(str(name))
            subscription = statement.tree if statement is not None else None
            table = subscription.table if isinstance(subscription, tree.Subscription | tree.Correlator) else None
            hint = suggestion(str(name), self.tables) if table is None else f"'{name}' is FOR EACH '{table}'"
            raise InputError("unread-table", f"no statement is FOR EACH '{name}'", hint=hint)
        return self.tables[name]

    @property
    def table_budget(self) -> TableBudget:
        """The memory that is left for more rows."""
        if self.pipeline is None:
            held = sum(table.nbytes for table in self.tables.values())
        else:
            self._account_tables()
            held = sum(self.pipeline.runtime.ledger.bytes.values())
        return TableBudget(self.settings.limits.budget, held)

    def _account_tables(self) -> None:
        """Tells the ledger how much memory the tables take."""
        if self.pipeline is not None:
            self.pipeline.runtime.ledger.account_tables(sum(table.nbytes for table in self.tables.values()))

    def add_rows(self, table: LiveTable, rows: TemplateTable) -> None:
        if self.pipeline is not None:
            for name in self.registry.templates[table.name]:
                self.pipeline.runtime.add_rows(name, rows)
        table.add(rows)
        self._account_tables()

    def remove_rows(self, table: LiveTable, ids: ArrowArray) -> None:
        """Remove the rows with these ids, each of them once and there."""
        if self.pipeline is not None:
            for name in self.registry.templates[table.name]:
                self.pipeline.runtime.remove_rows(name, ids)
        table.remove(ids)
        self._account_tables()

    def replace_rows(self, table: LiveTable, wanted: LiveTable) -> None:
        """Add and remove rows until the table is as wanted. A row with changed values is a new row."""
        gone, new = table.changes_to(wanted)
        self.remove_rows(table, gone)
        self.add_rows(table, new)

    def _table_types(self) -> dict[str, Mapping[str, Type]]:
        return {name: table.types for name, table in self.tables.items()}

    # ── estimates ──

    def settled(self, estimate: EstimateName, *, happened: bool) -> list[ResultBatch]:
        """The result that confirms or withdraws an estimate, which must be reported and not settled yet."""
        if self.pipeline is None:
            raise no_estimate(estimate)
        reported = reported_estimates(self.pipeline.runtime, self.pipeline.buffer.watermark)
        found = [own for own in reported if estimate.means(own.notification)]
        if not found:
            raise no_estimate(estimate)
        if len(found) > 1:
            raise several_estimates(estimate, len(found))
        return [found[0].settle(happened)]

    # ── the pipeline ──

    def ensure_pipeline(self, first: EventBatch) -> EventPipeline:
        """The pipeline, ready for the events of a batch. It is built with the first batch."""
        if self.pipeline is None:
            inputs = InputRegistry(self.registry, self.inputs.settings)
            inputs.infer_schemas(first)
            checker = Checker(inputs.schemas)
            checked = CheckedProgram(checker.streams, self._check(checker), checker.ranks)
            tables = {name: table.template() for name, table in self.tables.items()}
            settings = self.settings
            forecasts, delays = settings.forecasts(), settings.delays
            runtime = start_runtime(checked, tables, settings.limits, forecasts, delays, live=True)
            buffer = ReorderBuffer({name: inputs.lateness(name) for name in inputs.schemas})
            self.inputs, self.checker = inputs, checker
            self.pipeline = EventPipeline(buffer, runtime)
            self._account_tables()
        if first.stream not in self.pipeline.buffer.lateness:
            self._add_stream(first.stream)
        return self.pipeline

    def resume(self, state: Mapping[str, Any], *, anew: bool) -> None:
        """Rebuild the pipeline from the state in a snapshot; what was learned begins `anew` with the model."""
        checker = Checker(self.inputs.schemas)
        checker.rank_streams(state["ranks"])
        checked = CheckedProgram(checker.streams, self._check(checker), checker.ranks)
        tables = {name: table.template() for name, table in self.tables.items()}
        runtime = restore_runtime(
            state["running"],
            checked,
            tables,
            lambda text: _rechecked(checker, text),
            self.settings.limits,
            self.settings.forecasts(ignore_snapshot=anew),
            partial(self.settings.delays, ignore_snapshot=anew),
        )
        lateness = {name: self.inputs.lateness(name) for name in self.inputs.schemas}
        buffer = ReorderBuffer.restore(lateness, state["waiting"], self.inputs.schemas)
        self.checker = checker
        self.pipeline = EventPipeline(buffer, runtime)
        self._account_tables()

    def learned_model(self) -> Model:
        """The model of the settings with what estimates have learned since."""
        model = self.settings.model
        stages = {} if self.pipeline is None else self.pipeline.runtime.stages
        learned = {name: stage.learned() for name, stage in stages.items()}
        return replace(model, delays={n: {**parts, **learned.get(n, {})} for n, parts in model.delays.items()})

    def _checker(self) -> Checker:
        if self.checker is None:
            self.checker = Checker()
            self._check(self.checker)
        return self.checker

    def _check(self, checker: Checker) -> tuple[CheckedStatement, ...]:
        """Check all statements, text by text, so that an error points into its own text."""
        checked: list[CheckedStatement] = []
        for part in self.registry.by_text():
            try:
                checked += checker.add(part.program, self._table_types())
            except ForetellError as error:
                raise error.within(part.text, part.file) from None
        return tuple(checked)


def _rechecked(checker: Checker, text: str) -> CheckedSubscription:
    (statement,) = parse_text(text).statements
    assert isinstance(statement, tree.Subscription)
    return checker.recheck(statement)

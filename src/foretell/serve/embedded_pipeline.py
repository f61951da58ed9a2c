"""A pipeline on the engine of this process: it follows files and messages, and writes what the pipeline file says.

Events are pushed as they come. What they bring is shown at once, and committed soon after: first the output of a batch,
then the checkpoint with the engine's snapshot and the positions of the sources. A crash in between repeats the batch
under its number, and the output takes each number once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa

from foretell.arguments.model import as_model
from foretell.arguments.pipeline import Endpoint, Pipeline
from foretell.arguments.pipeline_sources import declared_stream, surveyed_declarations, with_streams
from foretell.engine import Engine
from foretell.errors import InputError
from foretell.events.ingest.file_survey import is_incomplete
from foretell.events.ingest.nulled_values import unreadable_values
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, reading_notes
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.forecast.online.factory import untrained_notes
from foretell.language.parser import parse as parse_text
from foretell.language.printer import program_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import Program
from foretell.machine.matches.notification_order import notification_order
from foretell.machine.matches.results import ResultBatch
from foretell.notify.arrow_encoder import encode_results
from foretell.notify.part_writers import json_lines
from foretell.plan.result_schema import result_schema
from foretell.serve.batch_output import BatchOutput, NoOutput, SideFiles, batch_output
from foretell.serve.checkpoint_store import CheckpointStore, PipelineCheckpoint
from foretell.serve.engine_session import EngineSession
from foretell.serve.file_source import FileSource
from foretell.serve.recent_events import RecentEvents
from foretell.serve.recorder import ServiceRecorder
from foretell.serve.records import SideEvent
from foretell.spark.notification_columns import NotificationColumns, SideRow, notification_columns

#: Events are committed so many seconds after they were pushed, or later where a commit takes long.
_COMMIT_SECONDS, _COMMIT_PATIENCE = 1.0, 20.0
#: With so many bytes of rows that are not written yet they are committed at once.
_MOST_PENDING = 64 * 1024 * 1024

#: The formats of sources that this engine follows beside files.
MESSAGES = "foretell_mqtt"


class EventSource(Protocol):
    """Follows one stream. Its state is part of the checkpoint."""

    declaration: StreamDeclaration

    @property
    def stream(self) -> str: ...
    def poll(self) -> list[EventBatch]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class EmbeddedPipeline:
    """`write` takes lines of JSON where notifications go to standard output as well."""

    patience = 20.0

    def __init__(
        self, pipeline: Pipeline, recorder: ServiceRecorder, write: Callable[[bytes], object] | None = None
    ) -> None:
        self._pipeline, self._recorder, self._write = pipeline, recorder, write
        self._sources: list[EventSource] = []
        self._store: CheckpointStore | None = None
        self._output: BatchOutput = NoOutput()
        self._side_files = SideFiles(pipeline.side_files)
        self._tables: list[pa.Table] = []
        self._late: list[SideEvent] = []
        self._bad: list[SideEvent] = []
        self._pending, self._is_changed = 0, False
        self._batch, self._due, self._commit_took = 0, 0.0, 0.0
        self._beginning: PipelineCheckpoint | None = None
        self.recent = RecentEvents()

    # ── the runner's protocol ──

    def prepare(self) -> None:
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        pipeline = self._pipeline
        if pipeline.trigger is not None or pipeline.spark:
            self._recorder.note("trigger, shards and [spark] are for Spark: this engine pushes events as they come")
        if pipeline.control is not None:
            hint = "leave [control] out: statements are changed on the page; or use --engine spark"
            raise InputError("not-followed", "control: the embedded engine follows no control stream", hint=hint)
        self._output = batch_output(pipeline)
        self._store = CheckpointStore(pipeline.checkpoint)
        mark = {"streams": sorted(pipeline.streams), "engine": "embedded"}
        declarations, notes = surveyed_declarations(pipeline, mark)
        for name, source in pipeline.streams.items():
            if name not in declarations:
                declarations[name] = _message_declaration(pipeline, name, source)
        for note in (*notes, *untrained_notes(as_model(pipeline.model), pipeline.statements)):
            self._recorder.note(note)
        self._sources = [_source(declarations[name], source) for name, source in pipeline.streams.items()]
        _refuse_mixed_times(declarations)
        program = with_streams(pipeline.statements, declarations)
        checkpoint = self._store.read()
        self._output.claim(None if checkpoint is None else checkpoint.batch)
        engine = self._engine(program, checkpoint)
        self._program_text = program_text(program.program)
        self.session = EngineSession(
            engine,
            self._recorder,
            self._take,
            limits=pipeline.limits,
            model=as_model(pipeline.model),
            recent=self.recent,
        )
        self._time_columns = {name: declaration.time for name, declaration in declarations.items()}
        if checkpoint is not None:
            self._resume(checkpoint)
        else:
            self._beginning = self._checkpoint()
        self._describe()

    def start(self) -> None:
        self.session.look(always=True)

    def step(self) -> bool:
        polled = {source.stream: source.poll() for source in self._sources}
        batches = {stream: _joined(found) for stream, found in polled.items() if found}
        if batches:
            self._process(batches)
        if self._is_changed and (self._pending > _MOST_PENDING or time.monotonic() >= self._due):
            self._commit()
        self.session.look()
        return bool(batches)

    def stop(self) -> None:
        self._commit()
        self.session.look(always=True)

    def close(self) -> None:
        for part in (*self._sources, self._output, self._store):
            if part is not None:
                part.close()

    def subscribe(self, text: str) -> None:
        self._commit()
        self.session.subscribe(text)
        self._changed_statements()

    def replace(self, name: str, text: str) -> None:
        self._commit()
        self.session.replace(name, text)
        self._changed_statements()

    def unsubscribe(self, name: str) -> None:
        self._commit()
        self.session.unsubscribe(name)
        self._changed_statements()

    def automaton(self, name: str) -> dict[str, Any]:
        return self.session.automaton(name)

    def partial_matches(self, name: str, limit: int) -> dict[str, Any]:
        return self.session.partial_matches(name, limit)

    # ── events ──

    def _process(self, batches: dict[str, EventBatch]) -> None:
        bad = [_bad_event(event) for batch in batches.values() for event in batch.quarantined]
        for batch in batches.values():
            for note in reading_notes(batch):
                self._recorder.note(note)
            unreadable = sum(values.count for values in unreadable_values(batch.nulled))
            self._recorder.count_events(batch.stream, len(batch.quarantined), None, unreadable)
        if bad:
            self._recorder.set_aside([], bad)
            self._bad += bad
        self._mark_changed()
        columns = {source.stream: source.declaration.columns for source in self._sources}
        tables = {name: batch.table.select(columns[name]) for name, batch in batches.items() if batch.table.num_rows}
        if tables:
            self._late += self.session.push(tables, self._time_columns)

    def _take(self, found: Sequence[Notification], results: list[ResultBatch]) -> None:
        if self._write is not None:
            for lines in json_lines(found):
                self._write(lines)
        if isinstance(self._output, NoOutput):
            return
        for batch, match, row, _ in notification_order(results).by_batch():
            table = self._columns.table(encode_results(batch, match, row))
            self._tables.append(table)
            self._pending += table.nbytes

    def _mark_changed(self) -> None:
        if not self._is_changed:
            self._is_changed = True
            self._due = time.monotonic() + max(_COMMIT_SECONDS, _COMMIT_PATIENCE * self._commit_took)

    # ── commits ──

    def _commit(self) -> None:
        """Write the output of a batch, then the checkpoint that it belongs to."""
        if not self._is_changed:
            return
        began = time.monotonic()
        side = [*(SideRow("late", e.stream, e.event, self._late_time(e)) for e in self._late)]
        side += [SideRow("bad", e.stream, {"reason": e.reason, "raw": e.event}) for e in self._bad]
        if side and not isinstance(self._output, NoOutput):
            self._tables.append(self._columns.side_table(side))
        self._write_beginning()
        self._output.write(self._batch, [table for table in self._tables if table.num_rows])
        self._side_files.append("late", self._late)
        self._side_files.append("bad", self._bad)
        self._batch += 1
        self._write_checkpoint()
        self._tables, self._late, self._bad, self._pending = [], [], [], 0
        self._is_changed = False
        self._commit_took = time.monotonic() - began

    def _late_time(self, event: SideEvent) -> Any:
        time_column = self._time_columns[event.stream]
        value = event.event.get(time_column)
        if self.session.time_type is Type.TIMESTAMP and isinstance(value, str):
            from datetime import datetime

            return datetime.fromisoformat(value)
        return value

    def _write_beginning(self) -> None:
        """Write the checkpoint of a new pipeline, before its first batch: after a crash the output has batch 0, and the
        checkpoint tells that it is this pipeline's own."""
        assert self._store is not None
        if self._beginning is not None:
            self._store.write(self._beginning)
            self._beginning = None

    def _write_checkpoint(self) -> None:
        assert self._store is not None
        self._store.write(self._checkpoint())
        for source in self._sources:
            source.commit()

    def _checkpoint(self) -> PipelineCheckpoint:
        return PipelineCheckpoint(
            snapshot=self.session.engine.snapshot(),
            statements=self._program_text,
            positions={source.stream: source.state() for source in self._sources},
            side_files=self._side_files.ends,
            batch=self._batch,
        )

    def _changed_statements(self) -> None:
        self._describe()
        self._mark_changed()
        self._commit()
        self.session.look(always=True)

    def _describe(self) -> None:
        """The columns of the output, which follow from the statements of now."""
        checked = self.session.engine.subscriptions.checked()
        sink = self._pipeline.output
        wants_text = self._pipeline.writes_json or (sink is not None and sink.format in ("foretell_webhook", MESSAGES))
        shapes = list(map(result_schema, checked.statements))
        self._columns: NotificationColumns = notification_columns(shapes, json=wants_text)

    # ── restarts ──

    def _engine(self, program: Subscriptions, checkpoint: PipelineCheckpoint | None) -> Engine:
        pipeline = self._pipeline
        if checkpoint is None:
            return Engine(program, tables=pipeline.tables, limits=pipeline.limits, model=pipeline.model)
        running = Engine.restore(None, checkpoint.snapshot, limits=pipeline.limits)
        wanted = _wanted(program, checkpoint.statements, running.subscriptions)
        known = running.subscriptions.tables
        tables = {name: pipeline.tables[name] for name in wanted.tables if name not in known}
        return Engine.restore(wanted, checkpoint.snapshot, tables=tables, limits=pipeline.limits)

    def _resume(self, checkpoint: PipelineCheckpoint) -> None:
        self._batch = checkpoint.batch
        for source in self._sources:
            if source.stream in checkpoint.positions:
                source.restore(checkpoint.positions[source.stream])
        self._side_files.restore(checkpoint.side_files)
        engine = self.session.engine
        self._recorder.note(f"goes on from the checkpoint {self._pipeline.checkpoint}")
        if engine.fresh:
            self._recorder.note(f"new or changed statements begin anew: {', '.join(engine.fresh)}")
        if engine.dropped:
            self._recorder.note(f"statements that are gone: {', '.join(engine.dropped)}")


def _wanted(program: Subscriptions, before: str, running: Subscriptions) -> Subscriptions:
    """The statements of the pipeline file, as the page has changed them since: where the file has changed a statement
    itself, the file counts."""
    old = {str(s.name): s for s in parse_text(before).statements}
    now = {str(s.name): s for s in program.program.statements}
    live = {str(s.name): s for s in running.program.statements}
    kept = []
    for name, statement in now.items():
        if name in live:
            kept.append(live[name] if old.get(name) == statement else statement)
        elif name not in old:
            kept.append(statement)
    kept += [s for name, s in live.items() if name not in old and name not in now]
    wanted = Program(tuple(kept))
    return Subscriptions(wanted, program_text(wanted))


def _source(declaration: StreamDeclaration, endpoint: Endpoint) -> EventSource:
    if endpoint.format == MESSAGES:
        from foretell.serve.message_source import MessageSource  # its package is an extra

        return MessageSource(declaration, endpoint)
    return FileSource(declaration, str(endpoint.path))


def _message_declaration(pipeline: Pipeline, name: str, source: Endpoint) -> StreamDeclaration:
    if source.format != MESSAGES:
        message = f"streams.{name}: the embedded engine does not read the format '{source.format}'"
        raise InputError("not-followed", message, hint="use --engine spark")
    declaration = declared_stream(pipeline, name)
    if is_incomplete(declaration):
        hint = f"STREAM {name} (attribute TYPE, ...) TIME column"
        raise InputError("no-schema", f"stream '{name}' comes in messages: its types must be declared", hint=hint)
    return declaration


def _refuse_mixed_times(declarations: dict[str, StreamDeclaration]) -> None:
    kinds = {declaration.attributes[declaration.time] for declaration in declarations.values()}
    if len(kinds) > 1 and Type.TIMESTAMP in kinds:
        message = "some streams have timestamps and others plain numbers as time: one pipeline cannot have both"
        raise InputError("mixed-times", message, hint="run them as separate pipelines")


def _joined(batches: list[EventBatch]) -> EventBatch:
    if len(batches) == 1:
        return batches[0]
    return replace(
        batches[0],
        table=pa.concat_tables([batch.table for batch in batches]),
        quarantined=tuple(event for batch in batches for event in batch.quarantined),
        total=sum(batch.total for batch in batches),
        nulled=tuple(values for batch in batches for values in batch.nulled),
        notes=tuple(dict.fromkeys(note for batch in batches for note in batch.notes)),
    )


def _bad_event(event: Any) -> SideEvent:
    return SideEvent(event.stream, f"{event.source}:{event.row}: {event.reason}", event.raw)

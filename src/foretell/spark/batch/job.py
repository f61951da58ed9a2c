"""A batch job on Spark: the notifications of the engine in process, row for row, without any event on the driver.

    map side: read, filter, encode ──shuffle by shard──▶ reduce side: sort, run a MatchRuntime ──▶ notifications

There is one shuffle. Before it, columns are cut to those that some statement names. After it a lane is in one task,
which knows the latest time of the whole stream, since every map task sends its progress to every shard.

Events of equal time come in the order of their stream's ORDER BY, then as they arrive: from files in the order of files
and rows, from a Spark DataFrame in the order of its partitions and their rows. The latter is only as stable as the plan
of the frame, so a DataFrame with equal times should have an ORDER BY.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import TypeAlias

import pyarrow as pa
from msgspec.json import decode
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from foretell.arguments.model import require_chains, require_delays
from foretell.arguments.period import ANY_TIME, PeriodRequest
from foretell.arguments.until import parse_until
from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.ingest.nulled_values import NulledValues, unreadable_values
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.notify.notifications import Notifications
from foretell.notify.run_summary import waiting_notes
from foretell.plan.result_schema import result_schema
from foretell.spark.batch import plan as batch_plan
from foretell.spark.batch.dataframe_source import frame_shuffle_rows
from foretell.spark.batch.map_side import EVENT_COUNT, count_files
from foretell.spark.batch.match_reports import decode_report, in_order
from foretell.spark.batch.plan import SHARDS_PER_CORE, BatchPlan, PlanHandle
from foretell.spark.batch.reading_result import ReadingResult, collect_reading, lane_counts
from foretell.spark.batch.reduce_side import (
    COUNT_REPORT,
    LANE_REPORT,
    MATCH_REPORT,
    NOTE_REPORT,
    NULLED_REPORT,
    QUARANTINE_REPORT,
    RANGE_COLUMNS,
    REPORT_COLUMNS,
    WAITING_REPORT,
    run_and_report,
    run_by_range,
    sort_range,
)
from foretell.spark.batch.sources import BatchSource, numbered_rows, source_of
from foretell.spark.notification_columns import notification_columns
from foretell.spark.partitioning.shuffle_rows import SHUFFLE_COLUMNS
from foretell.spark.partitioning.statement_groups import batch_groups
from foretell.spark.pushdown.row_bounds import bounded_subscriptions
from foretell.spark.session.spark_session import quiet_session
from foretell.spark.task_errors import unwrapped_errors
from foretell.spark.worker_tasks import TaskFunction, as_worker_task

_LOG = logging.getLogger(__name__)

#: What foretell.api.run returns where an input is a DataFrame.
Frame: TypeAlias = DataFrame

#: The reports of the tasks by kind: the stream or statement that each is about, and its data.
Reports: TypeAlias = Mapping[str, Sequence[tuple[str, bytes]]]

#: Ranges of time for each core, in which notifications are sorted.
RANGES_PER_CORE = 2


class BatchJob:
    """Statements and their inputs, checked and planned; nothing has run."""

    def __init__(
        self,
        program: Subscriptions,
        inputs: Mapping[str, object],
        declarations: Mapping[str, StreamDeclaration],
        tables: Mapping[str, TemplateTable],
        until: object,
        strict: bool = False,
        observers: ObserverFactory = NO_OBSERVERS,
        period: PeriodRequest = ANY_TIME,
        limits: Limits | None = None,
        delays: Mapping[str, DelayModel] | None = None,
    ) -> None:
        self._strict, self._inputs = strict, inputs
        self._sources = {name: self._source(name, d) for name, d in declarations.items()}
        known = {name: source.known for name, source in self._sources.items()}
        self.checked = program.checked(known, {name: table.types for name, table in tables.items()})
        require_chains(self.checked.statements)
        if delays is not None:  # training has none yet
            require_delays(self.checked.statements, delays)
        self._cores = self._spark.sparkContext.defaultParallelism
        schemas = {name: source.schema for name, source in self._sources.items()}
        statements = bounded_subscriptions(self.checked.statements, tables)
        shards = SHARDS_PER_CORE * self._cores
        self.plan = BatchPlan(
            text=program.text,
            schemas=schemas,
            known=known,
            tables=tables,
            until=parse_until(until, {schema.time_type for schema in known.values()} - {Type.UNKNOWN}),
            groups=batch_groups(statements, schemas, tables, observers, shards=shards, cores=self._cores),
            memory=batch_plan.MEMORY_BYTES,
            identified=frozenset(name for name, source in self._sources.items() if source.identified),
            declarations={name: source.declaration for name, source in self._sources.items()},
            observers=observers,
            period=period.resolved({schema.time_type for schema in known.values()}),
            limits=limits,
            delays=delays or {},
        )

    @cached_property
    def _spark(self) -> SparkSession:
        frames = (source for source in self._inputs.values() if isinstance(source, DataFrame))
        return next((frame.sparkSession for frame in frames), None) or _start_session()

    def _source(self, name: str, declaration: StreamDeclaration) -> BatchSource:
        return source_of(self._inputs[name], declaration, self._strict, self._survey, lambda: self._spark)

    # ── results ──

    def notifications(self) -> Notifications:
        """Run, and return all notifications."""
        if not self.plan.groups:
            return Notifications((), statements=self.checked.statements)
        reports = by_kind(self._reports(self.plan.handle()))
        reading = self.reading(reports)
        shapes = {statement.name: result_schema(statement) for statement in self.checked.statements}
        matches = in_order([decode_report(data, shapes[name]) for name, data in reports.get(MATCH_REPORT, ())])
        return Notifications(
            matches,
            reading.bad,
            reading.totals,
            reading.notes + self._waiting_notes(reports),
            statements=self.checked.statements,
            unreadable=unreadable_values(reading.nulled),
            lanes=lane_counts(self.plan, self.checked, reports.get(LANE_REPORT, ())),
        )

    def _waiting_notes(self, reports: Reports) -> tuple[str, ...]:
        counts: Counter[str] = Counter()
        for name, data in reports.get(WAITING_REPORT, ()):
            counts[name] += int(data)
        in_order = {s.name: counts[s.name] for s in self.checked.statements if counts[s.name]}
        return () if self.plan.until is not None else waiting_notes(in_order)

    def reading(self, reports: Reports) -> ReadingResult:
        """Return what the driver and the tasks report of reading; with `strict` raise for the first misfit."""
        counts = {stream: int(data) for stream, data in reports.get(COUNT_REPORT, ())}
        bad = [e for _, data in reports.get(QUARANTINE_REPORT, ()) for e in decode(data, type=list[QuarantinedEvent])]
        nulled = [n for _, data in reports.get(NULLED_REPORT, ()) for n in decode(data, type=list[NulledValues])]
        notes = [note.decode() for _, note in reports.get(NOTE_REPORT, ())]
        result = collect_reading(self._sources, counts, bad, nulled, notes)
        if self._strict:
            result.refuse_misfits()
        return result

    def frame(self, *, json: bool = False) -> DataFrame:
        """Return all notifications as a DataFrame in their order; malformed events follow, as rows of kind "bad".

        Key, bindings and events are structs, or JSON text.
        """
        for note in (note for source in self._sources.values() for note in source.notes):
            _LOG.warning("%s", note)
        columns = notification_columns(list(map(result_schema, self.checked.statements)), json=json)
        handle = replace(self.plan, strict=self._strict).handle()
        ranges = RANGES_PER_CORE * self._cores
        run = as_worker_task(partial(run_by_range, handle, ranges))
        by_range = self.shuffled(handle).mapInArrow(run, RANGE_COLUMNS)
        sort = as_worker_task(partial(sort_range, handle, columns))
        return by_range.repartitionById(ranges + 1, "range").mapInArrow(sort, from_arrow_schema(columns.schema))

    # ── tasks ──

    def _reports(self, handle: PlanHandle) -> pa.Table:
        run = as_worker_task(partial(run_and_report, handle))
        with unwrapped_errors("the job"):
            return self.shuffled(handle).mapInArrow(run, REPORT_COLUMNS).toArrow()

    def shuffled(self, handle: PlanHandle) -> DataFrame:
        """Return the shuffle rows of all streams, each in the partition of its shard."""
        rows = [self._shuffle_rows(handle, name, source) for name, source in self._sources.items()]
        return reduce(DataFrame.union, rows).repartitionById(self.plan.shards, f.col("shard").cast("int"))

    def _shuffle_rows(self, handle: PlanHandle, name: str, source: BatchSource) -> DataFrame:
        if source.frame is None:
            return self._map(*source.map_work(handle, name), SHUFFLE_COLUMNS)
        return frame_shuffle_rows(source.frame, handle, name)

    def _map(self, function: TaskFunction, rows: pa.Table, schema: str) -> DataFrame:
        """Run a function over the rows of a table.

        Numbered rows are spread over two tasks per core: each task has its start to pay, and one may be slower.
        """
        function = as_worker_task(function)
        if rows.column_names == ["number"]:
            tasks = max(1, min(rows.num_rows, 2 * self._spark.sparkContext.defaultParallelism))
            return self._spark.range(0, rows.num_rows, 1, tasks).mapInArrow(function, schema)
        return self._spark.createDataFrame(rows).mapInArrow(function, schema)

    def _survey(self, function: TaskFunction, rows: pa.Table) -> list[str]:
        with unwrapped_errors("the job"):
            return [row["found"] for row in self._map(function, rows, "found string").collect()]

    def event_counts(self, handle: PlanHandle) -> DataFrame:
        """Return the number of events in the files, which tasks read and do nothing else: a baseline for benchmarks."""
        counts = [
            self._map(partial(count_files, handle, name, source.splits), numbered_rows(len(source.splits)), EVENT_COUNT)
            for name, source in self._sources.items()
        ]
        return reduce(DataFrame.union, counts)


def by_kind(reports: pa.Table) -> Reports:
    grouped: dict[str, list[tuple[str, bytes]]] = {}
    for kind, name, data in zip(*(column.to_pylist() for column in reports.columns), strict=True):
        grouped.setdefault(kind, []).append((name, data))
    return grouped


def _start_session() -> SparkSession:
    """Start Spark. The caller may not have asked for it by name, so an error names the engine that does without."""
    try:
        return quiet_session()
    except InputError as error:
        without = "--engine embedded (engine='embedded') runs the same without Spark"
        hint = f"{error.hint}; {without}" if error.hint else without
        raise InputError(error.code, error.message, hint=hint) from error

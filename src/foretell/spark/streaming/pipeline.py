"""A streaming pipeline for `foretell run --follow`: sources, statements, one sink and a checkpoint.

All rows go to one sink, each with its kind. Several sinks would need several queries, each of which would run the
statements, or a `foreachBatch`, in which every sink would have to track by itself which batches it has. One sink that
takes each batch once (files, outboxes) makes the whole exactly-once. Files are in a folder for each kind: `kind=match`,
`kind=late`, `kind=bad`, `kind=refused`. Lines of JSON (line_output.py) are for people and pipes, so late and
malformed events go to files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import TimestampType

from foretell.arguments.model import as_model
from foretell.arguments.pipeline import FILE_FORMATS, Endpoint, Pipeline
from foretell.arguments.pipeline_sources import declared_stream, surveyed_declarations
from foretell.errors import InputError
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.time_candidates import time_note
from foretell.events.ingest.watched_files import watched_files, watched_place
from foretell.forecast.online.factory import untrained_notes
from foretell.spark.connectors.registry import register
from foretell.spark.session.local_files import use_plain_files
from foretell.spark.session.spark_session import quiet_session
from foretell.spark.streaming.line_output import LineOutput
from foretell.spark.streaming.notification_tee import NotificationTee
from foretell.spark.streaming.query import StreamTopology, frame_declaration, stream_rows, topology_of
from foretell.spark.streaming.stop_signals import await_batch, await_end, stop_signals
from foretell.spark.streaming.stream_status import StatusTally, StreamStatus
from foretell.spark.task_errors import first_line, task_error

_TEXT_FORMATS = ("json", "csv")
_CONTROL = "number BIGINT, action STRING, name STRING, text STRING, rows STRING"
_BINARY_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


@dataclass(frozen=True)
class PreparedPipeline:
    """A pipeline that was checked as far as that is possible without Spark; `topology` is None where a source's schema
    is not known before."""

    pipeline: Pipeline
    declarations: dict[str, StreamDeclaration]
    topology: StreamTopology | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PipelineQuery:
    """The query of a pipeline, which runs, and its lines of output."""

    query: StreamingQuery
    lines: LineOutput

    def error(self, error: PySparkException) -> BaseException:
        """The error of a query that has ended, as a person can use it."""
        return self.lines.cause or task_error(error, "the query")

    def has_ended(self, seconds: float) -> bool:
        """Whether the query ends within so many seconds; raises its error where it fails."""
        try:
            return bool(self.query.awaitTermination(seconds))  # type: ignore[arg-type]  # it takes fractions
        except PySparkException as error:
            raise self.error(error) from None

    def stop(self, *, at_once: bool = False) -> None:
        """End the query after the micro-batch that runs."""
        if not at_once:
            await_batch(self.query)
        if self.query.isActive:
            self.query.stop()

    @property
    def batch_seconds(self) -> float:
        """How long the last micro-batch took."""
        last = self.query.lastProgress
        return 0.0 if last is None else float(last["durationMs"].get("triggerExecution", 0)) / 1000

    def last_batch_of(self, path: str) -> int:
        """The number of the last micro-batch that brought rows of the source at a path, among those that Spark
        remembers; -1 where there is none."""
        return max((int(p["batchId"]) for p in self.query.recentProgress if _brought_rows(p, path)), default=-1)


def _brought_rows(progress: Any, path: str) -> bool:
    return any(source["numInputRows"] and path in str(source["description"]) for source in progress["sources"])


def run(
    pipeline: Pipeline,
    *,
    once: bool,
    write: Callable[[bytes], object],
    log: Callable[[str], None],
    status: Callable[[StreamStatus], object] | None = None,
) -> None:
    """Run until SIGINT or SIGTERM, or with `once` until all present input is processed.

    `write` takes each line of output, `log` notes and the summary, and `status` the state of the query, some times a
    second. SIGINT raises KeyboardInterrupt when the micro-batch has ended.
    """
    show = status or (lambda _: None)
    with stop_signals() as signals:
        prepared = prepare(pipeline)
        for note in prepared.notes:
            log(f"note: {note}")
        running = start(prepared, once=once, write=write, log=log, status=show)
        tally = StatusTally(running.query)
        try:
            await_end(running.query, signals, lambda: show(tally.update()), log)
        except PySparkException as error:
            raise running.error(error) from None
        log(tally.update().summary())
    signals.raise_interrupt()


def prepare(pipeline: Pipeline) -> PreparedPipeline:
    """Check a pipeline: all that can be wrong with statements on files is found here, before Spark starts."""
    declarations, notes = declarations_of_files(pipeline)
    topology = topology_of_files(pipeline, declarations) if set(declarations) == set(pipeline.streams) else None
    untrained = untrained_notes(as_model(pipeline.model), pipeline.statements)
    return PreparedPipeline(pipeline, declarations, topology, (*notes, *untrained))


def start(
    prepared: PreparedPipeline,
    *,
    once: bool,
    write: Callable[[bytes], object],
    log: Callable[[str], None],
    status: Callable[[StreamStatus], object],
    tee: NotificationTee | None = None,
) -> PipelineQuery:
    """Start Spark and the query. A `tee` sees all rows on their way to the output."""
    pipeline, declarations, topology = prepared.pipeline, dict(prepared.declarations), prepared.topology
    status(StreamStatus("starting Spark"))
    spark = quiet_session("foretell", **pipeline.spark)
    use_plain_files(spark)
    register(spark)
    frames = {name: _frame(spark, name, source) for name, source in pipeline.streams.items()}
    if topology is None:
        others = {name: frame for name, frame in frames.items() if name not in declarations}
        for name, frame in others.items():
            given = declared_stream(pipeline, name)
            declarations[name] = frame_declaration(frame, given)
            if not given.time:
                log(f"note: {time_note(name, declarations[name].time)}")
        topology = topology_of_files(pipeline, declarations)
    lines = LineOutput(write, pipeline.kinds, pipeline.side_files, _number_ids(pipeline, topology))
    status(StreamStatus("starting the query"))
    try:
        notifications = _notifications(spark, pipeline, frames, topology, tee)
        return PipelineQuery(_start(notifications, pipeline, once, lines), lines)
    except PySparkException as error:
        raise lines.cause or task_error(error, "the query") from None


def topology_of_files(pipeline: Pipeline, declarations: Mapping[str, StreamDeclaration]) -> StreamTopology:
    topology = topology_of(
        pipeline.statements,
        declarations,
        pipeline.tables,
        pipeline.shards,
        pipeline.limits,
        as_model(pipeline.model),
        json=pipeline.writes_json,
        changing=pipeline.control is not None,
    )
    whole = {name: source for name, source in pipeline.streams.items() if source.whole_files}
    files = {name: watched_files(str(source.path), source.read) for name, source in whole.items()}
    mappers = {name: replace(mapper, files=files.get(name)) for name, mapper in topology.mappers.items()}
    return replace(topology, mappers=mappers)


def _notifications(
    spark: SparkSession,
    pipeline: Pipeline,
    frames: Mapping[str, DataFrame],
    topology: StreamTopology,
    tee: NotificationTee | None,
) -> DataFrame:
    control = pipeline.control
    if control is not None:
        control = replace(control, schema=control.schema or _CONTROL)
    changes = None if control is None else _frame(spark, "control", control)
    notifications = stream_rows(frames, topology, changes)
    if tee is not None:
        notifications = notifications.mapInArrow(tee, notifications.schema)
    if pipeline.kinds is None or pipeline.output is None:
        return notifications
    return notifications.where(notifications.kind.isin(*pipeline.kinds))


def _number_ids(pipeline: Pipeline, topology: StreamTopology) -> frozenset[str]:
    """Return the statements whose FOR EACH rows have ids that are no text."""
    tables = topology.processor.tables
    of_table = {name for name, table in tables.items() if str(table.schema.field("id").type) != "string"}
    statements = pipeline.statements.program.statements
    return frozenset(str(s.name) for s in statements if str(getattr(s, "table", None)) in of_table)


# ── sources ──


def declarations_of_files(pipeline: Pipeline) -> tuple[dict[str, StreamDeclaration], list[str]]:
    """Return the declarations of the streams that come in files which we read, and notes on what was inferred."""
    mark = {"streams": sorted(pipeline.streams), "shards": pipeline.shards, "control": pipeline.control is not None}
    return surveyed_declarations(pipeline, mark)


def _frame(spark: SparkSession, name: str, source: Endpoint) -> DataFrame:
    """Open a source. Our own readers read files without a schema; Spark reads those with one, and other formats."""
    path, options = source.path, dict(source.options)
    if source.format in FILE_FORMATS and path is not None:
        path, selecting = watched_place(path, nested=source.whole_files)
        options |= selecting
    reader = spark.readStream.format("binaryFile" if source.whole_files else source.format)
    schema = _BINARY_FILE if source.whole_files else source.schema
    if source.format == "csv" and not source.whole_files:
        reader = reader.option("header", "true")
    if schema is not None:
        reader = reader.schema(schema)
    try:
        return reader.options(**options).load(path)
    except AnalysisException as error:
        raise InputError("bad-source", f"streams.{name}: {first_line(error)}") from None


# ── the query ──


def _start(notifications: DataFrame, pipeline: Pipeline, once: bool, lines: LineOutput) -> StreamingQuery:
    sink = pipeline.output
    if sink is not None and sink.format in _TEXT_FORMATS:
        notifications = with_text_times(notifications)
    writer = notifications.writeStream.option("checkpointLocation", pipeline.checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    elif pipeline.trigger is not None:
        writer = writer.trigger(processingTime=pipeline.trigger)
    if sink is None:
        return writer.foreachBatch(lines.write_batch).start()
    writer = writer.format(sink.format).options(**sink.options)
    if sink.format in FILE_FORMATS:
        return writer.partitionBy("kind").start(sink.path)
    return writer.start()


def with_text_times(notifications: DataFrame) -> DataFrame:
    """Write timestamps as all notifications do in text: in UTC, with a fraction only where there is one."""
    for name in ("start", "end"):
        if isinstance(notifications.schema[name].dataType, TimestampType):
            time = f.to_utc_timestamp(f.col(name), f.current_timezone())
            text = f.regexp_replace(f.date_format(time, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"), r"\.000000Z$", "Z")
            notifications = notifications.withColumn(name, text)
    return notifications

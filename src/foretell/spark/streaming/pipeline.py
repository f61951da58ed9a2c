"""A streaming pipeline for `foretell run --follow`: sources, statements, one sink and a checkpoint.

All rows go to one sink, each with its kind. Several sinks would need several queries, each of which would run the
statements, or a `foreachBatch`, in which every sink would have to track by itself which batches it has. One sink that
takes each batch once (files, outboxes) makes the whole exactly-once. Files are in a folder for each kind: `kind=match`,
`kind=late`, `kind=bad`, `kind=refused`.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import TimestampType

from foretell.errors import InputError
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits
from foretell.notify.messages import rows_of_batch
from foretell.notify.row_encoder import encode_json
from foretell.spark.connectors.registry import register
from foretell.spark.session import session
from foretell.spark.streaming.query import follow

#: Formats of files that our own readers read.
OWN_FORMATS = ("json", "csv", "parquet")
FILE_FORMATS = (*OWN_FORMATS, "orc")
_TEXT_FORMATS = ("json", "csv")
_CONTROL = "number BIGINT, action STRING, name STRING, text STRING, rows STRING"
_BINARY_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


@dataclass(frozen=True)
class Endpoint:
    """A source or sink of rows: one of Spark's formats, the path of its files, and its options."""

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class Pipeline:
    """`output` None is standard output, as JSON lines. `kinds` are the kinds of rows to write; None means all."""

    statements: Subscriptions
    streams: Mapping[str, Endpoint]
    checkpoint: str
    output: Endpoint | None = None
    tables: Mapping[str, object] = field(default_factory=dict)
    control: Endpoint | None = None
    trigger: str | None = None
    kinds: tuple[str, ...] | None = None
    shards: int = 8
    limits: Limits | None = None
    spark: Mapping[str, str | int | float | bool] = field(default_factory=dict)


def run(pipeline: Pipeline, *, once: bool, write: Callable[[bytes], object], log: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM, or with `once` until all present input is processed."""
    _check_checkpoint(pipeline)
    spark = session("foretell", **pipeline.spark)
    register(spark)
    notifications = _notifications(spark, pipeline)
    try:
        query = _start(notifications, pipeline, once, write)
        with _stopping(query):
            query.awaitTermination()
    except PySparkException as error:
        raise _failed(error) from None
    log(_summary(query))


def _notifications(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    frames = {name: _frame(spark, name, source) for name, source in pipeline.streams.items()}
    control = (
        None if pipeline.control is None else replace(pipeline.control, schema=pipeline.control.schema or _CONTROL)
    )
    notifications = follow(
        pipeline.statements,
        frames,
        time={name: source.time for name, source in pipeline.streams.items() if source.time is not None},
        tables=pipeline.tables,
        control=None if control is None else _frame(spark, "control", control),
        shards=pipeline.shards,
        limits=pipeline.limits,
    )
    if pipeline.kinds is None:
        return notifications
    return notifications.where(notifications.kind.isin(*pipeline.kinds))


# ── sources ──


def _frame(spark: SparkSession, name: str, source: Endpoint) -> DataFrame:
    """Open a source. Our own readers read files without a schema; Spark reads those with one, and other formats."""
    whole = source.format in OWN_FORMATS and source.schema is None
    if source.format in FILE_FORMATS and source.path is not None and not any(c in source.path for c in "*?[{"):
        Path(source.path).mkdir(parents=True, exist_ok=True)  # Spark would refuse a folder that comes later
    reader = spark.readStream.format("binaryFile" if whole else source.format)
    schema = _BINARY_FILE if whole else source.schema
    if source.format == "csv" and not whole:
        reader = reader.option("header", "true")
    if schema is not None:
        reader = reader.schema(schema)
    try:
        return reader.options(**source.options).load(source.path)
    except AnalysisException as error:
        raise InputError("bad-source", f"streams.{name}: {_first_line(error)}") from None


# ── the query ──


def _start(
    notifications: DataFrame, pipeline: Pipeline, once: bool, write: Callable[[bytes], object]
) -> StreamingQuery:
    sink = pipeline.output
    if sink is not None and sink.format in _TEXT_FORMATS:
        notifications = _with_text_times(notifications)
    writer = notifications.writeStream.option("checkpointLocation", pipeline.checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    elif pipeline.trigger is not None:
        writer = writer.trigger(processingTime=pipeline.trigger)
    if sink is None:
        return writer.foreachBatch(lambda batch, _: _write_lines(batch, write)).start()
    writer = writer.format(sink.format).options(**sink.options)
    if sink.format in FILE_FORMATS:
        return writer.partitionBy("kind").start(sink.path)
    return writer.start()


def _with_text_times(notifications: DataFrame) -> DataFrame:
    """Write timestamps as all notifications do in text: in UTC, with a fraction only where there is one."""
    for name in ("start", "end"):
        if isinstance(notifications.schema[name].dataType, TimestampType):
            time = f.to_utc_timestamp(f.col(name), f.current_timezone())
            text = f.regexp_replace(f.date_format(time, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"), r"\.000000Z$", "Z")
            notifications = notifications.withColumn(name, text)
    return notifications


def _write_lines(batch: DataFrame, write: Callable[[bytes], object]) -> None:
    """Write a batch as JSON lines. A batch that is repeated after a failure may be written twice."""
    for part in batch.toArrow().to_batches():
        for row in rows_of_batch(part):
            write(encode_json(row).encode() + b"\n")


@contextmanager
def _stopping(query: StreamingQuery) -> Iterator[None]:
    """Stop the query on a signal, after its micro-batch; the next start repeats a micro-batch that is cut off."""
    requested = threading.Event()

    def stop() -> None:
        requested.wait()
        last = _batch_number(query)
        while query.isActive and query.status["isTriggerActive"] and _batch_number(query) == last:
            ended.wait(0.05)
        query.stop()

    def request(*_: object) -> None:
        requested.set()

    ended = threading.Event()
    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    stopper = threading.Thread(target=stop, daemon=True)
    stopper.start()
    try:
        yield
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _batch_number(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _summary(query: StreamingQuery) -> str:
    totals: dict[str, int] = {}
    for progress in query.recentProgress:
        observed = progress["observedMetrics"].get("foretell")  # a Row
        for name in ("events", "matches", "late", "bad", "refused") if observed is not None else ():
            totals[name] = totals.get(name, 0) + (observed[name] or 0)
    others = ", ".join(f"{totals.get(name, 0)} {name}" for name in ("late", "bad", "refused"))
    return f"{totals.get('events', 0)} events, {totals.get('matches', 0)} matches, {others}"


def _failed(error: PySparkException) -> InputError:
    """Return the error that ended a query, without Spark's stack. Our own errors come from the tasks as text."""
    lines = str(error).splitlines()
    ours = next((line for line in lines if "foretell.errors" in line and ": " in line), None)
    if ours is not None:
        return InputError("query-failed", ours.split(": ", 1)[1])
    return InputError("query-failed", f"the query failed: {_first_line(error)}")


def _first_line(error: PySparkException) -> str:
    return str(error).splitlines()[0]


def _check_checkpoint(pipeline: Pipeline) -> None:
    """Check that a checkpoint belongs to this pipeline, or mark a new one: Spark would reuse other streams' offsets."""
    path = Path(pipeline.checkpoint) / "foretell.json"
    own = {"streams": sorted(pipeline.streams), "shards": pipeline.shards, "control": pipeline.control is not None}
    if path.exists():
        marked = json.loads(path.read_text(encoding="utf-8"))
        for what, value in own.items():
            if marked.get(what) != value:
                message = f"the checkpoint {pipeline.checkpoint} belongs to another pipeline: its {what}"
                raise InputError(
                    "other-checkpoint", f"{message}: {marked.get(what)}, not {value}", hint="use another folder"
                )
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(own), encoding="utf-8")

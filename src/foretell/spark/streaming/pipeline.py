"""A whole streaming query: sources, statements, sink and checkpoint; what `foretell run --follow` runs.

All that is told goes to one sink, each row with its kind. Several sinks would be several queries, which would each run
the statements, or a `foreachBatch`, in which every sink has to find out by itself what it has already. One sink that
takes each batch once (files, outboxes) makes the whole exact. Files are in a folder for each kind: `kind=match`,
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
from pyspark.sql.streaming.query import StreamingQuery

from foretell.errors import InputError
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits
from foretell.spark.connectors.registry import register
from foretell.spark.session.spark_session import session
from foretell.spark.streaming.query import follow

READ_HERE = ("json", "csv", "parquet")
FILES = (*READ_HERE, "orc")
_CONTROL = "number BIGINT, action STRING, name STRING, text STRING, rows STRING"
_WHOLE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


@dataclass(frozen=True)
class Endpoint:
    """Where rows come from or go to: one of Spark's formats, a path where it is files, and the format's options."""

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class Pipeline:
    """`output` None is standard output, as lines of JSON. `kinds` are the kinds of rows that go out; None is all."""

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


def run(pipeline: Pipeline, *, once: bool, write: Callable[[bytes], object], say: Callable[[str], None]) -> None:
    """Until it is told to stop by SIGINT or SIGTERM, or with `once` until all is read that is there now."""
    _remember(pipeline)
    spark = session("foretell", **pipeline.spark)
    register(spark)
    told = _told(spark, pipeline)
    try:
        query = _start(told, pipeline, once, write)
        with _stopping(query):
            query.awaitTermination()
    except PySparkException as error:
        raise _failed(error) from None
    say(_summary(query))


def _told(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    frames = {name: _frame(spark, name, place) for name, place in pipeline.streams.items()}
    control = (
        None if pipeline.control is None else replace(pipeline.control, schema=pipeline.control.schema or _CONTROL)
    )
    told = follow(
        pipeline.statements,
        frames,
        time={name: place.time for name, place in pipeline.streams.items() if place.time is not None},
        tables=pipeline.tables,
        control=None if control is None else _frame(spark, "control", control),
        shards=pipeline.shards,
        limits=pipeline.limits,
    )
    return told if pipeline.kinds is None else told.where(told.kind.isin(*pipeline.kinds))


# ── sources ──


def _frame(spark: SparkSession, name: str, place: Endpoint) -> DataFrame:
    """Files whose types the statements tell are read by us; with a schema, and other formats, by Spark."""
    whole = place.format in READ_HERE and place.schema is None
    if place.format in FILES and place.path is not None and not any(c in place.path for c in "*?[{"):
        Path(place.path).mkdir(parents=True, exist_ok=True)  # Spark would refuse a folder that is to be filled later
    reader = spark.readStream.format("binaryFile" if whole else place.format)
    schema = _WHOLE if whole else place.schema
    if place.format == "csv" and not whole:
        reader = reader.option("header", "true")
    if schema is not None:
        reader = reader.schema(schema)
    try:
        return reader.options(**place.options).load(place.path)
    except AnalysisException as error:
        raise InputError("bad-source", f"streams.{name}: {_first_line(error)}") from None


# ── the query ──


def _start(told: DataFrame, pipeline: Pipeline, once: bool, write: Callable[[bytes], object]) -> StreamingQuery:
    place = pipeline.output
    writer = told.writeStream.option("checkpointLocation", pipeline.checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    elif pipeline.trigger is not None:
        writer = writer.trigger(processingTime=pipeline.trigger)
    if place is None:
        return writer.foreachBatch(lambda batch, _: _lines(batch, write)).start()
    writer = writer.format(place.format).options(**place.options)
    if place.format in FILES:
        return writer.partitionBy("kind").start(place.path)
    return writer.start()


def _lines(batch: DataFrame, write: Callable[[bytes], object]) -> None:
    """Onto standard output. Nobody knows what of a batch was read there when it is done again after a failure."""
    for row in batch.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) AS line").collect():
        told = json.loads(row.line)
        for name in ("key", "bindings", "events"):
            told[name] = None if told[name] is None else json.loads(told[name])
        write(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


@contextmanager
def _stopping(query: StreamingQuery) -> Iterator[None]:
    """A signal stops the query when its micro-batch is done; what is cut off is done again at the next start."""
    asked = threading.Event()

    def stop() -> None:
        asked.wait()
        last = _batch(query)
        while query.isActive and query.status["isTriggerActive"] and _batch(query) == last:
            ended.wait(0.05)
        query.stop()

    def ask(*_: object) -> None:
        asked.set()

    ended = threading.Event()
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    stopper = threading.Thread(target=stop, daemon=True)
    stopper.start()
    try:
        yield
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _summary(query: StreamingQuery) -> str:
    figures: dict[str, int] = {}
    for progress in query.recentProgress:
        observed = progress["observedMetrics"].get("foretell")  # a Row
        for name in ("events", "matches", "late", "bad", "refused") if observed is not None else ():
            figures[name] = figures.get(name, 0) + (observed[name] or 0)
    aside = ", ".join(f"{figures.get(name, 0)} {name}" for name in ("late", "bad", "refused"))
    return f"{figures.get('events', 0)} events, {figures.get('matches', 0)} matches, {aside}"


def _failed(error: PySparkException) -> InputError:
    """What ended a query, without Spark's stack. Errors of ours come from the tasks as text."""
    lines = str(error).splitlines()
    ours = next((line for line in lines if "foretell.errors" in line and ": " in line), None)
    if ours is not None:
        return InputError("query-failed", ours.split(": ", 1)[1])
    return InputError("query-failed", f"the query has ended: {_first_line(error)}")


def _first_line(error: PySparkException) -> str:
    return str(error).splitlines()[0]


def _remember(pipeline: Pipeline) -> None:
    """Beside Spark's own files: what this checkpoint is of. Spark would take over the offsets of other streams."""
    path = Path(pipeline.checkpoint) / "foretell.json"
    mine = {"streams": sorted(pipeline.streams), "shards": pipeline.shards, "control": pipeline.control is not None}
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        for what, value in mine.items():
            if known.get(what) != value:
                message = f"the checkpoint {pipeline.checkpoint} is of another program: its {what}: {known.get(what)}"
                raise InputError("other-checkpoint", f"{message}, not {value}", hint="use another folder for this one")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(mine), encoding="utf-8")

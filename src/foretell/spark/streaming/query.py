"""Streaming queries: `follow` runs statements on streaming frames and returns a streaming frame of notifications.

    map side: read, encode ──shuffle by shard──▶ reduce side: restore the engine, process, snapshot ──▶ notifications

The snapshots of the engines are Spark's state, so a query that was killed continues from the state of its last complete
micro-batch.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from foretell.arguments.input_settings import InputSettings, as_input_settings
from foretell.arguments.model import as_model, require_chains
from foretell.arguments.pipeline_sources import with_streams
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import declaration_of, read_tables
from foretell.arguments.validation import as_mapping, as_tables
from foretell.engine import Engine
from foretell.errors import InputError, suggestion
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.time_candidates import time_note
from foretell.events.ingest.watched_files import WatchedFiles
from foretell.events.types import Type
from foretell.forecast.online.factory import untrained_notes
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.plan.result_schema import result_schema
from foretell.spark.arrow_schemas import schema_from_arrow
from foretell.spark.column_names import numbered_columns
from foretell.spark.nested_frames import flattened
from foretell.spark.notification_columns import notification_columns
from foretell.spark.partitioning.shuffle_rows import SHUFFLE_COLUMNS
from foretell.spark.partitioning.statement_groups import StatementGroup, stream_groups
from foretell.spark.streaming.control_stream import control_rows
from foretell.spark.streaming.deferred_processor import DeferredProcessor
from foretell.spark.streaming.malformed_rows import MALFORMED
from foretell.spark.streaming.map_side import FILE, StreamMapper
from foretell.spark.streaming.shard_processor import (
    LATEST,
    METRICS,
    OUTPUT_COLUMNS,
    NotificationDecoder,
    ShardProcessor,
)

_LOG = logging.getLogger(__name__)
_STORE = "spark.sql.streaming.stateStore"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
_BINARY_FILE = ("path", "modificationTime", "length", "content")
_SIDE_KINDS = ("late", "bad", "refused")


def follow(
    subscriptions: Any,
    inputs: Mapping[str, DataFrame],
    *,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    control: DataFrame | None = None,
    shards: int = 8,
    limits: Limits | None = None,
    model: object = None,
    learning: Learning | None = None,
    json: bool = False,
) -> DataFrame:
    """Return the notifications of statements on streaming frames, as a streaming frame.

    `time` names the time column of streams without a STREAM statement, `read` how values are read. `control` is a
    streaming frame of changes to the statements (see `control_stream`). `shards` is the number of shards for each
    PER; a checkpoint keeps it. `model` and `learning` are for forecasts; each shard learns from its own lanes. Late
    events, malformed events and refused changes are rows too, of the kinds "late", "bad" and "refused": see
    `matches`, `late`, `bad` and `refused`.
    """
    settings = as_input_settings(time, read)
    program = as_subscriptions(subscriptions)
    frames = _frames(inputs)
    declarations = _declarations(program, frames, settings)
    known = as_model(model)
    untrained_notes(known, program)
    # Statements that come later may have other types.
    changing = control is not None
    topology = topology_of(program, declarations, tables, shards, limits, known, learning, json=json, changing=changing)
    return stream_rows(frames, topology, control)


def stream_rows(frames: Mapping[str, DataFrame], topology: StreamTopology, control: DataFrame | None) -> DataFrame:
    """Return the rows of a planned query: notifications, and the late and malformed events of `frames`."""
    rows = [_shuffle_rows(frames[name], mapper) for name, mapper in topology.mappers.items()]
    if control is not None:
        rows.append(control_rows(_streaming(control, "control"), topology.groups))
    _configure(rows[0].sparkSession, topology.groups)
    shuffled = reduce(DataFrame.union, rows).groupBy("shard")
    outputs = shuffled.transformWithState(
        DeferredProcessor(topology.processor), OUTPUT_COLUMNS, outputMode="Append", timeMode="None"
    )
    metrics = [f.sum(name).alias(name) for name in METRICS]
    observed = outputs.observe("foretell", *metrics, f.max(LATEST).alias(LATEST))
    schema = topology.processor.columns.schema
    return observed.mapInArrow(NotificationDecoder(), from_arrow_schema(schema))


@dataclass(frozen=True)
class StreamTopology:
    """The parts of a streaming query apart from Spark: the map side of each stream, the groups, and the reduce side."""

    mappers: Mapping[str, StreamMapper]
    groups: tuple[StatementGroup, ...]
    processor: ShardProcessor


def topology_of(
    statements: Subscriptions,
    declarations: Mapping[str, StreamDeclaration],
    tables: Mapping[str, object] | None,
    shards: int,
    limits: Limits | None = None,
    model: Model | None = None,
    learning: Learning | None = None,
    *,
    json: bool,
    changing: bool = False,
) -> StreamTopology:
    """Plan a streaming query; the declarations have the types of all attributes. A control stream is `changing` the
    statements."""
    _refuse_mixed_times(declarations)
    program = with_streams(statements, declarations)
    groups = stream_groups(program, declarations, _shard_count(shards))
    loaded = read_tables(statements.tables, as_tables(tables), limits)
    arrow_tables = {name: table.columns for name, table in loaded.items()}
    checked = program.checked({}, {name: table.types for name, table in loaded.items()})
    require_chains(checked.statements)
    processor = ShardProcessor(
        groups=groups,
        initial={
            g.name: _initial_snapshot(g, declarations, arrow_tables, limits, _model_of(g, groups, model), learning)
            for g in groups
        },
        tables=arrow_tables,
        columns=notification_columns(list(map(result_schema, checked.statements)), json=json, changing=changing),
        time_columns={name: declaration.time for name, declaration in declarations.items()},
        limits=limits,
    )
    mappers = {name: StreamMapper(declaration, groups) for name, declaration in declarations.items()}
    return StreamTopology(mappers, groups, processor)


def matches(notifications: DataFrame) -> DataFrame:
    """Keep matches and forecasts."""
    return notifications.where(~f.col("kind").isin(*_SIDE_KINDS))


def late(notifications: DataFrame) -> DataFrame:
    """Keep events that came later than LATE BY allows: `subscription` is the stream, `bindings` the event."""
    return notifications.where(f.col("kind") == "late")


def bad(notifications: DataFrame) -> DataFrame:
    """Keep malformed events: `subscription` is the stream, `bindings` has the reason and the event."""
    return notifications.where(f.col("kind") == "bad")


def refused(notifications: DataFrame) -> DataFrame:
    """Keep changes that failed: `bindings` has the reason and the change."""
    return notifications.where(f.col("kind") == "refused")


def _refuse_mixed_times(declarations: Mapping[str, StreamDeclaration]) -> None:
    kinds = {declaration.attributes[declaration.time] for declaration in declarations.values()}
    if len(kinds) > 1 and Type.TIMESTAMP in kinds:
        raise InputError(
            "mixed-times",
            "some streams have timestamps and others plain numbers as time: one frame cannot hold both",
            hint="run them in separate queries",
        )


# ── arguments ──


def _frames(inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    frames: dict[str, Any] = as_mapping(inputs, "inputs", "inputs={'logins': frame}")
    return {name: _streaming(frame, f"inputs: '{name}'") for name, frame in frames.items()}


def _streaming(frame: Any, subject: str) -> DataFrame:
    if not getattr(frame, "isStreaming", False):
        hint = "read it with spark.readStream, or use ft.run"
        raise InputError("not-a-stream", f"{subject} is not a streaming frame", hint=hint)
    return frame  # type: ignore[no-any-return]


def _declarations(
    program: Subscriptions, frames: Mapping[str, DataFrame], settings: InputSettings
) -> dict[str, StreamDeclaration]:
    sources = program.sources
    for name in (*frames, *settings.streams):
        if name not in sources:
            hint = suggestion(name, sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
    if not sources:
        raise InputError("no-statements", "no statement reads a stream", hint="add a SUBSCRIBE statement")
    return {name: _declaration(program, name, frames, settings) for name in sources}


def _declaration(
    program: Subscriptions, name: str, frames: Mapping[str, DataFrame], settings: InputSettings
) -> StreamDeclaration:
    if name not in frames:
        hint = f"inputs={{'{name}': frame}}"
        raise InputError("missing-input", f"inputs has no frame for stream '{name}'", hint=hint)
    given = declaration_of(program, name, settings)
    found = frame_declaration(frames[name], given)
    if not given.time:
        _LOG.warning("%s", time_note(name, found.time))
    return found


def frame_declaration(frame: DataFrame, declaration: StreamDeclaration) -> StreamDeclaration:
    """Return a declaration with all types; those that it leaves open are the frame's."""
    if _has_files(frame, declaration):
        return _file_declaration(declaration)
    arrow = to_arrow_schema(frame.schema, timezone="UTC")
    if declaration.open and MALFORMED[0] in arrow.names:
        arrow = arrow.remove(arrow.get_field_index(MALFORMED[0]))
    return declaration.settled(schema_from_arrow(arrow, declaration))


def _file_declaration(declaration: StreamDeclaration) -> StreamDeclaration:
    """Check that all types are declared: the files are not read yet."""
    unknown = [name for name in declaration.columns if declaration.declared_type(name) is None]
    if unknown or declaration.open:
        subject = f"the type of '{unknown[0]}'" if unknown else "its columns"
        hint = f"STREAM {declaration.stream} (attribute TYPE, ...) TIME column"
        raise InputError(
            "no-schema", f"stream '{declaration.stream}' comes in files: {subject} must be declared", hint=hint
        )
    return declaration


def _shard_count(shards: object) -> int:
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= 1000:
        raise InputError("bad-argument", f"shards: expected a whole number from 1 to 1000, found {shards!r}")
    return shards


def _initial_snapshot(
    group: StatementGroup,
    declarations: Mapping[str, StreamDeclaration],
    tables: Mapping[str, pa.Table],
    limits: Limits | None,
    model: Model | None,
    learning: Learning | None,
) -> bytes:
    """Start an engine, so that statements which it cannot run are refused here and not in a task."""
    engine = Engine(
        group.text,
        tables={name: tables[name] for name in group.tables},
        limits=limits,
        model=model,
        learning=learning,
    )
    engine.push_together({name: [] for name in declarations})
    return engine.snapshot()


def _model_of(group: StatementGroup, groups: tuple[StatementGroup, ...], model: Model | None) -> Model | None:
    """The part of a model that is about a group's statements, and about any that may come by the control stream."""
    if model is None:
        return None
    others = {name for other in groups if other is not group for name in other.statements}
    return model.of_statements({*model.subscriptions, *model.delays} - others)


# ── Spark ──


def _shuffle_rows(frame: DataFrame, mapper: StreamMapper) -> DataFrame:
    if mapper.files is not None or _has_files(frame, mapper.declaration):
        keys = tuple(name for name in frame.columns if name in mapper.declaration.columns)
        mapper = replace(mapper, files=mapper.files or WatchedFiles(keys=keys))
        return frame.select(*numbered_columns(FILE)).mapInArrow(mapper, SHUFFLE_COLUMNS)
    flat, declaration = flattened(frame, mapper.declaration)
    columns = numbered_columns(_column_names(flat, declaration))
    return flat.select(*columns).mapInArrow(replace(mapper, declaration=declaration), SHUFFLE_COLUMNS)


def _has_files(frame: DataFrame, declaration: StreamDeclaration) -> bool:
    """Return whether a frame's rows are whole files, as in Spark's format binaryFile."""
    if not set(_BINARY_FILE) <= set(frame.columns):
        return set(FILE) <= set(frame.columns) and not set(FILE) & set(declaration.columns)
    # The events in the files may have columns of the same names: those of a web server have a path.
    return not set(FILE) & set(declaration.columns) or not set(declaration.columns) <= set(frame.columns)


def _column_names(frame: DataFrame, declaration: StreamDeclaration) -> tuple[str, ...]:
    marked = MALFORMED[0] in frame.columns and MALFORMED[0] not in declaration.columns
    marks = [name for name in MALFORMED if name in frame.columns and name not in declaration.columns] if marked else []
    return (*declaration.columns, *marks)


def _configure(session: SparkSession, groups: tuple[StatementGroup, ...]) -> None:
    """Set the session options that a query copies when it starts; there is no other way to pass them.

    A partition of state costs some 90 ms in each micro-batch, so there are as many as cores, and not the 200 of a
    shuffle, unless the session sets a number.
    """
    use_rocksdb(session)
    if session.conf.get(_PARTITIONS, None) is None:
        shards = sum(len(group.shards) for group in groups)
        session.conf.set(_PARTITIONS, min(shards, session.sparkContext.defaultParallelism))


def use_rocksdb(session: SparkSession) -> None:
    """Set the state store that `transformWithState` requires, which is not Spark's default."""
    conf = session.conf
    if "RocksDB" not in str(conf.get(f"{_STORE}.providerClass")):
        conf.set(f"{_STORE}.providerClass", _ROCKS)
    if conf.get(f"{_STORE}.rocksdb.changelogCheckpointing.enabled", None) is None:
        conf.set(f"{_STORE}.rocksdb.changelogCheckpointing.enabled", "true")

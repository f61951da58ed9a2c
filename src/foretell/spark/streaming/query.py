"""Subscriptions at work on streaming frames: `follow` gives a streaming frame of notifications.

The way of a micro-batch: tasks pack their rows by shard, a shard's engine goes on from where it was, and what it tells
becomes rows. What it has written down is part of Spark's state, so that a query that was killed goes on with the state
of its last whole micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from foretell.arguments.model import as_model
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import declaration_of, read_tables
from foretell.arguments.validation import as_mapping, as_tables, as_time_columns
from foretell.engine import Engine
from foretell.errors import InputError, suggestion
from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.arrow_columns import ArrowSource, combine_tables
from foretell.events.ingest.reader import StreamDeclaration, infer_schema
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import COLUMNS
from foretell.events.types import Type
from foretell.forecast.online.factory import Forecasts, untrained
from foretell.language import tree
from foretell.language.parser import parse
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.notify.row_encoder import TIME_TYPES
from foretell.spark.partitioning.statement_groups import StatementGroup, quarantine_shards, stream_groups
from foretell.spark.streaming.control_stream import changes_of
from foretell.spark.streaming.shard_processor import FIGURES, TOLD, NotificationDecoder, ShardProcessor
from foretell.spark.streaming.shuffle_rows import FILE, MALFORMED, PACKED, MapSidePacker

_STORE = "spark.sql.streaming.stateStore"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
_ASIDE = ("late", "bad", "refused")


def follow(
    subscriptions: Any,
    inputs: Mapping[str, DataFrame],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    control: DataFrame | None = None,
    shards: int = 8,
    limits: Limits | None = None,
    model: object = None,
    learning: Learning | None = None,
) -> DataFrame:
    """The notifications of streaming frames as a streaming frame.

    `time` names the time column of streams without a STREAM statement. `control` is a streaming frame of changes to the
    statements (see `control_stream`). `shards` is how many parts the keys of a PER are dealt out to, and cannot
    be changed for a checkpoint. `model` and `learning` are for forecasts; each shard learns from its own lanes. Late
    and malformed events and refused changes are rows too, of the kinds "late", "bad" and "refused": see `matches`,
    `late`, `bad` and `refused`.
    """
    times = as_time_columns(time)
    said = as_subscriptions(subscriptions)
    frames = _frames(inputs)
    declared = _declared(said, frames, times)
    forecasts = Forecasts(as_model(model).learned, learning)
    untrained(as_model(model), said)
    way = topology_of(said, declared, tables, shards, limits, forecasts)
    packed = [_packed(frames[name], packer) for name, packer in way.packers.items()]
    if control is not None:
        packed.append(changes_of(_streaming(control, "control"), way.shares))
    _prepare(packed[0], way.shares)
    together = reduce(DataFrame.union, packed).groupBy("shard")
    told = together.transformWithState(way.shard, TOLD, outputMode="Append", timeMode="None")
    observed = told.observe("foretell", *(F.sum(name).alias(name) for name in FIGURES))
    return observed.mapInArrow(NotificationDecoder(way.schema), from_arrow_schema(way.schema))


@dataclass(frozen=True)
class StreamTopology:
    """The way of a micro-batch, but for Spark: how events are packed, for which shards, and what these do."""

    packers: Mapping[str, MapSidePacker]
    shares: tuple[StatementGroup, ...]
    shard: ShardProcessor
    schema: pa.Schema


def topology_of(
    said: Subscriptions,
    declared: Mapping[str, StreamDeclaration],
    tables: Mapping[str, object] | None,
    shards: int,
    limits: Limits | None = None,
    forecasts: Forecasts | None = None,
) -> StreamTopology:
    """`declared` has the streams with the types of all their attributes."""
    program = _with_streams(said, declared)
    shares = stream_groups(program, _whole(shards))
    given = read_tables(said.tables, as_tables(tables))
    rows = {name: _table(table) for name, table in given.items()}
    schema = told_schema(declared)
    shard = ShardProcessor(
        shares=shares,
        begin={share.name: _begin(share, declared, rows, limits, forecasts) for share in shares},
        tables=rows,
        schema=schema,
        times={name: one.time for name, one in declared.items()},
        limits=limits,
    )
    owner = quarantine_shards(shares)
    packers = {name: MapSidePacker(one, shares, owner[name]) for name, one in declared.items()}
    return StreamTopology(packers, shares, shard, schema)


def matches(told: DataFrame) -> DataFrame:
    """The notifications proper."""
    return told.where(~F.col("kind").isin(*_ASIDE))


def late(told: DataFrame) -> DataFrame:
    """The events that came later than LATE BY allows: `subscription` is the stream, `bindings` the event."""
    return told.where(F.col("kind") == "late")


def bad(told: DataFrame) -> DataFrame:
    """The malformed events: `subscription` is the stream, `bindings` has the reason and the event."""
    return told.where(F.col("kind") == "bad")


def refused(told: DataFrame) -> DataFrame:
    """The changes that could not be made: `bindings` has the reason and the change."""
    return told.where(F.col("kind") == "refused")


def told_schema(declared: Mapping[str, StreamDeclaration]) -> pa.Schema:
    """The columns of notifications; their times are of the type that the streams' times are."""
    kinds = {one.attributes[one.time] for one in declared.values()}
    if len(kinds) > 1 and Type.TIMESTAMP in kinds:
        raise InputError(
            "mixed-times",
            "some streams have timestamps and others plain numbers as time: one frame cannot hold both",
            hint="follow them apart",
        )
    time = TIME_TYPES[Type.FLOAT if len(kinds) > 1 else next(iter(kinds))]
    types = {"start": time, "end": time, "probability": pa.float64()}
    return pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])


# ── what is given ──


def _frames(inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    frames: dict[str, Any] = as_mapping(inputs, "inputs", "inputs={'logins': frame}")
    return {name: _streaming(frame, f"inputs: '{name}'") for name, frame in frames.items()}


def _streaming(frame: Any, what: str) -> DataFrame:
    if not getattr(frame, "isStreaming", False):
        raise InputError("not-a-stream", f"{what} is not a streaming frame", hint="ft.run takes others")
    return frame  # type: ignore[no-any-return]


def _declared(
    program: Subscriptions, frames: Mapping[str, DataFrame], time: Mapping[str, str]
) -> dict[str, StreamDeclaration]:
    sources = program.sources
    for name in (*frames, *time):
        if name not in sources:
            hint = suggestion(name, sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
    if not sources:
        raise InputError("no-statements", "there is no statement that reads a stream")
    return {name: _declaration(program, name, frames, time) for name in sources}


def _declaration(
    program: Subscriptions, name: str, frames: Mapping[str, DataFrame], time: Mapping[str, str]
) -> StreamDeclaration:
    """With the types that the statements leave open taken from the frame."""
    if name not in frames:
        raise InputError("missing-input", f"no frame is given for stream '{name}'")
    declaration = declaration_of(program, name, time)
    if _has_files(frames[name], declaration):
        return _of_files(declaration)
    arrow = to_arrow_schema(frames[name].schema, timezone="UTC")
    if declaration.open and MALFORMED[0] in arrow.names:
        arrow = arrow.remove(arrow.get_field_index(MALFORMED[0]))
    columns: list[Any] = [pa.chunked_array([pa.array([], field.type)]) for field in arrow]
    sheet = ArrowSource(name, pa.table(columns, schema=arrow), arrow.names)
    schema = infer_schema(combine_tables([sheet]), declaration)
    return replace(declaration, attributes=schema.attributes, open=False)


def _of_files(declaration: StreamDeclaration) -> StreamDeclaration:
    """Nobody has looked into the files yet: all types must be declared."""
    unknown = [name for name in declaration.columns if declaration.declared_type(name) is None]
    if unknown or declaration.open:
        what = f"the type of '{unknown[0]}'" if unknown else "its columns"
        hint = f"STREAM {declaration.stream} (attribute TYPE, ...) TIME column"
        raise InputError(
            "no-schema", f"stream '{declaration.stream}' comes in files: {what} must be declared", hint=hint
        )
    return declaration


def _with_streams(program: Subscriptions, declared: Mapping[str, StreamDeclaration]) -> Subscriptions:
    """The program with every stream declared, with all types: what an engine needs to know before events come."""
    said = program.declared
    streams = [_stream(one, said.get(name)) for name, one in declared.items()]
    others = [s for s in program.program.statements if not isinstance(s, tree.Stream)]
    try:
        return of_program(tree.Program((*streams, *others)))
    except InputError as error:
        raise error.within(program.text, program.file) from None


def _stream(one: StreamDeclaration, said: tree.Stream | None) -> tree.Stream:
    attributes = tuple(tree.Declared(name, kind) for name, kind in one.attributes.items())
    if said is None:
        return tree.Stream(one.stream, attributes, one.time)
    return replace(said, attributes=attributes)


def _table(loaded: TemplateTable) -> pa.Table:
    columns = {n: arrow_of_values([row[n] for row in loaded.rows], kind) for n, kind in loaded.types.items()}
    return pa.table(columns)


def _whole(shards: object) -> int:
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= 1000:
        raise InputError("bad-argument", f"shards: expected a whole number from 1 to 1000, found {shards!r}")
    return shards


def _begin(
    share: StatementGroup,
    declared: Mapping[str, StreamDeclaration],
    tables: Mapping[str, pa.Table],
    limits: Limits | None,
    forecasts: Forecasts | None,
) -> bytes:
    """An engine that is at work already: what it cannot run is refused here, not in a task."""
    mine = {str(s.name) for s in parse(share.text).statements}
    learned = {} if forecasts is None else {name: one for name, one in forecasts.learned.items() if name in mine}
    engine = Engine(
        share.text,
        tables={name: tables[name] for name in share.tables},
        limits=limits,
        model=Model(learned),
        learning=None if forecasts is None else forecasts.settings,
    )
    engine.push_together({name: [] for name in declared})
    return engine.snapshot()


def _packed(frame: DataFrame, packer: MapSidePacker) -> DataFrame:
    files = _has_files(frame, packer.declaration)
    columns = [_column(name) for name in FILE] if files else _columns(frame, packer.declaration)
    return frame.select(*columns).mapInArrow(replace(packer, files=files), PACKED)


def _has_files(frame: DataFrame, declaration: StreamDeclaration) -> bool:
    """Whether its rows are whole files, as Spark's format binaryFile gives them."""
    return set(FILE) <= set(frame.columns) and not set(FILE) & set(declaration.columns)


def _columns(frame: DataFrame, declaration: StreamDeclaration) -> list[Column]:
    marked = MALFORMED[0] in frame.columns and MALFORMED[0] not in declaration.columns
    marks = [name for name in MALFORMED if name in frame.columns and name not in declaration.columns] if marked else []
    return [_column(name) for name in (*declaration.columns, *marks)]


def _column(name: str) -> Column:
    """A column by its name, which may have dots."""
    return F.col("`" + name.replace("`", "``") + "`")


def _prepare(frame: DataFrame, shares: tuple[StatementGroup, ...]) -> None:
    """What a query takes over from its session when it starts, and cannot be told otherwise.

    A partition of state costs some 90 ms in each micro-batch, so there are as many as cores, and not the 200 of a
    shuffle, unless the session says how many.
    """
    session = frame.sparkSession
    use_rocks(session)
    if session.conf.get(_PARTITIONS, None) is None:
        shards = sum(len(share.shards) for share in shares)
        session.conf.set(_PARTITIONS, min(shards, session.sparkContext.defaultParallelism))


def use_rocks(session: SparkSession) -> None:
    """The only store of state that Spark lets `transformWithState` have, and not its default."""
    conf = session.conf
    if "RocksDB" not in str(conf.get(f"{_STORE}.providerClass")):
        conf.set(f"{_STORE}.providerClass", _ROCKS)
    if conf.get(f"{_STORE}.rocksdb.changelogCheckpointing.enabled", None) is None:
        conf.set(f"{_STORE}.rocksdb.changelogCheckpointing.enabled", "true")

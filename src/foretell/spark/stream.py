"""Subscriptions at work on streaming frames: `follow` gives a streaming frame of notifications.

The way of a micro-batch: each row gets the number of a shard by its key, tasks pack their rows by shard, a shard's
engine goes on from where it was, and what it tells becomes rows. What it has written down is part of Spark's state, so
that a query that was killed goes on with the state of its last whole micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from foretell.engine import Engine
from foretell.errors import InputError, suggestion
from foretell.events.notification import COLUMNS
from foretell.events.read import Declaration
from foretell.events.types import Type
from foretell.given.arguments import by_name
from foretell.given.sources import declaration_of
from foretell.given.statements import statements_of
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions
from foretell.machine.limits import Limits
from foretell.spark.parcels import PACKED, Packer
from foretell.spark.shard import TOLD, Shard, Unpacker

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_ASIDE = ("late", "bad")
_SPARK_TYPES = {
    Type.BOOL: "BOOLEAN",
    Type.INT: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.STRING: "STRING",
    Type.TIMESTAMP: "TIMESTAMP",
}
_TIMES: Mapping[Type, Any] = {
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Type.INT: pa.int64(),
    Type.FLOAT: pa.float64(),
}


def follow(
    subscriptions: Any,
    inputs: Mapping[str, DataFrame],
    *,
    tables: Mapping[str, object] | None = None,
    shards: int = 8,
    limits: Limits | None = None,
) -> DataFrame:
    """The notifications of streaming frames as a streaming frame.

    Every stream is declared with the types of its attributes. `shards` is how many parts the keys are dealt out to, and
    cannot be changed for a checkpoint; there is one only where statements have no PER attribute in common. Late and
    malformed events are rows too, of the kinds "late" and "bad": see `matches`, `late` and `bad`.
    """
    program = statements_of(subscriptions)
    frames = _frames(inputs)
    declared = _declared(program, frames)
    keys = shard_attributes(program) if _whole(shards) > 1 else ()
    count = shards if keys else 1
    _refuse_numbers(declared, count)
    schema = told_schema(declared)
    shard = Shard(
        statements=str(program),
        begin=_begin(program, declared, tables, limits),
        layout=f"{count} shards of ({', '.join(keys)})",
        schema=schema,
        times={name: one.time for name, one in declared.items()},
        limits=limits,
    )
    types = _key_types(keys, declared)
    packed = [_packed(frames[name], one, types, count) for name, one in declared.items()]
    _use_rocks(packed[0])
    together = reduce(DataFrame.union, packed).groupBy("shard")
    told = together.transformWithState(shard, TOLD, outputMode="Append", timeMode="None")
    return told.mapInArrow(Unpacker(schema), from_arrow_schema(schema))


def matches(told: DataFrame) -> DataFrame:
    """The notifications proper."""
    return told.where(~F.col("kind").isin(*_ASIDE))


def late(told: DataFrame) -> DataFrame:
    """The events that came later than LATE BY allows: `subscription` is the stream, `bindings` the event."""
    return told.where(F.col("kind") == "late")


def bad(told: DataFrame) -> DataFrame:
    """The malformed events: `subscription` is the stream, `bindings` has the reason and the event."""
    return told.where(F.col("kind") == "bad")


def shard_attributes(program: Subscriptions) -> tuple[str, ...]:
    """What keys are dealt out by: the attributes that all statements are PER; then a lane is in one shard.

    There are none where a statement reads another's results, whose attributes need not be those of their events.

    >>> from foretell.language.subscriptions import parse
    >>> shard_attributes(parse("SUBSCRIBE x FROM s PER a, b MATCH m; SUBSCRIBE y FROM s PER b MATCH m"))
    ('b',)
    """
    reading = [s for s in program.program.statements if isinstance(s, tree.Subscription | tree.Correlator)]
    made = {s.name for s in reading}
    if any(name in made for s in reading for name in s.streams):
        return ()
    common = set.intersection(*({str(name) for name in s.per} for s in reading))
    return tuple(sorted(common - {"stream"}))


def told_schema(declared: Mapping[str, Declaration]) -> pa.Schema:
    """The columns of notifications; their times are of the type that the streams' times are."""
    kinds = {one.attributes[one.time] for one in declared.values()}
    if len(kinds) > 1 and Type.TIMESTAMP in kinds:
        raise InputError(
            "mixed-times",
            "some streams have timestamps and others plain numbers as time: one frame cannot hold both",
            hint="follow them apart",
        )
    time = _TIMES[Type.FLOAT if len(kinds) > 1 else next(iter(kinds))]
    types = {"start": time, "end": time, "probability": pa.float64()}
    return pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])


def _frames(inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    frames: dict[str, Any] = by_name(inputs, "inputs", "inputs={'logins': frame}")
    for name, frame in frames.items():
        if not getattr(frame, "isStreaming", False):
            raise InputError("not-a-stream", f"inputs: '{name}' is not a streaming frame", hint="ft.run takes others")
    return frames


def _declared(program: Subscriptions, frames: Mapping[str, DataFrame]) -> dict[str, Declaration]:
    sources = program.sources
    for name in frames:
        if name not in sources:
            hint = suggestion(name, sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
    if not sources:
        raise InputError("no-statements", "there is no statement that reads a stream")
    return {name: _declaration(program, name, frames) for name in sources}


def _declaration(program: Subscriptions, name: str, frames: Mapping[str, DataFrame]) -> Declaration:
    hint = f"declare it: STREAM {name} (attribute TYPE, ...) TIME column"
    if name not in frames:
        raise InputError("missing-input", f"no frame is given for stream '{name}'")
    if name not in program.declared:
        raise InputError("undeclared-stream", f"nothing is known of stream '{name}'", hint=hint)
    declaration = declaration_of(program, name, {})
    for column, kind in declaration.attributes.items():
        if kind is Type.UNKNOWN:
            raise InputError("undeclared-stream", f"stream '{name}': '{column}' is declared without a type", hint=hint)
        if column not in frames[name].columns:
            near = suggestion(column, frames[name].columns)
            raise InputError("missing-column", f"{name}: the frame has no column '{column}'", hint=near)
    return declaration


def _refuse_numbers(declared: Mapping[str, Declaration], shards: int) -> None:
    """Events without an ID are named by their number in the stream, and in shards nobody knows that."""
    for name, one in declared.items():
        if shards > 1 and one.id is None:
            hint = "say which column names its events: STREAM ... ID column; or follow(..., shards=1)"
            raise InputError("no-id", f"the events of stream '{name}' have no ID", hint=hint)


def _whole(shards: object) -> int:
    if not isinstance(shards, int) or isinstance(shards, bool) or shards < 1:
        raise InputError("bad-argument", f"shards: expected a whole number from 1 on, found {shards!r}")
    return shards


def _begin(
    program: Subscriptions,
    declared: Mapping[str, Declaration],
    tables: Mapping[str, object] | None,
    limits: Limits | None,
) -> bytes:
    """An engine that is at work already: what it cannot run is refused here, not in a task."""
    engine = Engine(program, tables=tables, limits=limits)
    engine.push_together({name: [] for name in declared})
    return engine.snapshot()


def _key_types(keys: tuple[str, ...], declared: Mapping[str, Declaration]) -> dict[str, Type]:
    """An attribute that is INT in one stream and FLOAT in another is FLOAT in a lane's key."""
    found = {key: {one.attributes[key] for one in declared.values()} for key in keys}
    return {key: Type.FLOAT if len(kinds) > 1 else next(iter(kinds)) for key, kinds in found.items()}


def _packed(frame: DataFrame, declaration: Declaration, keys: Mapping[str, Type], shards: int) -> DataFrame:
    shard = F.pmod(F.xxhash64(*(_key(name, kind) for name, kind in keys.items())), F.lit(shards)) if keys else F.lit(0)
    columns = [_column(name) for name in declaration.columns]
    return frame.select(*columns, shard.cast("INT").alias("shard")).mapInArrow(Packer(declaration, shards), PACKED)


def _key(name: str, kind: Type) -> Column:
    """A part of a key such that what is equal as a key is equal here: no NaN (it is NULL) and no -0."""
    value = _column(name).try_cast(_SPARK_TYPES[kind])
    return F.when(~F.isnan(value), value + F.lit(0.0)) if kind is Type.FLOAT else value


def _column(name: str) -> Column:
    """A column by its name, which may have dots."""
    return F.col("`" + name.replace("`", "``") + "`")


def _use_rocks(frame: DataFrame) -> None:
    """The only store of state that Spark lets `transformWithState` have, and not its default."""
    conf = frame.sparkSession.conf
    if "RocksDB" not in str(conf.get(_PROVIDER)):
        conf.set(_PROVIDER, _ROCKS)

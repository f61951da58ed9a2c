"""Table functions of Spark SQL, one for each subscription.

    SELECT key.ip, start, end FROM intrusion(TABLE(logins))

When Spark analyses a call, the function checks the table's columns and asks for a partitioning that keeps each lane
together. In a task each partition is a stream of its own: when all its Arrow batches have come, a MatchRuntime
processes them. It orders events by time and divides them into lanes by PER.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.sql.udtf import (
    AnalyzeArgument,
    AnalyzeResult,
    PartitioningColumn,
    SelectedColumn,
    UserDefinedTableFunction,
)
from pyspark.util import PythonEvalType

from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.model import ModelLike, as_model, delay_models
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import declaration_of, read_tables
from foretell.arguments.until import parse_until
from foretell.arguments.validation import as_tables, bad_argument
from foretell.engine.planning import delays_of, start_runtime
from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.ingest.nulled_values import NulledValues, merge_nulled, unreadable_summary
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, time_notes
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Schema, Type
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.correlator_events import reading_subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.machine.runtime import MatchRuntime
from foretell.notify.arrow_encoder import encode_results
from foretell.notify.typed_columns import TypedNotifications
from foretell.plan.match_plan import attributes_read_by
from foretell.plan.result_schema import result_schema
from foretell.spark.arrow_schemas import schema_from_arrow
from foretell.spark.column_names import quoted_name
from foretell.spark.partitioning.statement_chains import completed_by_time
from foretell.spark.partitioning.statement_groups import batch_keys
from foretell.spark.sql.input_schemas import stream_schemas
from foretell.spark.worker_tasks import worker_task

_LOG = logging.getLogger(__name__)
_CALL = "{name}(TABLE(...)), and optionally until => a time"

#: Partitions per core. A partition takes some milliseconds; with more of them lanes of different sizes even out.
PARTITIONS_PER_CORE = 4

#: Column types in which equal keys are equal values, so that Spark's hash keeps a lane together.
_HASHABLE = {
    Type.BOOL: (pa.types.is_boolean,),
    Type.INT: (pa.types.is_signed_integer,),
    Type.FLOAT: (pa.types.is_floating, pa.types.is_signed_integer),
    Type.STRING: (pa.types.is_string,),
    Type.TIMESTAMP: (pa.types.is_timestamp,),
}


def register(
    spark: SparkSession,
    subscriptions: Any,
    inputs: Mapping[str, DataFrame | StructType | str] | None = None,
    *,
    time: Mapping[str, str] | str | None = None,
    tables: Mapping[str, object] | None = None,
    strict: bool = False,
    model: ModelLike | None = None,
) -> tuple[str, ...]:
    """Register each subscription as a table function of its name, and return the names.

    The STREAM statements have the types of events. `inputs` has those that they leave open: for a stream a frame, a
    schema, or the name of a table, of which no rows are read. `time` names the time column of streams without a STREAM
    statement, `tables` has the FOR EACH tables. With `strict` a malformed event stops the query; without, malformed
    events are quarantined, and the log of the task counts them. LOSING takes the delays of a `model`.
    """
    program = as_subscriptions(subscriptions)
    delays = delay_models(as_model(model), [str(s.name) for s in program.program.statements])
    schemas = stream_schemas(spark, program, inputs, time)
    loaded = read_tables(program.tables, as_tables(tables))
    if not isinstance(strict, bool):
        raise bad_argument("strict", "True or False", strict)
    checked = program.checked(schemas, {name: table.types for name, table in loaded.items()})
    given = {name: declaration_of(program, name, as_input_settings(time)) for name in schemas}
    for note in (note for name, schema in schemas.items() for note in time_notes(given[name], schema)):
        _LOG.warning("%s", note)
    declarations = {name: replace(given[name], time=str(schema.time)) for name, schema in schemas.items()}
    parts = PARTITIONS_PER_CORE * spark.sparkContext.defaultParallelism
    functions = [
        TableFunction(program.text, s.name, schemas, declarations, loaded, strict, parts, delays)
        for s in checked.statements
    ]
    for function in functions:
        function.validate()
    for function in functions:
        spark.udtf.register(function.name, _arrow_function(function))
    return tuple(function.name for function in functions)


def _arrow_function(function: TableFunction) -> UserDefinedTableFunction:
    """Return the function for Spark. `arrow_udtf` refuses one with `analyze`, but Spark runs it (SPARK-53286)."""
    return UserDefinedTableFunction(partition_class(function), None, function.name, PythonEvalType.SQL_ARROW_UDTF)


@dataclass(frozen=True)
class TableFunction:
    """A table function as the tasks receive it: the statements as text, which each worker checks again, once."""

    text: str
    name: str
    schemas: Mapping[str, Schema]
    declarations: Mapping[str, StreamDeclaration]
    tables: Mapping[str, TemplateTable]
    strict: bool
    partitions: int
    delays: Mapping[str, DelayModel] = field(default_factory=dict)

    def validate(self) -> None:
        """Raise an error if the statement cannot run as a table function."""
        self._runtime()
        if len(self._sources) != 1:
            message = (
                f"'{self.name}' reads several streams ({', '.join(self._sources)}), and a function takes one table"
            )
            raise InputError("several-streams", message, hint="use ft.run, which takes several Spark frames")

    @cached_property
    def checked(self) -> CheckedProgram:
        """The subscription and the statements that it reads; each keeps the rank that it has among all."""
        columns = {name: table.types for name, table in self.tables.items()}
        whole = parse_text(self.text).checked(self.schemas, columns)
        wanted = {self.name}
        for statement in reversed(whole.statements):
            if statement.name in wanted:
                wanted.update(map(str, statement.tree.streams))
        return CheckedProgram(whole.streams, tuple(s for s in whole.statements if s.name in wanted), whole.ranks)

    @cached_property
    def columns(self) -> TypedNotifications:
        return TypedNotifications(result_schema(self.checked.statements[-1]))

    @cached_property
    def _sources(self) -> tuple[str, ...]:
        streams = (str(name) for statement in self.checked.statements for name in statement.tree.streams)
        return tuple(dict.fromkeys(name for name in streams if name in self.schemas))

    @property
    def stream(self) -> str:
        return self._sources[0]

    @cached_property
    def _needed(self) -> set[str]:
        statements = reading_subscriptions(self.checked.statements)
        return {name for s in statements if self.stream in s.tree.streams for name in attributes_read_by(s)}

    # ── analysis of a call ──

    def analyze(self, *arguments: AnalyzeArgument, **named: AnalyzeArgument) -> AnalyzeResult:
        """Check a call before any task runs, and request columns and partitioning; Spark calls this."""
        with worker_task():
            events, until = self.arguments(*arguments, **named)
            if not isinstance(events, AnalyzeArgument) or not events.isTable:
                raise InputError("no-events", f"{self.name} needs a table of events", hint=self._call)
            if isinstance(until, AnalyzeArgument) and until.isConstantExpression:
                self.parse_until(until.value)
            assert isinstance(events.dataType, StructType)
            columns = to_arrow_schema(events.dataType, timezone="UTC")
            schema_from_arrow(columns, self._declaration)
            keys = self._partition_keys(columns)
            if keys and until is None and any(completed_by_time(s.tree) for s in self._subscriptions):
                message = f"{self.name}: time alone completes matches, and no partition knows the table's latest time"
                time = self.schemas[self.stream].time
                raise InputError("no-until", message, hint=f"add until => (SELECT max({time}) FROM ...)")
            return AnalyzeResult(
                from_arrow_schema(self.columns.schema),
                withSinglePartition=not keys,
                partitionBy=[PartitioningColumn(f"pmod(hash({', '.join(keys)}), {self.partitions})")] if keys else [],
                select=[
                    SelectedColumn(quoted_name(name)) for name in columns.names if name in self._declaration.columns
                ],
            )

    def arguments(self, *arguments: object, **named: object) -> tuple[object, object]:
        """Return the arguments `events` and `until`."""
        by_name = dict(zip(("events", "until"), arguments)) | named
        events, until = by_name.pop("events", None), by_name.pop("until", None)
        if len(arguments) > 2 or by_name:
            which = f"no argument '{next(iter(by_name))}'" if by_name else "no third argument"
            raise InputError("unknown-argument", f"{self.name} has {which}", hint=self._call)
        return events, until

    @property
    def _call(self) -> str:
        return _CALL.format(name=self.name)

    @property
    def _subscriptions(self) -> list[CheckedSubscription]:
        return reading_subscriptions(self.checked.statements)

    def _partition_keys(self, columns: pa.Schema) -> list[str]:
        """Return SQL expressions of the keys by which every lane stays in one partition; none: a single partition.

        A key is left out if equal lanes may have different values in the table: where the column has another type
        than the attribute, and so values that become NULL, where markers stand for NULL, or where LET derives the key.
        """
        if self._declaration.read.nulls:
            return []
        attributes = self.schemas[self.stream].attributes
        keys = []
        derived = self._declaration.derived.names
        for name in (key for key in batch_keys(self._subscriptions) if key not in derived):
            index, kind = columns.get_field_index(name), attributes.get(name, Type.UNKNOWN)
            if index >= 0 and any(fits(columns.field(index).type) for fits in _HASHABLE.get(kind, ())):
                floating = pa.types.is_floating(columns.field(index).type)
                keys.append(f"nanvl({quoted_name(name)}, NULL)" if floating else quoted_name(name))  # NaN is NULL
        return keys

    # ── tasks ──

    @cached_property
    def _read_columns(self) -> set[str | None]:
        declaration = self.declarations[self.stream]
        derived = declaration.derived.inputs(declaration.derived.names)
        return {declaration.time, declaration.id, declaration.order, *derived, *self._needed}

    @cached_property
    def _declaration(self) -> StreamDeclaration:
        """The declaration of the columns that the statements need; others may be missing."""
        declaration = self.declarations[self.stream].settled(self.schemas[self.stream])
        needed = {name: kind for name, kind in declaration.attributes.items() if name in self._read_columns}
        return replace(declaration, attributes=needed)

    def read(self, batches: Sequence[pa.RecordBatch]) -> EventBatch:
        """Read the events of a partition."""
        table = pa.Table.from_batches(batches)
        return replace(read(table, self._declaration, strict=self.strict), schema=self.schemas[self.stream])

    def _runtime(self) -> MatchRuntime:
        return start_runtime(self.checked, self.tables, delays=delays_of(self.delays))

    def parse_until(self, until: object) -> int | float | None:
        return parse_until(until, {self.schemas[self.stream].time_type})

    def process(self, batch: EventBatch, until: int | float | None) -> Iterator[pa.Table]:
        runtime = self._runtime()
        for results in runtime.process({self.stream: batch}, until, ends=True):
            if results.schema.name == self.name and results.notification_count:
                yield self.columns.table(encode_results(results, *results.notification_rows))
        for note in runtime.ledger.take_warnings():
            _LOG.warning("%s", note)


class TablePartition:
    """A partition of a call. Spark creates each from the function's own subclass, which every task loads anew."""

    function: ClassVar[TableFunction]
    quarantined: ClassVar[int] = 0
    first_reason: ClassVar[str] = ""
    nulled: ClassVar[tuple[NulledValues, ...]] = ()
    total: ClassVar[int] = 0

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._until: int | float | None = None

    def eval(self, *arguments: object, **named: object) -> Iterator[pa.Table]:
        with worker_task():
            self._add(*arguments, **named)
        yield from ()

    def terminate(self) -> Iterator[pa.Table]:
        if self._batches:
            with worker_task():
                batch = self.function.read(self._batches)
                self._count_misfits(batch)
                yield from self.function.process(batch, self._until)

    def cleanup(self) -> None:
        """Log malformed events and unreadable values at the end of a task: Spark calls this for its last partition."""
        if self.quarantined:
            message = "%s: %d malformed events are quarantined, one of them: %s"
            _LOG.warning(message, self.function.stream, self.quarantined, self.first_reason)
        for line in unreadable_summary(self.nulled, [(self.function.stream, self.total)]):
            _LOG.warning("%s", line)

    def _add(self, *arguments: object, **named: object) -> None:
        events, until = self.function.arguments(*arguments, **named)
        assert isinstance(events, pa.RecordBatch)
        if isinstance(until, pa.Array) and not self._batches and len(until):
            self._until = self.function.parse_until(until[0].as_py())
        self._batches.append(events)

    def _count_misfits(self, batch: EventBatch) -> None:
        task = type(self)
        task.total += batch.total
        task.nulled = merge_nulled([*task.nulled, *batch.nulled])
        if batch.quarantined:
            task.quarantined += len(batch.quarantined)
            task.first_reason = task.first_reason or batch.quarantined[0].reason


def partition_class(function: TableFunction) -> type[TablePartition]:
    """Return the class that Spark sends to its tasks."""
    return type(function.name, (TablePartition,), {"function": function, "analyze": staticmethod(function.analyze)})

"""Table functions of Spark SQL, one for each subscription.

    SELECT key.ip, start, end FROM intrusion(events => TABLE(logins) PARTITION BY ip ORDER BY time)

Each partition of the table is a stream of its own. When all its Arrow batches have come, a MatchRuntime processes them:
it orders events by time, whatever ORDER BY says, and divides them into lanes by PER.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udtf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import declaration_of, read_tables
from foretell.arguments.until import parse_until
from foretell.arguments.validation import as_mapping, as_tables, bad_argument, describe
from foretell.engine.planning import start_runtime
from foretell.errors import ForetellError, InputError, suggestion
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Schema
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.notify.typed_columns import TypedNotifications
from foretell.plan.lower.program import UnsupportedError
from foretell.plan.match_plan import attributes_read_by
from foretell.plan.result_schema import result_schema
from foretell.spark.arrow_schemas import schema_from_arrow

_LOG = logging.getLogger(__name__)
_CALL = "{name}(events => TABLE(...) PARTITION BY ...), and optionally until => a time"


def register(
    spark: SparkSession,
    subscriptions: Any,
    inputs: Mapping[str, DataFrame | StructType | str] | None = None,
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    strict: bool = False,
) -> tuple[str, ...]:
    """Register each subscription as a table function of its name, and return the names.

    The STREAM statements have the types of events. `inputs` has those that they leave open: for a stream a frame, a
    schema, or the name of a table, of which no rows are read. `time` names the time column of streams without a STREAM
    statement, `tables` has the FOR EACH tables. With `strict` a malformed event stops the query; without, malformed
    events are quarantined, and the log of the task counts them.
    """
    program = as_subscriptions(subscriptions)
    schemas = stream_schemas(spark, program, inputs, time)
    loaded = read_tables(program.tables, as_tables(tables))
    if not isinstance(strict, bool):
        raise bad_argument("strict", "True or False", strict)
    checked = program.checked(schemas, {name: table.types for name, table in loaded.items()})
    declarations = {name: declaration_of(program, name, as_input_settings(time)) for name in schemas}
    functions = [TableFunction(program.text, s.name, schemas, declarations, loaded, strict) for s in checked.statements]
    for function in functions:
        function.validate()
    for function in functions:
        udtf: Any = arrow_udtf(partition_class(function), returnType=from_arrow_schema(function.columns.schema))
        spark.udtf.register(function.name, udtf)
    return tuple(function.name for function in functions)


@dataclass(frozen=True)
class TableFunction:
    """A table function as the tasks receive it: the statements as text, which each worker checks again, once."""

    text: str
    name: str
    schemas: Mapping[str, Schema]
    declarations: Mapping[str, StreamDeclaration]
    tables: Mapping[str, TemplateTable]
    strict: bool

    def validate(self) -> None:
        """Raise an error if the statement cannot run as a table function."""
        try:
            start_runtime(self.checked, self.tables)
        except UnsupportedError as error:
            message = f"the engine on Spark does not run {error} yet"
            raise InputError("not-in-engine", message, hint="use ft.run with engine='reference'") from None
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
        statement = self.checked.statements[-1]
        assert isinstance(statement, CheckedSubscription)
        return TypedNotifications(result_schema(statement))

    @cached_property
    def _sources(self) -> tuple[str, ...]:
        streams = (str(name) for statement in self.checked.statements for name in statement.tree.streams)
        return tuple(dict.fromkeys(name for name in streams if name in self.schemas))

    @property
    def stream(self) -> str:
        return self._sources[0]

    @cached_property
    def _needed(self) -> set[str]:
        statements = [s for s in self.checked.statements if isinstance(s, CheckedSubscription)]
        return {name for s in statements if self.stream in s.tree.streams for name in attributes_read_by(s)}

    def read(self, batches: Sequence[pa.RecordBatch]) -> EventBatch:
        """Read the events of a partition. A column that no statement needs may be missing."""
        table, schema = pa.Table.from_batches(batches), self.schemas[self.stream]
        declaration = self.declarations[self.stream].settled(schema)
        roles = declaration.time, declaration.id, declaration.order
        expected = self._needed.union(table.column_names, roles, declaration.derived.inputs(declaration.derived.names))
        attributes = {name: kind for name, kind in declaration.attributes.items() if name in expected}
        return replace(read(table, replace(declaration, attributes=attributes), strict=self.strict), schema=schema)

    def parse_until(self, until: object) -> int | float | None:
        return parse_until(until, {self.schemas[self.stream].time_type})

    def process(self, batch: EventBatch, until: int | float | None) -> Iterator[pa.Table]:
        runtime = start_runtime(self.checked, self.tables)
        for results in runtime.process({self.stream: batch}, until, ends=True):
            if results.schema.name == self.name and results.notification_count:
                yield self.columns.table(results)
        for note in runtime.ledger.take_warnings():
            _LOG.warning("%s", note)


class TablePartition:
    """A partition of a call. Spark creates each from the function's own subclass, which every task loads anew."""

    function: ClassVar[TableFunction]
    quarantined: ClassVar[int] = 0
    first_reason: ClassVar[str] = ""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._until: int | float | None = None
        # Spark does not pass on how the function was called. With PARTITION BY a wrapper of Spark creates this object.
        self._whole_task = sys._getframe(1).f_code.co_name == "read_udtf"

    def eval(self, *arguments: object, **named: object) -> Iterator[pa.Table]:
        with _hidden_traceback():
            self._add(*arguments, **named)
        yield from ()

    def terminate(self) -> Iterator[pa.Table]:
        if self._batches:
            with _hidden_traceback():
                batch = self.function.read(self._batches)
                self._count_quarantined(batch)
                yield from self.function.process(batch, self._until)

    def cleanup(self) -> None:
        """Log malformed events at the end of a task: Spark calls this for its last partition."""
        if self.quarantined:
            message = "%s: %d malformed events are quarantined, one of them: %s"
            _LOG.warning(message, self.function.stream, self.quarantined, self.first_reason)

    def _add(self, *arguments: object, **named: object) -> None:
        by_name = dict(zip(("events", "until"), arguments)) | named
        events, until = by_name.pop("events", None), by_name.pop("until", None)
        name = self.function.name
        call = _CALL.format(name=name)
        if len(arguments) > 2 or by_name:
            which = f"no argument '{next(iter(by_name))}'" if by_name else "no third argument"
            raise InputError("unknown-argument", f"{name} has {which}", hint=call)
        if not isinstance(events, pa.RecordBatch):
            raise InputError("no-events", f"{name} needs a table of events", hint=call)
        context = TaskContext.get()
        if self._whole_task and context is not None and context.partitionId() > 0:
            message = f"{name}: without PARTITION BY Spark divides the table anywhere, and breaks matches apart"
            raise InputError("no-partition", message, hint="PARTITION BY a key, or WITH SINGLE PARTITION")
        if isinstance(until, pa.Array) and not self._batches and len(until):
            self._until = self.function.parse_until(until[0].as_py())
        self._batches.append(events)

    def _count_quarantined(self, batch: EventBatch) -> None:
        if batch.quarantined:
            task = type(self)
            task.quarantined += len(batch.quarantined)
            task.first_reason = task.first_reason or batch.quarantined[0].reason


def partition_class(function: TableFunction) -> type[TablePartition]:
    """Return the class that Spark sends to its tasks."""
    return type(function.name, (TablePartition,), {"function": function})


@contextmanager
def _hidden_traceback() -> Iterator[None]:
    """Make Spark's worker, which an error ends, leave the traceback out of a user's mistake."""
    try:
        yield
    except ForetellError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


# ── schemas ──


def stream_schemas(spark: SparkSession, program: Subscriptions, inputs: object, time: object) -> dict[str, Schema]:
    """Return the schema of each stream that the statements read, by its declaration or its input."""
    by_stream = as_mapping({} if inputs is None else inputs, "inputs", "inputs={'logins': frame}")
    settings = as_input_settings(time)
    sources = program.sources
    if not any(isinstance(s, tree.Subscription | tree.Correlator) for s in program.program.statements):
        raise InputError("no-statements", "there is no subscription to register", hint="add a SUBSCRIBE statement")
    for name in (*by_stream, *settings.streams):
        if name not in sources:
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=suggestion(name, sources))
    return {name: _schema(declaration_of(program, name, settings), spark, by_stream.get(name)) for name in sources}


def _schema(declaration: StreamDeclaration, spark: SparkSession, source: object) -> Schema:
    name = declaration.stream
    if source is not None:
        return schema_from_arrow(to_arrow_schema(_columns(spark, name, source), timezone="UTC"), declaration)
    hint = f"declare it, STREAM {name} (attribute TYPE, ...) TIME column, or give a frame: inputs={{'{name}': frame}}"
    if declaration.open:
        raise InputError("undeclared-stream", f"stream '{name}' has no declaration and no input", hint=hint)
    for column in declaration.columns:
        if declaration.declared_type(column) is None:
            raise InputError("undeclared-stream", f"stream '{name}': '{column}' is declared without a type", hint=hint)
    fields: Any = [(column, ARROW_TYPES[declaration.attributes[column]]) for column in declaration.columns]
    return schema_from_arrow(pa.schema(fields), declaration)


def _columns(spark: SparkSession, stream: str, source: object) -> StructType:
    if isinstance(source, str):
        if not spark.catalog.tableExists(source):
            raise InputError("unknown-table", f"inputs: Spark has no table {describe(source)}")
        source = spark.table(source)
    schema = source.schema if isinstance(source, DataFrame) else source
    if not isinstance(schema, StructType):
        raise bad_argument(f"inputs: '{stream}'", "a Spark frame, a schema, or the name of a table", source)
    return schema

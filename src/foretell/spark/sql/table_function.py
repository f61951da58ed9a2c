"""Statements as table functions of Spark SQL.

    SELECT key.ip, start, end FROM intrusion(events => TABLE(logins) PARTITION BY ip ORDER BY time)

Each partition of the table is a stream by itself. Its rows come in Arrow batches, and when all have come the engine in
process runs them: it puts them in the order of time, whatever ORDER BY says, and tells lanes apart by PER.
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

from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import declaration_of, read_tables
from foretell.arguments.until import parse_until
from foretell.arguments.validation import as_mapping, as_tables, as_time_columns, bad_argument, describe
from foretell.engine.planning import start_runtime
from foretell.errors import ForetellError, InputError, suggestion
from foretell.events.ingest.arrow_columns import ArrowSource, combine_tables
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, infer_schema, read
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.plan.lower.program import UnsupportedError
from foretell.plan.match_plan import attributes_read_by
from foretell.spark.sql.typed_columns import TypedColumns

_LOG = logging.getLogger(__name__)
_CALL = "{name}(events => TABLE(...) PARTITION BY ...), and until => a time if need be"


def register(
    spark: SparkSession,
    subscriptions: Any,
    inputs: Mapping[str, DataFrame | StructType | str] | None = None,
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    strict: bool = False,
) -> tuple[str, ...]:
    """Each subscription as a table function of its name; the names.

    The types of events are those of the STREAM statements. What these leave open is read off `inputs`: for a stream a
    frame, a schema, or the name of a table, of which no rows are read. `time` names the time column of streams without
    a STREAM statement, `tables` are those of FOR EACH. With `strict` a malformed event stops the query; without, they
    are set aside, and the log of the task says how many.
    """
    program = as_subscriptions(subscriptions)
    schemas = stream_schemas(spark, program, inputs, time)
    given = read_tables(program.tables, as_tables(tables))
    if not isinstance(strict, bool):
        raise bad_argument("strict", "True or False", strict)
    checked = program.checked(schemas, {name: table.types for name, table in given.items()})
    works = [TableFunction(program.text, one.name, schemas, given, strict) for one in checked.statements]
    for work in works:
        work.settle()
    for work in works:
        function: Any = arrow_udtf(handler(work), returnType=from_arrow_schema(work.columns.schema))
        spark.udtf.register(work.name, function)
    return tuple(work.name for work in works)


@dataclass(frozen=True)
class TableFunction:
    """What a task is told of a function: the statements as text, to be checked there again, once."""

    text: str
    name: str
    schemas: Mapping[str, Schema]
    tables: Mapping[str, TemplateTable]
    strict: bool

    def settle(self) -> None:
        """Refuses what cannot be a function, before it is one."""
        try:
            start_runtime(self.checked, self.tables)
        except UnsupportedError as error:
            message = f"the engine on Spark does not run {error} yet"
            raise InputError("not-in-engine", message, hint="ft.run with engine='reference' does") from None
        if len(self._sources) != 1:
            message = (
                f"'{self.name}' reads several streams ({', '.join(self._sources)}), and a function takes one table"
            )
            raise InputError("several-streams", message, hint="ft.run takes several Spark frames")

    @cached_property
    def checked(self) -> CheckedProgram:
        """The subscription and the statements that it reads, each of the rank that it has among all."""
        columns = {name: table.types for name, table in self.tables.items()}
        whole = parse_text(self.text).checked(self.schemas, columns)
        wanted = {self.name}
        for statement in reversed(whole.statements):
            if statement.name in wanted:
                wanted.update(map(str, statement.tree.streams))
        return CheckedProgram(whole.streams, tuple(s for s in whole.statements if s.name in wanted), whole.ranks)

    @cached_property
    def columns(self) -> TypedColumns:
        statement = self.checked.statements[-1]
        assert isinstance(statement, CheckedSubscription)
        ids = self.tables[statement.tree.table].types.get("id") if statement.tree.table else None
        read_here = [self.schemas[name] for name in statement.tree.streams if name in self.schemas]
        names = {one.attributes[one.id] for one in read_here if one.id is not None}
        return TypedColumns(statement, ids or Type.STRING, Type.INT if names <= {Type.INT} else Type.STRING)

    @cached_property
    def _sources(self) -> tuple[str, ...]:
        read_here = (str(name) for statement in self.checked.statements for name in statement.tree.streams)
        return tuple(dict.fromkeys(name for name in read_here if name in self.schemas))

    @property
    def stream(self) -> str:
        return self._sources[0]

    @cached_property
    def _needed(self) -> set[str]:
        statements = [s for s in self.checked.statements if isinstance(s, CheckedSubscription)]
        return {name for s in statements if self.stream in s.tree.streams for name in attributes_read_by(s)}

    def load(self, parts: Sequence[pa.RecordBatch]) -> EventBatch:
        """The events of a partition in their types. A column that nothing needs may be missing."""
        table, schema = pa.Table.from_batches(parts), self.schemas[self.stream]
        assert schema.time is not None
        roles = schema.time, schema.id, schema.order
        there = self._needed.union(table.column_names)
        attributes = {name: kind for name, kind in schema.attributes.items() if name in there or name in roles}
        declaration = StreamDeclaration(self.stream, attributes, *roles, schema.simultaneous, schema.lateness)
        loaded = read(table, declaration, strict=self.strict)
        return replace(loaded, schema=schema)

    def until(self, given: object) -> int | float | None:
        return parse_until(given, {self.schemas[self.stream].time_type})

    def rows(self, loaded: EventBatch, until: int | float | None) -> Iterator[pa.Table]:
        running = start_runtime(self.checked, self.tables)
        for told in running.process({self.stream: loaded}, until):
            if told.schema.name == self.name and told.notification_count:
                yield self.columns.rows(told)
        for note in running.ledger.tell():
            _LOG.warning("%s", note)


class TablePartition:
    """A partition of a call. Spark makes one for each, of a class of the function's own, which is new in every task."""

    work: ClassVar[TableFunction]
    bad: ClassVar[int] = 0
    reason: ClassVar[str] = ""

    def __init__(self) -> None:
        self._parts: list[pa.RecordBatch] = []
        self._until: int | float | None = None
        # Nothing tells a function how it was called. With PARTITION BY something of Spark's stands in between.
        self._whole_task = sys._getframe(1).f_code.co_name == "read_udtf"

    def eval(self, *given: object, **named: object) -> Iterator[pa.Table]:
        with _told_plainly():
            self._take(*given, **named)
        yield from ()

    def terminate(self) -> Iterator[pa.Table]:
        if self._parts:
            with _told_plainly():
                loaded = self.work.load(self._parts)
                self._set_aside(loaded)
                yield from self.work.rows(loaded, self._until)

    def cleanup(self) -> None:
        """At the end of a task, on its last partition."""
        if self.bad:
            _LOG.warning(
                "%s: %d malformed events are set aside, one of them: %s", self.work.stream, self.bad, self.reason
            )

    def _take(self, *given: object, **named: object) -> None:
        arguments = dict(zip(("events", "until"), given)) | named
        events, until = arguments.pop("events", None), arguments.pop("until", None)
        call = _CALL.format(name=self.work.name)
        if len(given) > 2 or arguments:
            which = f"'{next(iter(arguments))}'" if arguments else "a third one"
            raise InputError("unknown-argument", f"{self.work.name} has no argument {which}", hint=call)
        if not isinstance(events, pa.RecordBatch):
            raise InputError("no-events", f"{self.work.name} is given no table of events", hint=call)
        context = TaskContext.get()
        if self._whole_task and context is not None and context.partitionId() > 0:
            message = f"{self.work.name}: without PARTITION BY the table is cut anywhere, and so are its patterns"
            raise InputError("no-partition", message, hint="PARTITION BY a key, or WITH SINGLE PARTITION")
        if isinstance(until, pa.Array) and not self._parts and len(until):
            self._until = self.work.until(until[0].as_py())
        self._parts.append(events)

    def _set_aside(self, loaded: EventBatch) -> None:
        if loaded.quarantined:
            mine = type(self)
            mine.bad, mine.reason = mine.bad + len(loaded.quarantined), mine.reason or loaded.quarantined[0].reason


def handler(work: TableFunction) -> type[TablePartition]:
    """What Spark sends to its tasks."""
    return type(work.name, (TablePartition,), {"work": work})


@contextmanager
def _told_plainly() -> Iterator[None]:
    """A user's mistake needs no traceback; this makes Spark's worker, which such an error ends, leave it out."""
    try:
        yield
    except ForetellError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


# ── what is known of the streams ──


def stream_schemas(spark: SparkSession, program: Subscriptions, inputs: object, time: object) -> dict[str, Schema]:
    given = as_mapping({} if inputs is None else inputs, "inputs", "inputs={'logins': frame}")
    times = as_time_columns(time)
    sources = program.sources
    if not any(isinstance(s, tree.Subscription | tree.Correlator) for s in program.program.statements):
        raise InputError("no-statements", "there is no statement that could be a function")
    for name in (*given, *times):
        if name not in sources:
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=suggestion(name, sources))
    return {name: _schema(declaration_of(program, name, times), spark, given.get(name)) for name in sources}


def _schema(declaration: StreamDeclaration, spark: SparkSession, given: object) -> Schema:
    if given is not None:
        return _read_off(to_arrow_schema(_columns(spark, declaration.stream, given), timezone="UTC"), declaration)
    name = declaration.stream
    hint = f"declare it, STREAM {name} (attribute TYPE, ...) TIME column, or give a frame: inputs={{'{name}': frame}}"
    if declaration.open:
        raise InputError("undeclared-stream", f"nothing is known of stream '{name}'", hint=hint)
    for column in declaration.columns:
        if declaration.declared_type(column) is None:
            raise InputError("undeclared-stream", f"stream '{name}': '{column}' is declared without a type", hint=hint)
    fields: Any = [(column, ARROW_TYPES[declaration.attributes[column]]) for column in declaration.columns]
    return _read_off(pa.schema(fields), declaration)


def _read_off(schema: pa.Schema, declaration: StreamDeclaration) -> Schema:
    """As events of these columns have it. (A table without even a chunk would tell no types.)"""
    columns: list[Any] = [pa.chunked_array([pa.array([], field.type)]) for field in schema]
    sheet = ArrowSource(declaration.stream, pa.table(columns, schema=schema), schema.names)
    return infer_schema(combine_tables([sheet]), declaration)


def _columns(spark: SparkSession, stream: str, given: object) -> StructType:
    if isinstance(given, str):
        if not spark.catalog.tableExists(given):
            raise InputError("unknown-table", f"inputs: Spark has no table {describe(given)}")
        given = spark.table(given)
    found = given.schema if isinstance(given, DataFrame) else given
    if not isinstance(found, StructType):
        raise bad_argument(f"inputs: '{stream}'", "a Spark frame, a schema, or the name of a table", given)
    return found

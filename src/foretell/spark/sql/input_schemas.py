"""Schemas of the streams that table functions read: as declared, or as an input of `register` shows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.streams import declaration_of
from foretell.arguments.validation import as_mapping, bad_argument, describe
from foretell.errors import InputError, suggestion
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.types import Schema
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions
from foretell.spark.arrow_schemas import schema_from_arrow


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
